"""MLflow's server or database: reading it without making what is not there, and a store's own file.

The file is made from statements that were kept, since MLflow's migrations take a second; an MLflow with other
migrations makes it itself. It follows the store where that is moved.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.records.opening import tables_of_file
from zslplat.settings import Settings, sqlite_url

_TABLE = "experiments"


def quiet_mlflow(settings: Settings) -> None:
    """Have MLflow, and what it stands on, print nothing by itself and give up on a server that does not answer."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    if not settings.tracking_is_local:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    # What fails is raised, and shown as one line; the libraries would print their own account of it before.
    for name in ("mlflow", "sqlalchemy.pool", "alembic", "urllib3"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def failures() -> tuple[type[Exception], ...]:
    """Return what a database or server of MLflow's raises that fails; MLflow is not imported for it."""
    import sqlalchemy as sa

    kinds: list[type[Exception]] = [OSError, sqlite3.Error, sa.exc.SQLAlchemyError]
    if "mlflow.exceptions" in sys.modules:
        from alembic.util import CommandError
        from mlflow.exceptions import MlflowException

        kinds += [MlflowException, CommandError]
    return tuple(kinds)


@contextmanager
def reading(settings: Settings, what: str = "the runs") -> Iterator[Any]:
    """Give MLflow's client; errors inside become :class:`StoreError`, which says that ``what`` cannot be read.

    Raises :class:`StoreError` for a file of sqlite that is not there (the client would make it), or holds no runs.
    """
    quiet_mlflow(settings)
    from mlflow.tracking import MlflowClient

    try:
        _require_runs(settings)
        yield MlflowClient(tracking_uri=settings.tracking_uri)
    except failures() as error:
        text = settings.masked(" ".join(str(error).split()))[:300]
        raise StoreError(f"{what} in {settings.shown_tracking_uri} cannot be read: {text}") from error


def _require_runs(settings: Settings) -> None:
    import sqlalchemy as sa

    if not settings.tracking_uri.startswith("sqlite"):
        return
    try:
        database = sa.engine.make_url(settings.tracking_uri).database
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            f"tracking URI {settings.shown_tracking_uri!r} cannot be read; write sqlite:////folder/mlflow.db or http://host"
        ) from None
    path = Path(database or "").absolute()
    place = settings.store if settings.tracking_is_local else path
    if not path.is_file():
        raise StoreError(f"no runs in {place}; give --store or --tracking-uri, or tune something first")
    if _TABLE not in tables_of_file(path):
        raise StoreError(f"{path} is no database of MLflow's; give --store or --tracking-uri of one that is")


SCHEMA = Path(__file__).with_name("mlflow.sql")


def make_database(path: Path) -> None:
    """Put an empty database of MLflow's there, unless there is one; it is there as a whole or not at all."""
    if path.exists():
        return
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    tables = SCHEMA.read_text() if migrations_mark() == _kept_marks()[0] else tables_of_mlflow()
    with closing(sqlite3.connect(unfinished)) as connection, connection:
        connection.executescript(tables)
        # As MLflow begins, with the artifacts beside the file.
        artifacts, now = path.absolute().with_name("artifacts").as_uri(), round(time.time() * 1000)
        default = "insert into experiments values (0, 'Default', ?, 'active', ?, ?, 'default')"
        connection.execute(default, (artifacts, now, now))
    os.replace(unfinished, path)


def migrations_mark() -> str:
    """Return what tells the migrations of the installed MLflow from those of others."""
    (package,) = importlib.util.find_spec("mlflow").submodule_search_locations  # type: ignore[union-attr, misc]
    names = sorted(path.name for path in Path(package, "store", "db_migrations", "versions").glob("*.py"))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]


def _kept_marks() -> list[str]:
    """Return the mark of the migrations that made the kept tables, and the version of these tables."""
    with SCHEMA.open() as file:
        return file.readline().split()[-2:]


def has_known_tables(path: Path) -> bool:
    """Tell whether a database has the kept tables, and the installed MLflow works with them."""
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        versions = [version for (version,) in connection.execute("select version_num from alembic_version")]
    return [migrations_mark(), *versions] == _kept_marks()


def tables_of_mlflow() -> str:
    """Return the statements that make the tables of the installed MLflow, from a database that it has made."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    # A new place each time: MLflow keeps the engine of an address, with connections to a file that is gone.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mlflow.db")
        SqlAlchemyStore(sqlite_url(path), folder).engine.dispose()
        with closing(sqlite3.connect(path)) as connection:
            for table in ("experiment_tags", "experiments"):
                connection.execute(f"delete from {table}")
            return "\n".join(connection.iterdump())


def follow_the_store(path: Path, artifacts: Path) -> None:
    """Have MLflow look for artifacts, and put them, where the store is now: it keeps whole paths."""
    place = artifacts.as_uri()
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        rows = connection.execute(
            "select experiment_id, artifact_location from experiments where artifact_location like 'file:%/artifacts'"
        ).fetchall()
        for mlflow_experiment, before in rows:
            if before == place:
                continue
            connection.execute(
                "update experiments set artifact_location = ? where experiment_id = ?", (place, mlflow_experiment)
            )
            connection.execute(
                "update runs set artifact_uri = ? || substr(artifact_uri, ?) where experiment_id = ? and "
                "substr(artifact_uri, 1, ?) = ?",
                (place, len(before) + 1, mlflow_experiment, len(before), before),
            )
