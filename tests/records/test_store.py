"""A store is the truth: MLflow is made from it, it can be moved, merged and checked, and two leave each other alone."""

import json
import shutil
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from support import ESZSL, FILLED, GFHF, RUN, rows, runs_of

from zslplat.records.database import SCHEMA, Records
from zslplat.settings import resolve_settings
from zslplat.tracking.projection import Projection


def records_of_store(folder):
    return Records(resolve_settings({"store": str(folder / "mlruns")}))


def shown(store, *, without=("zslplat.environment",)):
    """Return {RUN: (status, tags, metrics)} of MLflow's runs of a store."""
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        tags = {}
        for run, key, value in connection.execute("select run_uuid, key, value from tags"):
            tags.setdefault(run, {})[key] = value
        states = dict(connection.execute("select run_uuid, status from runs"))
        metrics = {}
        for run, key, value in connection.execute("select run_uuid, key, value from latest_metrics"):
            metrics.setdefault(run, {})[key] = value
    found = {}
    for run, own in tags.items():
        kept = {k: v for k, v in own.items() if k.startswith("zslplat.") and k not in without}
        if "zslplat.run" in own:
            found[own["zslplat.run"]] = (states[run], kept, metrics.get(run))
    return found


@pytest.mark.long
def test_mlflow_is_made_anew_from_the_records_and_a_moved_store_keeps_its_intervals(call, arranged, tmp_path):
    run = json.loads(arranged(*FILLED)[-1].stdout)["run_ids"][0]
    store = tmp_path / "mlruns"
    before, views, artifacts = rows(call, tmp_path), shown(store), sorted(p.name for p in store.rglob("*.png"))
    shutil.rmtree(store / "artifacts")
    (store / "mlflow.db").unlink()
    assert rows(call, tmp_path) == before
    done = call("store", "rebuild", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"studies": 2, "runs": 1}
    assert rows(call, tmp_path) == before
    assert shown(store) == views
    assert sorted(p.name for p in store.rglob("*.png")) == artifacts
    assert call("rerun", run, "--check", "-q").returncode == 0
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(store, moved / "mlruns")
    assert rows(call, moved) == before
    assert call("rerun", run, "--check", "-q", cwd=moved).returncode == 0
    assert call("store", "check", cwd=moved).returncode == 0
    assert not list((tmp_path / "mlruns").rglob("artifacts/*/*"))


@pytest.mark.long
def test_two_stores_on_one_server_leave_each_other_alone(call, tmp_path):
    server = ("--tracking-uri", f"sqlite:///{tmp_path / 'shared.db'}")
    found = {}
    for name, gamma in (("a", 1), ("b", 1000)):
        (tmp_path / name).mkdir()
        done = call(
            "tune", "-m", f"eszsl(alpha=1, gamma={gamma})", "--study", "s", "--json", *server, cwd=tmp_path / name
        )
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)["test"][0]["per_class_accuracy"]
    assert found["a"] != found["b"]
    for name in found:
        done = call("compare", "--json", *server, cwd=tmp_path / name)
        assert [row["test"] for row in json.loads(done.stdout)[0]["rows"]] == [found[name]]
    with closing(sqlite3.connect(tmp_path / "shared.db")) as connection:
        stores = connection.execute(
            "select value, count(*) from tags where key = 'zslplat.store' group by value"
        ).fetchall()
        runs = connection.execute("select count(distinct value) from tags where key = 'zslplat.run'").fetchone()
    assert [count for _, count in stores] == [3, 3]
    assert runs == (6,)


@pytest.mark.long
def test_what_a_server_that_is_away_was_not_shown_is_not_counted(call, arranged):
    arranged(RUN)
    away = ("--tracking-uri", "http://127.0.0.1:9")
    done = call("store", "rebuild", "--json", *away)
    assert "does not answer" in done.stderr
    assert json.loads(done.stdout) == {"studies": 0, "runs": 0}


@pytest.mark.long
def test_an_evaluation_that_is_recorded_is_not_computed_again(call, arranged):
    first = json.loads(arranged(RUN)[0].stdout)
    again = json.loads(call("run", "-m", ESZSL, "--test", "--json").stdout)
    assert (first["recalled"], again["recalled"]) == (0, 1)
    assert again["run_ids"] == first["run_ids"]
    assert again["metrics"] == first["metrics"]
    assert again["test_evaluations"] == first["test_evaluations"]
    study = json.loads(call("tune", "-m", ESZSL, "--json").stdout)
    assert (study["recalled"], study["recalled_tests"]) == (0, 1)
    assert study["test"] == first["metrics"]
    # What is to prove something is computed.
    assert call("rerun", first["run_ids"][0], "--check", "-q").returncode == 0


