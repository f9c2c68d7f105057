"""Connections to databases, Optuna's storage over them, and locks that all clients of a server share.

The store's files have locks of their own, which a command with another store folder, perhaps on another machine, does
not see though it uses the same database. PostgreSQL has locks by number ("advisory"), which end with the connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa

_LIBPQ = ("psycopg", "psycopg2", "psycopg2cffi")
_ENGINES: weakref.WeakSet[sa.Engine] = weakref.WeakSet()
# A host that vanished is noticed within a minute, instead of hours. (libpq's names.)
_CONNECTION = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50000,
    "fallback_application_name": "zslplat",
}
# What Optuna keeps studies in; where some are missing, it makes them.
_TABLES = frozenset(
    (
        *("studies", "study_directions", "study_user_attributes", "trials", "trial_user_attributes", "trial_params"),
        *("trial_values", "trial_intermediate_values", "version_info", "alembic_version"),
    )
)


def engine_options(url: str) -> dict[str, Any]:
    """Return the arguments with which SQLAlchemy makes the engine of a database; what the URL says itself stays."""
    parsed = sa.engine.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": 30}}
    # A connection that broke while idle is replaced without an error. One command needs few of them.
    options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 2}
    if parsed.get_backend_name() == "postgresql" and parsed.get_dialect().driver in _LIBPQ:
        defaults = {name: value for name, value in _CONNECTION.items() if name not in parsed.query}
        options["connect_args"] = defaults
    return options


def leave_to_parent(engine: sa.Engine) -> None:
    """Keep forked children from the connections of an engine: what two processes send on one would mix."""
    _forget_in_children()
    _ENGINES.add(engine)


@cache
def _forget_in_children() -> None:
    def forget() -> None:
        for engine in _ENGINES:
            engine.dispose(close=False)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def tables_of(url: str) -> set[str]:
    """Return the names of a database's tables; makes nothing."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, **connecting(url))
    return set(sa.inspect(engine).get_table_names())


@contextlib.contextmanager
def alone_on_server(url: str, name: str) -> Iterator[None]:
    """Hold the lock of this name, waiting for it as long as it takes; on PostgreSQL only.

    Two programs that make the same tables at once fail: ``create table if not exists`` is no protection.
    """
    if not has_locks(url):
        yield
        return
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, **connecting(url))
    with engine.connect() as connection, connection.begin():
        connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": number_of(name)})
        yield


def has_locks(url: str) -> bool:
    """Tell whether a database has locks by number."""
    return sa.engine.make_url(url).get_backend_name() == "postgresql"


def connecting(url: str) -> dict[str, Any]:
    """Return the arguments of an engine that keeps no connections."""
    return {name: value for name, value in engine_options(url).items() if name == "connect_args"}


def number_of(name: str) -> int:
    """Return the number of 64 bits by which PostgreSQL knows the lock of this name."""
    return int.from_bytes(hashlib.sha256(f"zslplat:{name}".encode()).digest()[:8], signed=True)


def form_of_tables(engine: sa.Engine) -> str | None:
    """Return which form Optuna's tables have, by the name that its migrations give it; None where some are missing."""
    if not set(sa.inspect(engine).get_table_names()) >= _TABLES:
        return None
    with engine.connect() as connection:
        return str(connection.execute(sa.text("select version_num from alembic_version")).scalar())


def optuna_storage(engine: sa.Engine) -> Any:
    """Return Optuna's storage, which makes its tables where there are none; its imports take half a second."""
    import optuna
    from optuna.storages import RDBStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = engine.url.render_as_string(hide_password=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        storage = RDBStorage(url, engine_kwargs=engine_options(url), skip_compatibility_check=True)
        if storage.get_current_version() != _newest_form():
            RDBStorage(url, engine_kwargs=engine_options(url))  # whose check says what is wrong
    # One engine for all, so that closing it closes everything.
    storage.scoped_session.remove()
    storage.engine.dispose()
    storage.engine = engine
    storage.scoped_session.configure(bind=engine)
    return storage


@cache
def _newest_form() -> str:
    """Return the form of the tables that the installed Optuna writes; it reads all its migrations to tell."""
    from optuna.storages import RDBStorage

    return RDBStorage("sqlite:///:memory:", skip_compatibility_check=True).get_head_version()
