"""Stores that cannot be written, or whose records are damaged or gone: what is left is read, what is lost is named."""

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from support import ESZSL, FILLED, RUN, one_line, rows

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.maintenance import problems_of, recorded_runs
from zslplat.records.outages import lasting_errors
from zslplat.records.sqlite_files import may_not_be_written
from zslplat.settings import resolve_settings


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_store_that_may_not_be_written_is_read_and_left_as_it_is(call, arranged, tmp_path, monkeypatch, journal):
    arranged(RUN)
    before, store = rows(call, tmp_path), tmp_path / "mlruns"
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")

    def files():
        # The folder tells of files that came and went.
        return {path: path.stat().st_mtime_ns for path in (store, *store.rglob("*"))}

    def refused(*arguments, **options):
        raise AssertionError("a lock is written")

    for module in ("records.database", "records.opening"):
        monkeypatch.setattr(f"zslplat.{module}.may_not_be_written", lambda path: True)
    monkeypatch.setattr("zslplat.records.database.file_lock", refused)
    there = files()
    assert rows(call, tmp_path) == before
    assert call("store", "check").returncode == 0
    assert files() == there
    records = Records(resolve_settings({"store": str(tmp_path / "mlruns")}))
    with pytest.raises(StoreError, match="readonly"):
        records.add_evaluation("run:x", "repeat-0", "test", "data", {})