def test_mlflows_id_of_a_run_is_an_alias(call, arranged, tmp_path):
    run = json.loads(arranged(RUN)[0].stdout)["run_ids"][0]
    with closing(sqlite3.connect(tmp_path / "mlruns" / "mlflow.db")) as connection:
        (alias,) = connection.execute(
            "select run_uuid from tags where key = 'zslplat.run' and value = ?", (run,)
        ).fetchone()
    assert call("rerun", alias, "--check", "-q").returncode == 0
    assert call("rerun", "0" * 32, "-q").returncode == 2
    assert call("compare", alias).returncode == 0


@pytest.mark.long
def test_stores_are_merged_once_and_damage_is_found(call, arranged, tmp_path):
    for name, method in (("a", ESZSL), ("b", GFHF)):
        arranged(("tune", "-m", method, "--workers", 1, "-q"), into=tmp_path / name)
    expected = rows(call, tmp_path / "b")[0]
    for taken in (1, 0):
        done = call("store", "merge", tmp_path / "b" / "mlruns", "--json", cwd=tmp_path / "a")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["evaluations"] == taken
    merged = {row["method"]: row for row in rows(call, tmp_path / "a")}
    assert {k: merged[GFHF][k] for k in ("test", "low", "high")} == {k: expected[k] for k in ("test", "low", "high")}
    assert call("store", "check", cwd=tmp_path / "a").returncode == 0
    outcomes = next((tmp_path / "a" / "mlruns" / "evaluations").rglob("outcomes.npz"))
    outcomes.write_bytes(outcomes.read_bytes()[:-50])
    done = call("store", "check", "--json", cwd=tmp_path / "a")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["problems"]) == 1


def test_cleaning_up_keeps_what_is_recorded(call, arranged, tmp_path):
    arranged(FILLED[0])
    before = rows(call, tmp_path)
    orphan = tmp_path / "mlruns" / "evaluations" / "0123456789abcdef"
    orphan.mkdir()
    (orphan / "outcomes.npz").write_bytes(b"x" * 1000)
    assert call("store", "gc", "--dry-run").returncode == 0
    assert orphan.exists()
    done = call("store", "gc", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] >= 1000
    assert not orphan.exists()
    assert rows(call, tmp_path) == before


def test_a_store_of_a_newer_schema_is_refused(call, tmp_path):
    settings = resolve_settings({"store": str(tmp_path / "mlruns")})
    settings.make_store()
    Records(settings)
    with closing(sqlite3.connect(tmp_path / "mlruns" / "optuna.db")) as connection, connection:
        connection.execute("update zslplat_store set value = ? where name = 'schema'", (str(SCHEMA + 1),))
    done = call("compare")
    assert done.returncode == 1
    assert f"has schema {SCHEMA + 1}" in done.stderr


@pytest.mark.long
def test_what_a_command_left_running_is_ended_by_the_next(call, leader, tmp_path):
    running = leader("tune", "-m", "plain", "-d", "marked", "--trials", 40, "--workers", 1, TROUBLE_PAUSE="0.2")
    running.wait_for("trial 2 ")
    running.kill()
    assert runs_of(tmp_path / "mlruns")["study"][0] == "RUNNING"
    # Closed before the store is copied: the last connection removes the database's journal.
    with closing(records_of_store(tmp_path)) as records:
        (study,) = records.study_names()
    run = ("run", "-m", "plain", "-d", "marked", "-q")
    for number, command in enumerate([run, ("studies", "list"), ("studies", "show", study), ("report",)]):
        store = shutil.copytree(tmp_path / "mlruns", tmp_path / f"copy-{number}")
        done = call(*command, "--store", store)
        assert done.returncode == 0, done.stderr
        assert runs_of(store)["study"][0] == "KILLED", command


@pytest.mark.long
def test_a_study_killed_before_its_first_trial_is_not_left_running(call, leader, tmp_path):
    running = leader("tune", "-m", "plain", "-d", "marked", "--trials", 3, "--workers", 1, TROUBLE_PAUSE="30")
    store = tmp_path / "mlruns"
    end = time.monotonic() + 800
    while "study" not in runs_of(store) and time.monotonic() < end:
        time.sleep(0.05)
    running.kill()
    assert runs_of(store)["study"][0] == "RUNNING"
    assert call("run", "-m", "plain", "-d", "marked", "-q").returncode == 0
    assert runs_of(store)["study"][0] == "KILLED"


