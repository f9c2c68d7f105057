"""Errors of databases as one clear line, and waiting for a server that is away.

This is the one place that waits for a database. What speaks to it is a method that may be repeated as a whole
(``patient``): reading changes nothing, and what is written is written once, because it is looked for before or has a
key. Pauses double from a fifth of a second to five, so that a server that comes back is noticed soon and is not
flooded. When the time is over the command ends with one message; what was recorded is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa

from zslplat.errors import OutageError, StoreError, UsageError
from zslplat.settings import Settings, masked_url

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
# Connections that break, servers that stop, crash or start (classes 08 and 57), have no connection left, or gave way to
# another's transaction.
_STATES = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01")
# What a server says that exists and does not take connections yet, or no more of them.
_BUSY = (
    *("starting up", "shutting down", "recovery mode", "not yet accepting connections"),
    *("too many clients", "too many connections", "remaining connection slots"),
)


class LostError(StoreError):
    """A server does not answer, or has broken off; the same may be tried again."""


class Outages:
    """Waits for the server of one database, up to ``seconds``; ``warn`` prints when that begins and ends.

    Where the server never answered in this process, its address may be wrong, and nothing is waited for.
    """

    _answered: set[str] = set()  # addresses; a command may open its store many times

    def __init__(self, url: str, settings: Settings, warn: Callable[[str], None]) -> None:
        self.url, self.seconds, self.warn = url, settings.outage_seconds, warn

    def survive(self, action: Callable[[], Answer]) -> Answer:
        """Return what an action returns that may be repeated.

        Raises :class:`OutageError` where the server stays away, and whatever else the action raises.
        """
        began: float | None = None
        pause = _FIRST_PAUSE
        while True:
            try:
                result = action()
            except LostError as error:
                if self.url not in self._answered and not any(word in str(error) for word in _BUSY):
                    raise OutageError(str(error)) from error
                now = time.monotonic()
                if began is None:
                    began = now
                    if self.seconds > 0:
                        self.warn(f"{error}; trying again for up to {self.seconds:g} s")
                left = began + self.seconds - now
                if left <= 0:
                    raise OutageError(
                        f"{error}, and did not for {now - began:.0f} s; what was recorded is kept; give the same "
                        "command again when it does"
                    ) from error
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._answered.add(self.url)
                if began is not None:
                    self.warn(f"the database answers again, after {time.monotonic() - began:.1f} s")
                return result


class Waiting(Protocol):
    """What speaks to a database."""

    @property
    def outages(self) -> Outages:
        """What waits for its server."""


Speaker = TypeVar("Speaker", bound=Waiting)


def patient(
    method: Callable[Concatenate[Speaker, Arguments], Answer],
) -> Callable[Concatenate[Speaker, Arguments], Answer]:
    """Have a method, which may be repeated as a whole, wait for a server that is away."""

    @wraps(method)
    def repeated(speaker: Speaker, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return speaker.outages.survive(lambda: method(speaker, *args, **kwargs))

    return repeated


def is_outage(error: BaseException, url: str) -> bool:
    """Tell whether an error says that the server is away, and nothing about the request."""
    if url.startswith("sqlite"):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, sa.exc.PendingRollbackError):
            return True
        if isinstance(cause, sa.exc.DBAPIError):
            state = getattr(cause.orig, "sqlstate", None) or getattr(cause.orig, "pgcode", None)
            broken = isinstance(cause, sa.exc.OperationalError | sa.exc.InterfaceError) and state is None
            return bool(cause.connection_invalidated or broken or str(state).startswith(_STATES))
        cause = cause.__cause__
    return False


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
        advice = f"{_unwritable_files(url)}free space, repair permissions or the file, or choose another with --store"
        if isinstance(cause, ImportError):
            advice = "install what speaks to such a database (for PostgreSQL: pip install 'zslplat[postgres]')"
        elif not url.startswith("sqlite"):
            advice = "repair the database or what its user may do, or choose another with --storage-url"
        raise StoreError(f"the store {shown} cannot be used: {text}; what was recorded is kept; {advice}") from error


def _unwritable_files(url: str) -> str:
    """Return in words which file beside a database of sqlite may not be written, though the database itself may."""
    parsed = sa.engine.make_url(url)
    if not (parsed.drivername.startswith("sqlite") and parsed.database):
        return ""
    beside = [Path(parsed.database + ending) for ending in ("-wal", "-shm")]
    paths = [str(path) for path in beside if path.exists() and not os.access(path, os.W_OK)]
    if not paths:
        return ""
    return f"{' and '.join(paths)} may only be read: make writable (chmod u+w) what another user or a copy left so; "


def _errors_of_databases() -> tuple[type[Exception], ...]:
    """Return what the database raises, and Optuna where it is imported."""
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
