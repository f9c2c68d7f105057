"""MLflow's database as a file in the store: true to where the store is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


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
