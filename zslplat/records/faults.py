"""Database errors as one clear line, and addresses as they may be shown."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from zslplat.errors import StoreError, UsageError
from zslplat.records.outages import LostError, is_outage
from zslplat.settings import masked_url


@contextlib.contextmanager
def lasting_errors(url: str, what: str = "a record") -> Iterator[None]:
    """Turn database errors into one clear line; ``what`` is read there, and may be damaged.

    Raises :class:`~zslplat.records.outages.LostError` where the same may be asked again.
    """
    try:
        yield
    except json.JSONDecodeError as error:
        raise StoreError(
            f"{what} in the store {shown_address(url)} is damaged ({error}); restore the records from a copy of the "
            "store, or choose another with --store"
        ) from error
    except _errors_of_databases() as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        text = masked_url(" ".join(str(getattr(cause, "orig", None) or cause).split()), url)[:300]
        shown = shown_address(url)
        if is_outage(error, url):
            raise LostError(f"the store {shown} does not answer ({text})") from error
        advice = f"{_kept_from_writing(url)}free space, repair permissions or the file, or choose another with --store"
        if isinstance(cause, ImportError):
            advice = "install what speaks to such a database (for PostgreSQL: pip install 'zslplat[postgres]')"
        elif not url.startswith("sqlite"):
            advice = "repair the database or what its user may do, or choose another with --storage-url"
        raise StoreError(f"the store {shown} cannot be used: {text}; what was recorded is kept; {advice}") from error


def _kept_from_writing(url: str) -> str:
    """Return in words which file beside a database of sqlite may not be written, though the database itself may."""
    parsed = sa.engine.make_url(url)
    if not (parsed.drivername.startswith("sqlite") and parsed.database):
        return ""
    beside = [Path(parsed.database + ending) for ending in ("-wal", "-shm")]
    found = [str(path) for path in beside if path.exists() and not os.access(path, os.W_OK)]
    if not found:
        return ""
    return f"{' and '.join(found)} may only be read: make writable (chmod u+w) what another user or a copy left so; "


def _errors_of_databases() -> tuple[type[Exception], ...]:
    """Return what the database raises, and Optuna where anybody has imported it."""
    optuna = sys.modules.get("optuna.exceptions")
    return (sa.exc.SQLAlchemyError, RuntimeError, OSError, ImportError, *((optuna.OptunaError,) if optuna else ()))


def shown_address(url: str) -> str:
    """Return the URL without its password; raises :class:`UsageError` for text that is no URL of a database."""
    try:
        sa.engine.make_url(url)
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            "the --storage-url cannot be read; write it as SQLAlchemy does, for example sqlite:////data/optuna.db or "
            "postgresql+psycopg://user@host/name"
        ) from None
    return masked_url(url, url)
