"""A store is the truth: MLflow is made from it, it can be moved, merged and checked, and two leave each other alone."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from support import runs_of

from zslplat.records.database import SCHEMA, Records
from zslplat.settings import resolve_settings

ESZSL, GFHF = "eszsl(gamma=1, alpha=1)", "gfhf(k=5)"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A store with two studies and a single test run; its folder, and what ``compare`` says of it."""
    return tmp_path_factory.mktemp("recorded")


def fill(call, folder):
    for method in (ESZSL, GFHF):
        done = call("tune", "-m", method, "--workers", 1, "-q", cwd=folder)
        assert done.returncode == 0, done.stderr
    done = call("run", "-m", "eszsl(gamma=10, alpha=1)", "--test", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(call, folder):
    done = call("compare", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["rows"]
    assert all(row["low"] is not None for row in found)
    return found


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


def test_mlflow_is_made_anew_from_the_records_and_a_moved_store_keeps_its_intervals(call, tmp_path):
    run = fill(call, tmp_path)["run_ids"][0]
    store = tmp_path / "mlruns"
    before, views, artifacts = rows(call, tmp_path), shown(store), sorted(p.name for p in store.rglob("*.png"))
    shutil.rmtree(store / "artifacts")
    (store / "mlflow.db").unlink()
    assert rows(call, tmp_path) == before
    done = call("store", "rebuild", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"studies": 2, "runs": 1, "evaluated": 2, "left_out": 0}
    assert rows(call, tmp_path) == before
    assert shown(store) == views
    assert sorted(p.name for p in store.rglob("*.png")) == artifacts
    assert list((store / "artifacts").rglob("*.npy"))
    assert call("rerun", run, "--check", "-q").returncode == 0
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(store, moved / "mlruns")
    assert rows(call, moved) == before
    assert call("rerun", run, "--check", "-q", cwd=moved).returncode == 0
    assert call("store", "check", cwd=moved).returncode == 0
    assert not list((tmp_path / "mlruns").rglob("artifacts/*/*"))


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
        assert [row["test"] for row in json.loads(done.stdout)["rows"]] == [found[name]]
    with closing(sqlite3.connect(tmp_path / "shared.db")) as connection:
        stores = connection.execute(
            "select value, count(*) from tags where key = 'zslplat.store' group by value"
        ).fetchall()
        runs = connection.execute("select count(distinct value) from tags where key = 'zslplat.run'").fetchone()
    assert [count for _, count in stores] == [3, 3]
    assert runs == (6,)


def test_an_evaluation_that_is_recorded_is_not_computed_again(call):
    first = json.loads(call("run", "-m", ESZSL, "--test", "--json").stdout)
    again = json.loads(call("run", "-m", ESZSL, "--test", "--json").stdout)
    assert (first["known"], again["known"]) == (0, 1)
    assert again["run_ids"] == first["run_ids"]
    assert again["metrics"] == first["metrics"]
    assert again["looks_at_test"] == first["looks_at_test"]
    study = json.loads(call("tune", "-m", ESZSL, "--json").stdout)
    assert study["known"] == 1
    assert study["test"] == first["metrics"]
    # What is to prove something is computed.
    assert call("rerun", first["run_ids"][0], "--check", "-q").returncode == 0


def test_mlflows_id_of_a_run_is_an_alias(call, tmp_path):
    run = json.loads(call("run", "-m", ESZSL, "--test", "--json").stdout)["run_ids"][0]
    with closing(sqlite3.connect(tmp_path / "mlruns" / "mlflow.db")) as connection:
        (alias,) = connection.execute(
            "select run_uuid from tags where key = 'zslplat.run' and value = ?", (run,)
        ).fetchone()
    assert call("rerun", alias, "--check", "-q").returncode == 0
    assert call("rerun", "0" * 32, "-q").returncode == 1
    assert call("compare", alias).returncode == 0


def test_stores_are_merged_once_and_damage_is_found(call, tmp_path):
    for name, method in (("a", ESZSL), ("b", GFHF)):
        (tmp_path / name).mkdir()
        assert call("tune", "-m", method, "-q", cwd=tmp_path / name).returncode == 0
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


def test_cleaning_up_keeps_what_is_recorded(call, tmp_path):
    assert call("tune", "-m", ESZSL, "-q").returncode == 0
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


def test_what_a_command_left_running_is_ended_by_the_next(call, leader, tmp_path):
    running = leader("tune", "-m", "plain", "-d", "marked", "--trials", 40, "--workers", 1, TROUBLE_PAUSE="0.2")
    running.wait_for("trial 2 ")
    running.kill()
    assert runs_of(tmp_path / "mlruns")["study"][0] == "RUNNING"
    assert call("run", "-m", "plain", "-d", "marked", "-q").returncode == 0
    assert runs_of(tmp_path / "mlruns")["study"][0] == "KILLED"
