"""A store of the first schema is brought into today's form: nothing is lost, nothing is shown twice."""

import csv
import json
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from zslplat.tracking.migration import _about

ESZSL = "eszsl(gamma=1, alpha=1)"


def make_old(store):
    """Write a store as the first schema had it: settings in MLflow's tags, replicates among its artifacts."""
    with closing(sqlite3.connect(store / "optuna.db")) as connection, connection:
        connection.execute("drop table zslplat_store")
        connection.execute("delete from study_user_attributes where key in ('origin', 'about', 'environment', 'began')")
        connection.execute("delete from study_user_attributes where key = 'finished'")
        rows = connection.execute("select id, owner, key, content from zslplat_evaluations").fetchall()
        old = {}
        for number, owner, key, text in rows:
            record = json.loads(text)
            old[owner, key] = record
            names = ("experiment", "question", "code", "run", "about", "environment", "lines", "started", "knows")
            kept = {name: value for name, value in record.items() if name not in names}
            connection.execute("update zslplat_evaluations set content = ? where id = ?", (json.dumps(kept), number))
    with closing(sqlite3.connect(store / "mlflow.db")) as connection, connection:
        tags = {}
        for run, key, value in connection.execute("select run_uuid, key, value from tags"):
            tags.setdefault(run, {})[key] = value
        for run, own in tags.items():
            owner, key = own.get("zslplat.owner"), own.get("zslplat.key")
            connection.execute(
                "delete from tags where run_uuid = ? and key in ('zslplat.store', 'zslplat.run', 'zslplat.experiment')",
                (run,),
            )
            record = old.get((owner, key))
            if record is None:
                continue
            experiment = record["experiment"]
            asked = {
                name: experiment[name] for name in ("method", "dataset", "task", "features", "signatures", "split")
            }
            asked |= {"problems_seed": experiment["seed"], "seed": experiment["method_seed"]}
            asked |= {"carried": experiment["carried"], "fingerprint": experiment["data"]}
            connection.execute(
                "insert into tags (run_uuid, key, value) values (?, 'zslplat.rerun', ?)", (run, json.dumps(asked))
            )
            if owner.startswith("study:"):
                name = key.replace("/repeat", "").replace("trial", "final")
                connection.execute("update tags set value = ? where run_uuid = ? and key = 'zslplat.key'", (name, run))
            replicates = store / "evaluations" / record["run"] / "replicates.npz"
            if replicates.exists():
                write_table(store / "artifacts" / run / "artifacts" / "replicates.csv", replicates)
    shutil.rmtree(store / "evaluations")


def write_table(path, replicates):
    """Write the replicates of a record as the table that artifacts held."""
    with np.load(replicates) as file, open(path, "w", newline="") as table:
        columns = {n.removeprefix("metric:"): file[n] for n in file.files if n.startswith("metric:")}
        writer = csv.writer(table)
        writer.writerow(["replicate", *columns])
        writer.writerows([i, *row] for i, row in enumerate(zip(*columns.values(), strict=True)))


@pytest.mark.long
def test_an_old_store_says_the_same_repeats_the_same_and_shows_nothing_twice(call, tmp_path):
    tune = ("tune", "-m", ESZSL, "--workers", 1, "-q")
    assert call(*tune).returncode == 0
    run = ("run", "-m", "eszsl(gamma=10, alpha=1)")
    assert call(*run, "--test", "-q").returncode == 0
    assert call(*run, "-q").returncode == 0

    def rows():
        done = call("compare", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["rows"], done.stderr

    store = tmp_path / "mlruns"
    before, _ = rows()
    make_old(store)
    after, said = rows()
    assert "was brought into today's form" in said
    assert "no replicates" not in said  # an evaluation on validation folds never had any
    names = ("method", "validation", "test", "low", "high", "difference", "difference_low", "difference_high", "knows")
    assert [{n: row[n] for n in names} for row in after] == [{n: row[n] for n in names} for row in before]
    count = shown_runs(store)
    assert call(*tune).returncode == 0
    assert shown_runs(store) == count
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        query = "select run_uuid from tags where key = 'zslplat.key' and value != 'study'"
        aliases = [alias for (alias,) in connection.execute(query)]
    assert len(aliases) == 4
    for alias in aliases[:2]:
        done = call("rerun", alias, "--check", "-q")
        assert done.returncode == 0, done.stderr


def shown_runs(store):
    """Return how many runs MLflow shows."""
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        return connection.execute("select count(*) from runs").fetchone()[0]


def test_what_an_old_run_says_of_a_task_that_is_not_installed_is_left_out():
    tags = {"zslplat.dataset": "birds(seed=2)", "zslplat.data_fingerprint": "f", "zslplat.task": "zsl"}
    found = {"tags": tags, "mlflow_experiment": "zsl: birds"}
    assert _about(found)["about"]["data"]["name"] == "birds"
    assert _about({**found, "tags": {**tags, "zslplat.task": "a-task-of-theirs"}}) == {}
