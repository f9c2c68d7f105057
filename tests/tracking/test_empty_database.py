"""An empty database of MLflow's is made once and copied: it is the same, and what is kept is never trusted blindly."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from zslplat.settings import resolve_settings
from zslplat.tracking import server
from zslplat.tracking.projection import Projection
from zslplat.tracking.server import make_database


def tables(path):
    with closing(sqlite3.connect(path)) as connection:
        shape = connection.execute("select name, sql from sqlite_master order by name").fetchall()
        return shape, connection.execute("select version_num from alembic_version").fetchall()


@pytest.fixture
def made(tmp_path, monkeypatch, store_template):
    """The calls that reach MLflow's migrations, which are answered with the database of another store."""
    calls = []

    def make(path):
        assert not path.exists()
        calls.append(path)
        path.write_bytes((store_template / "mlflow.db").read_bytes())

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(server, "_make_by_mlflow", make)
    return calls


def test_migrations_run_once_for_any_number_of_stores(made, tmp_path):
    for name in ("a.db", "b.db", "b.db", "c.db"):
        make_database(tmp_path / name)
    assert len(made) == 1
    assert tables(tmp_path / "a.db") == tables(tmp_path / "b.db") == tables(tmp_path / "c.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "b.db", "c.db", "cache"]


def test_what_is_kept_is_used_by_mlflow_and_tells_nothing_of_where_it_was_made(made, tmp_path):
    make_database(tmp_path / "first.db")
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    projection = Projection(settings, "an experiment", "owner", "store", pytest.fail)
    assert len(made) == 1
    assert sorted(e.name for e in projection.client.search_experiments()) == ["Default", "an experiment"]
    projection.close()
    (kept,) = (tmp_path / "cache").rglob("*.db")
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("select count(*) from experiments").fetchone() == (0,)


@pytest.mark.parametrize("damage", [b"", b"no database", None], ids=["empty", "other content", "cut off"])
def test_damage_in_what_is_kept_is_found_and_mended(made, tmp_path, damage):
    make_database(tmp_path / "first.db")
    (kept,) = (tmp_path / "cache").rglob("*.db")
    kept.write_bytes(kept.read_bytes()[: kept.stat().st_size // 3] if damage is None else damage)
    make_database(tmp_path / "second.db")
    make_database(tmp_path / "third.db")
    assert len(made) == 2
    assert tables(tmp_path / "second.db") == tables(tmp_path / "third.db") == tables(tmp_path / "first.db")


def test_versions_side_by_side_keep_one_each_and_what_nobody_uses_goes(made, tmp_path, monkeypatch):
    make_database(tmp_path / "first.db")
    (first,) = (tmp_path / "cache").rglob("*.db")
    with monkeypatch.context() as another:
        another.setattr("mlflow.__version__", "9.9")
        make_database(tmp_path / "second.db")
    make_database(tmp_path / "third.db")
    assert len(made) == 2
    os.utime(first, (0, 0))
    monkeypatch.setattr("mlflow.__version__", "9.10")
    make_database(tmp_path / "fourth.db")
    assert sorted(path.name.split("-")[2] for path in (tmp_path / "cache").rglob("*.db")) == ["9.10", "9.9"]


def test_where_nothing_can_be_kept_the_store_is_made_all_the_same(made, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("no folder")
    for name in ("a.db", "b.db"):
        make_database(tmp_path / name)
    assert len(made) == 2
    assert tables(tmp_path / "a.db") == tables(tmp_path / "b.db")
