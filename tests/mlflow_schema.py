"""The tables of MLflow's database as the installed MLflow makes them: python tests/mlflow_schema.py writes them."""

from __future__ import annotations

import importlib.metadata
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from zslplat.tracking import server


def made_by_mlflow() -> str:
    """Return the statements that make an empty database, with the mark of the migrations that made it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mlflow.db"
        server._make_by_mlflow(path)
        with closing(sqlite3.connect(path)) as connection:
            for table in ("experiment_tags", "experiments"):
                connection.execute(f"delete from {table}")
            lines = "\n".join(connection.iterdump())
    version = importlib.metadata.version("mlflow-skinny")
    return f"-- MLflow {version}, Apache-2.0. Migrations: {server.migrations_mark()}\n{lines}\n"


if __name__ == "__main__":
    server.SCHEMA.write_text(made_by_mlflow())
