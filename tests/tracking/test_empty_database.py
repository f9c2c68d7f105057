"""An empty database of MLflow's is made from kept statements: it is what the installed MLflow makes."""

from __future__ import annotations

import importlib.metadata
import sqlite3
from contextlib import closing

import pytest
from mlflow_schema import made_by_mlflow
from packaging.version import Version

from zslplat.settings import resolve_settings
from zslplat.tracking import server
from zslplat.tracking.projection import Projection
from zslplat.tracking.server import make_database

REMEDY = "python tests/mlflow_schema.py writes the statements of the installed MLflow"


def tables(path):
    with closing(sqlite3.connect(path)) as connection:
        shape = connection.execute("select name, sql from sqlite_master order by name").fetchall()
        return shape, connection.execute("select version_num from alembic_version").fetchall()


def statements(text):
    """The statements, each as its lines in order: MLflow's migrations write constraints in any."""
    return sorted(sorted(line.strip(" \t,") for line in part.splitlines()) for part in text.split(";\n"))


@pytest.fixture
def migrated(monkeypatch, store_template):
    """The calls that reach MLflow's migrations, which are answered with the database of another store."""
    calls = []

    def make(path):
        assert not path.exists()
        calls.append(path)
        path.write_bytes((store_template / "mlflow.db").read_bytes())

    monkeypatch.setattr(server, "_make_by_mlflow", make)
    return calls


def test_the_kept_statements_are_those_of_the_installed_mlflow():
    kept = server.SCHEMA.read_text()
    made_by = Version(kept.split()[2].rstrip(","))
    if Version(importlib.metadata.version("mlflow-skinny")) < made_by:
        pytest.skip(f"the statements are those of MLflow {made_by}")
    assert statements(kept) == statements(made_by_mlflow()), REMEDY


def test_mlflow_uses_what_was_made_without_its_migrations(migrated, tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    (settings.store / "mlflow.db.new").write_text("left by a command that was killed")
    projection = Projection(settings, "an experiment", "owner", "store", pytest.fail)
    assert sorted(e.name for e in projection.client.search_experiments()) == ["Default", "an experiment"]
    projection.close()
    assert not migrated
    assert not (settings.store / "mlflow.db.new").exists()


def test_an_mlflow_with_other_migrations_makes_the_database(migrated, tmp_path, monkeypatch):
    make_database(tmp_path / "known.db")
    monkeypatch.setattr(server, "migrations_mark", lambda: "0123456789ab")
    make_database(tmp_path / "unknown.db")
    make_database(tmp_path / "unknown.db")
    assert len(migrated) == 1
    assert tables(tmp_path / "known.db") == tables(tmp_path / "unknown.db")
