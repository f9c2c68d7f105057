"""An empty database of MLflow's is made from kept statements: it is what the installed MLflow makes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mlflow_schema import made_by_mlflow, needs_kept_tables

from zslplat.errors import StoreError
from zslplat.settings import resolve_settings
from zslplat.tracking import server
from zslplat.tracking.projection import Projection
from zslplat.tracking.server import make_database

REMEDY = "python tests/mlflow_schema.py writes the statements of the installed MLflow"


def statements(text):
    """The statements, each as its lines in order: MLflow's migrations write constraints in any."""
    return sorted(sorted(line.strip(" \t,") for line in part.splitlines()) for part in text.split(";\n"))


def tables(path):
    with closing(sqlite3.connect(path)) as connection:
        (default,) = connection.execute("select experiment_id, name, artifact_location from experiments")
        assert default == (0, "Default", path.with_name("artifacts").as_uri())
        connection.execute("delete from experiments")  # its times are not the same; nothing is committed
        return statements("\n".join(connection.iterdump()))


@needs_kept_tables
def test_the_kept_statements_are_those_of_the_installed_mlflow():
    assert statements(server.SCHEMA.read_text()) == statements(made_by_mlflow()), REMEDY


@needs_kept_tables
def test_mlflow_uses_what_was_made_without_its_migrations(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "tables_of_mlflow", pytest.fail)
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    (settings.store / "mlflow.db.new").write_text("left by a command that was killed")
    projection = Projection(settings, "an experiment", "owner", "store", pytest.fail)
    assert sorted(e.name for e in projection.client.search_experiments()) == ["Default", "an experiment"]
    projection.close()
    assert not (settings.store / "mlflow.db.new").exists()


def test_an_mlflow_with_other_migrations_makes_the_same_database_again_and_again(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    make_database(tmp_path / "known.db")
    monkeypatch.setattr(server, "migrations_mark", lambda: "0123456789ab")
    for _ in range(2):  # the second time in the place of a file that was removed
        (tmp_path / "unknown.db").unlink(missing_ok=True)
        make_database(tmp_path / "unknown.db")
        assert tables(tmp_path / "known.db") == tables(tmp_path / "unknown.db")
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize("statement", ["delete from alembic_version", "drop table alembic_version"])
def test_a_database_without_the_version_of_its_tables_cannot_be_used(tmp_path, statement):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    make_database(settings.store / "mlflow.db")
    with closing(sqlite3.connect(settings.store / "mlflow.db")) as connection, connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=r"cannot be used: .*; finished trials are kept"):
        Projection(settings, "an experiment", "owner", "store", pytest.fail)