@pytest.mark.long
def test_repeats_of_a_run_stay_together_where_some_are_known(call, tmp_path):
    command = ("run", "-m", "zskl(epochs=2)", "--test", "--json")
    first = json.loads(call(*command).stdout)
    done = json.loads(call(*command, "--repeats", 2).stdout)
    assert done["recalled"] == 1
    assert done["metrics"][0] == first["metrics"][0]
    assert done["test_evaluations"] == 2
    found = {row["study"]: row for row in rows(call, tmp_path)}
    name = next(name for name in found if name.removeprefix("run ") in done["run_ids"][0])
    assert found[name]["test"] == pytest.approx(np.mean([m["per_class_accuracy"] for m in done["metrics"]]))
    again = json.loads(call(*command, "--repeats", 2).stdout)
    assert (again["recalled"], again["run_ids"]) == (2, done["run_ids"])


@pytest.mark.long
def test_points_of_a_sweep_are_no_runs_and_another_range_is_another_sweep(call, tmp_path):
    assert call("run", "-m", "eszsl(alpha=1, gamma=1.0)", "--test", "-q").returncode == 0
    sweep = ("sweep", "-m", "eszsl(alpha=1)", "--param", "gamma", "--test", "--json", "--points", 2)
    first, second = (json.loads(call(*sweep, "--range", f"1..{high}:log").stdout) for high in (10, 100))
    curves = [next(iter(sweep["test"].values())) for sweep in (first, second)]
    assert curves[0][0] == curves[1][0]
    assert first["run_id"] != second["run_id"]
    kinds = [tags["zslplat.kind"] for _, tags, _ in shown(tmp_path / "mlruns").values()]
    assert sorted(kinds) == ["analysis", "analysis", "run"]
    # A point that another has computed looks at nothing anew: the run's, and one of each sweep.
    assert second["test_evaluations"] == 3


def test_known_evaluations_are_as_new_as_the_study_that_took_them(call, arranged, tmp_path):
    arranged(RUN)
    assert call("tune", "-m", ESZSL, "-q").returncode == 0
    content = {owner.partition(":")[0]: record for owner, _, record in records_of_store(tmp_path).all_evaluations()}
    assert content["study"]["created"] > content["run"]["created"]
    assert content["study"]["known_from"] == content["run"]["run"]
    assert "about" not in content["study"]


@pytest.mark.long
def test_lost_outcomes_cost_the_intervals_of_one_entry_until_its_command_is_given_again(call, arranged, tmp_path):
    arranged(*FILLED)
    before = rows(call, tmp_path)
    for outcomes in (tmp_path / "mlruns" / "evaluations").rglob("outcomes.npz"):
        outcomes.write_bytes(outcomes.read_bytes()[:-50])
    done = call("compare", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: outcomes per row in") == 3
    assert all(row["low"] is None for row in json.loads(done.stdout)[0]["rows"])
    for method in (ESZSL, GFHF):
        assert call("tune", "-m", method, "--workers", 1, "-q").returncode == 0
    done = call("compare", ESZSL, GFHF, "--json")
    wanted = [row for row in before if not row["study"].startswith("run ")]
    assert {row["study"]: row["low"] for row in json.loads(done.stdout)[0]["rows"]} == {
        row["study"]: row["low"] for row in wanted
    }


@pytest.mark.long
def test_fewer_repeats_than_are_recorded_leave_none_out(call, tmp_path):
    tune = ("tune", "-m", "zskl(epochs=2)", "--trials", 1, "--json")
    first = json.loads(call(*tune, "--repeats", 3).stdout)
    again = json.loads(call(*tune, "--repeats", 2).stdout)
    assert again["test"] == first["test"]
    assert len(again["final_run_ids"]) == 3


@pytest.mark.long
def test_cleaning_up_waits_for_who_is_at_work(call, leader, tmp_path):
    running = leader("run", "-m", "plain", "-d", "marked", "--workers", 1, TROUBLE_PAUSE="30")
    running.wait_for("evaluating")
    assert list((tmp_path / "mlruns" / "studies").glob("run-*"))
    done = call("store", "gc")
    assert done.returncode == 1
    assert "in use by another process" in done.stderr
    assert list((tmp_path / "mlruns" / "studies").glob("run-*"))
    running.kill()
    assert call("store", "gc").returncode == 0
    assert not list((tmp_path / "mlruns" / "studies").glob("run-*"))


def test_a_rebuild_connects_once_and_shows_the_runs_of_each_owner_as_before(call, arranged, tmp_path, monkeypatch):
    arranged(RUN)
    call(*RUN[:2], GFHF, *RUN[3:])
    store = tmp_path / "mlruns"
    before = shown(store)
    (store / "mlflow.db").unlink()
    connections = []
    connect = Projection._connect
    monkeypatch.setattr(Projection, "_connect", lambda self, name: (connections.append(name), connect(self, name))[1])
    for _ in range(2):  # the second time all is shown already
        assert call("store", "rebuild").returncode == 0
        assert shown(store) == before
        assert len(before) == 2
    assert len(connections) == 2
