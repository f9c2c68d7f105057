"""Database errors as one clear line, and addresses as they may be shown."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import sqlalchemy as sa

from zslplat.errors import StoreError, UsageError
from zslplat.settings import masked_url


@contextlib.contextmanager
def lasting_errors(url: str, what: str = "a record") -> Iterator[None]:
    """Turn database errors into one clear line; ``what`` is read there, and may be damaged."""
    from optuna.exceptions import OptunaError

    shown = shown_address(url)
    try:
        yield
    except json.JSONDecodeError as error:
        raise StoreError(
            f"{what} in the store {shown} is damaged ({error}); restore the records from a copy of the store, or "
            "choose another with --store"
        ) from error
    except (sa.exc.SQLAlchemyError, OptunaError, RuntimeError, OSError, ImportError) as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        text = masked_url(" ".join(str(getattr(cause, "orig", None) or cause).split()), url)[:300]
        raise StoreError(
            f"the store {shown} cannot be used: {text}; what was recorded is kept; "
            "free space, repair permissions or the file, or choose another with --store"
        ) from error


def shown_address(url: str) -> str:
    """Return the URL without its password; raises :class:`UsageError` for text that is no URL of a database."""
    try:
        sa.engine.make_url(url)
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            "the --storage-url cannot be read; write it as SQLAlchemy does, for example sqlite:////data/optuna.db or "
            "postgresql+psycopg://user@host/name"
        ) from None
    return masked_url(url)
