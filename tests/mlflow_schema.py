"""The tables of MLflow's database as the installed MLflow makes them: python tests/mlflow_schema.py writes them."""

from __future__ import annotations

import importlib.metadata
import re

import pytest
from packaging.version import Version

from zslplat.tracking import server

MADE_BY = Version(server.SCHEMA.read_text().split()[2].rstrip(","))
# An older MLflow makes its database itself, and its client writes the runs.
needs_kept_tables = pytest.mark.skipif(
    Version(importlib.metadata.version("mlflow-skinny")) < MADE_BY,
    reason=f"the kept tables are those of MLflow {MADE_BY}",
)


def made_by_mlflow() -> str:
    """Return the statements that make an empty database, with the mark of its migrations and its version."""
    tables = server.tables_of_mlflow()
    (version,) = re.findall(r"""INSERT INTO "alembic_version" VALUES\('(\w+)'\)""", tables)
    mlflow = importlib.metadata.version("mlflow-skinny")
    return f"-- MLflow {mlflow}, Apache-2.0. Migrations: {server.migrations_mark()} {version}\n{tables}\n"


if __name__ == "__main__":
    server.SCHEMA.write_text(made_by_mlflow())
