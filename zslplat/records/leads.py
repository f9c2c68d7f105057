"""The lead of a study: one command has it at a time, also where stores in several folders share a database.

In one store a file says so. On PostgreSQL, which stores on several machines may share, so does a lock of the database.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from zslplat.errors import InUseError
from zslplat.records.engines import connecting, has_locks, number_of
from zslplat.records.locks import file_lock
from zslplat.records.outages import Outages, lasting_errors, patient

# As :mod:`zslplat.records.engines` has it, from the server's side: the lock of a machine that lost its power goes soon.
_SESSION = ("tcp_keepalives_idle = 20", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3")
_POLL_SECONDS = 0.1
_CONFIRM_SECONDS = 3.0


class Leads:
    """The studies that this process leads on one database."""

    def __init__(self, url: str, outages: Outages) -> None:
        self.url, self.outages = url, outages
        self._locks: dict[str, ServerLock] = {}

    @contextlib.contextmanager
    def leading(self, name: str, lock: Path, *, wait_seconds: float = 0) -> Iterator[None]:
        """Keep others from leading a study; ``lock``: the file that says so in this store.

        Raises :class:`InUseError` where another command leads it for longer than is waited.
        """
        holder = f"study {name!r}"
        with file_lock(lock, wait_seconds=wait_seconds, holder=holder):
            server_lock = self._locks[name] = ServerLock(self.url, f"study {name}", holder)
            try:
                self.confirm(name, wait_seconds)
                yield
            finally:
                server_lock.release()
                del self._locks[name]

    @patient
    def confirm(self, name: str, *wait_seconds: float) -> None:
        """Make sure that this process still leads a study, if it ever did: a server that ends forgets its locks."""
        if name in self._locks:
            with lasting_errors(self.url):
                self._locks[name].confirm(*wait_seconds)


class ServerLock:
    """A lock that a command holds for long, over a restart of the server, too; without effect but on PostgreSQL.

    A restart ends all locks. ``confirm``, called before something is written, takes the lock again where that happened.
    """

    def __init__(self, url: str, name: str, holder: str) -> None:
        self.key, self.holder = number_of(name), holder
        self.engine = sa.create_engine(url, poolclass=sa.pool.NullPool, **connecting(url)) if has_locks(url) else None
        self.connection: sa.Connection | None = None
        self._session: tuple[int, Any] = (0, None)

    def confirm(self, wait_seconds: float = _CONFIRM_SECONDS) -> None:
        """Make sure that the lock is held; raises :class:`InUseError` where another command has it for so long."""
        if self.engine is None:
            return
        if self.connection is not None:
            try:
                self.connection.execute(sa.text("select 1"))
                return
            except sa.exc.DBAPIError:
                self.release()
        connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            self._take(connection, wait_seconds)
        except BaseException:
            connection.close()
            raise
        self.connection = connection

    def release(self) -> None:
        """Let the lock go."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                connection.close()

    def _take(self, connection: sa.Connection, wait_seconds: float) -> None:
        for setting in _SESSION:
            connection.execute(sa.text(f"set {setting}"))
        # The server may not have noticed yet that the connection with which this process held the lock is gone.
        ours = sa.text(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid = :pid and backend_start = :at"
        )
        connection.execute(ours, {"pid": self._session[0], "at": self._session[1]})
        end = time.monotonic() + wait_seconds
        while not connection.execute(sa.text("select pg_try_advisory_lock(:key)"), {"key": self.key}).scalar_one():
            if time.monotonic() >= end:
                raise InUseError(f"{self.holder} is in use by another process; wait for it or stop it")
            time.sleep(_POLL_SECONDS)
        backend = sa.text("select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()")
        row = connection.execute(backend).one()
        self._session = (row.pid, row.backend_start)
