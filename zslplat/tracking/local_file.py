"""MLflow's database as a file in the store: true to where the store is, and known to be one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from zslplat.records.journal import may_not_be_written, uri_for_reading


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


def check_sqlite(path: Path) -> set[str]:
    """Return the names of a database's tables; raises :class:`OSError` for a file that is no database.

    MLflow would try again for minutes there.
    """
    if not path.exists():
        return set()
    # What may only be read is read as it lies there: one with a write-ahead journal would be written beside.
    read_only = may_not_be_written(path)
    address = uri_for_reading(path) if read_only else f"{path.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as connection:
            return {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise OSError(str(error)) from error