def test_a_database_is_not_to_be_written_where_it_or_its_folder_is_not(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    assert not may_not_be_written(path)  # it can be made
    path.write_bytes(b"")
    assert not may_not_be_written(path)
    for place in (path, tmp_path):
        monkeypatch.setattr("os.access", lambda asked, mode, place=place: asked != place)
        assert may_not_be_written(path)


def test_outcomes_that_are_gone_altogether_are_said(call, arranged, tmp_path):
    arranged(RUN)
    shutil.rmtree(tmp_path / "mlruns" / "evaluations")
    done = call("compare", "--json")
    assert json.loads(done.stdout)[0]["rows"][0]["low"] is None
    assert "until then it has no intervals" in done.stderr


def test_outcomes_of_a_folder_that_shares_the_database_are_elsewhere(call, arranged, tmp_path):
    arranged(RUN)
    store, other = tmp_path / "mlruns", tmp_path / "other"
    shared = ("--storage-url", f"sqlite:///{store / 'optuna.db'}")
    done = call("store", "check", "--store", other, *shared, "--json")
    content = json.loads(done.stdout)
    assert (done.returncode, content["elsewhere"], content["problems"]) == (0, 1, [])
    # In the folder of the database, where another one has evaluated.
    for name in ("evaluations", "studies"):
        shutil.move(store / name, tmp_path / name)
    assert "outcomes of 1 evaluation lie elsewhere" in call("store", "check").stdout
    shutil.copytree(tmp_path / "studies", store / "studies", dirs_exist_ok=True)
    assert call("store", "check").returncode == 1, "this folder has evaluated it, and they are lost"


def damage(store, statement):
    with closing(sqlite3.connect(store / "optuna.db")) as connection, connection:
        assert connection.execute(statement).rowcount


@pytest.mark.long
def test_one_damaged_record_is_named_and_costs_no_other(call, arranged, tmp_path):
    """Cut off, emptied or missing: the rest is shown, the check names it, and its command makes it anew if it can."""
    arranged(*FILLED)
    store, sound = tmp_path / "mlruns", {row["study"]: row for row in rows(call, tmp_path)}
    (study,) = (name for name in sound if name.startswith("eszsl"))
    shutil.copytree(store, tmp_path / "kept")
    ours = f"(select study_id from studies where study_name = '{study}')"
    evaluation, attribute = "update zslplat_evaluations set content", "update trial_user_attributes set value_json"
    noted, trials = (
        "update study_user_attributes set value_json",
        f"(select trial_id from trials where study_id = {ours})",
    )
    for statement, lost in (
        (f"{evaluation} = substr(content, 1, 99) where owner like 'run:%'", "run"),
        (f"{evaluation} = '[1]' where owner = 'study:{study}'", study),
        (f"{attribute} = substr(value_json, 1, 99) where trial_id in {trials}", study),
        (f"{attribute} = '\"[1]\"' where trial_id in {trials}", study),
        (f"delete from trials where study_id = {ours}", study),
        (f"{noted} = '[' where key = 'finished' and study_id = {ours}", study),
        (f"{evaluation} = '{{}}' where owner = 'study:{study}'", study),
    ):
        shutil.rmtree(store)
        shutil.copytree(tmp_path / "kept", store)
        damage(store, statement)
        done = call("compare", "--json")
        assert done.returncode == 0, (statement, done.stderr)
        left = {row["study"] for row in json.loads(done.stdout)[0]["rows"]}
        assert left == {name for name in sound if not name.startswith(lost)}
        assert "left out" in done.stderr
        checked = call("store", "check", "--json")
        assert checked.returncode == 1
        (problem,) = json.loads(checked.stdout)["problems"]
        assert lost in problem
        assert "restore the records from a copy of the store" in problem
    # Evaluations are made again where they are missing.
    assert call("tune", "-m", ESZSL, "-q").returncode == 0
    assert call("store", "check").returncode == 0
    assert {row["study"] for row in rows(call, tmp_path)} == set(sound)
    # Another study looks for what is known, and is not held up.
    damage(store, f"{attribute} = substr(value_json, 1, 99) where trial_id in {trials}")
    assert call("tune", "-m", "eszsl(gamma=2, alpha=1)", "-q").returncode == 0
    one_line(call("tune", "-m", ESZSL, "-q"), 1, "is damaged")


def test_the_check_of_a_store_asks_for_its_studies_once(tmp_path, monkeypatch):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    records = Records(settings)
    for number in range(30):
        records.add_evaluation(f"run:{number}", "repeat-0", "test", "data", {"experiment": {}})
    asked = []
    for name in ("study_names", "_attributes"):
        found = getattr(Records, name)
        monkeypatch.setattr(Records, name, lambda self, *rest, found=found: asked.append(1) or found(self, *rest))
    assert list(problems_of(records)) == []
    assert len(recorded_runs(records)) == 30
    assert len(asked) < 5
    records.close()


def test_a_damaged_evaluation_is_said_to_be_one_where_it_is_asked_for(tmp_path, new_store):
    store = new_store(tmp_path)
    records = Records(resolve_settings({"store": store}))
    records.add_evaluation("run:1", "repeat-0", "test", "data", {"experiment": {}})
    run = records.run_of("run:1", "repeat-0")
    assert records.find(run).record["experiment"] == {}
    damage(store, "update zslplat_evaluations set content = '{'")
    with pytest.raises(StoreError, match="evaluation repeat-0 of run:1 is damaged; restore the records"):
        records.find(run)
    records.close()


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_a_file_of_the_journal_that_may_only_be_read_is_named(tmp_path, monkeypatch, ending):
    database = tmp_path / "optuna.db"
    left = tmp_path / f"optuna.db{ending}"
    left.write_bytes(b"")
    allowed = os.access
    # Who may do everything is not kept from it by what a file allows.
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(left) and allowed(path, mode))
    named = rf"{left} may only be read: make writable"
    with pytest.raises(StoreError, match=named), lasting_errors(f"sqlite:///{database}"):
        raise RuntimeError("attempt to write a readonly database")


def test_a_database_of_another_optuna_is_refused_also_after_others_were_opened(new_store, tmp_path):
    for folder in ("a", "b"):
        Records(resolve_settings({"store": new_store(tmp_path / folder)})).close()
    store = new_store(tmp_path / "c")
    with closing(sqlite3.connect(store / "optuna.db")) as connection, connection:
        connection.execute("update alembic_version set version_num = 'v1.3.0.a'")
    with pytest.raises(StoreError, match="no longer compatible"):
        Records(resolve_settings({"store": store}))
