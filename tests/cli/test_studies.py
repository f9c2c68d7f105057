"""``studies list``, ``show`` and ``delete``, and what commands that read records load to do so."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from store_toys import MadeStore
from support import ESZSL, GFHF, tags_of

from zslplat.records.locks import file_lock
from zslplat.settings import resolve_settings

# Each takes a good part of a second to import, and none is needed to read what is recorded.
HEAVY = {"sklearn", "pandas", "matplotlib", "mlflow", "optuna", "numba", "scipy.stats", "scipy.optimize", "alembic"}


@pytest.fixture
def made(new_store):
    return MadeStore(resolve_settings({"store": new_store()}))


@pytest.mark.long
@pytest.mark.parametrize("command", ["compare", "studies list", "studies show", "store check"])
def test_reading_records_loads_no_heavy_library(made, command, tmp_path):
    name = made.study("eszsl", 0.7, dataset="digit-pairs")
    made.study("conse", 0.6, dataset="digit-pairs")
    made.records.close()
    # Without the plugin of the other tests, whose module imports methods.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ZSLPLAT_")}
    arguments = [*command.split(), *([name] if command == "studies show" else [])]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "zslplat", *arguments],
        **{"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 250},
    )
    assert done.returncode == 0, done.stderr
    loaded = set(re.findall(r"\|\s+([\w.]+)$", done.stderr, flags=re.MULTILINE))
    assert {"sqlalchemy", "zslplat.records.database"} <= loaded
    assert loaded & HEAVY == set()


def test_studies_are_listed_with_what_they_reached(made, call):
    first = made.study("eszsl", 0.7, trials=4, validation=0.75)
    made.study("sae", 0.6, dataset="other", name="mine")
    unfinished = made.records.open_study("begun", {"method": "sae", "dataset": "made", "task": "zsl"}, [True])
    done = call("studies", "list", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["study"]: row for row in json.loads(done.stdout)}
    assert list(rows) == [first, "mine", unfinished.name]
    assert (rows[first]["trials"], rows[first]["validation"], rows[first]["state"]) == (4, 0.75, "finished")
    (tested,) = made.records.evaluations(f"study:{first}").values()
    assert rows[first]["test"] == tested["metrics"]["per_class_accuracy"]
    assert (rows["begun"]["trials"], rows["begun"]["state"], rows["begun"]["test"]) == (0, "unfinished", None)
    assert [row["study"] for row in json.loads(call("studies", "list", "s*", "-d", "other", "--json").stdout)] == [
        "mine"
    ]
    assert call("studies", "list", "nosuch").returncode == 2
    text = call("studies", "list").stdout.splitlines()
    assert len(text) == 4
    assert re.search(r"finished\s+4\s+0\.7500", text[1])


def test_lists_comparisons_and_reports_take_the_same_studies_and_show_the_same_numbers(made, call):
    """All that is recorded; of each study what its best trial reached on validation, and its refit on test."""
    for place in ({"dataset": "made"}, {"dataset": "other"}, {"dataset": "other", "task": "zsl(imbalance=10)"}):
        for method, share in (("eszsl", 0.7), ("sae", 0.6)):
            name = made.study(method, share, validation=share + 0.05, repeats=3, **place)
            made.earlier_winner(name, 0.9)
    made.records.close()
    listed = {row["study"]: row for row in json.loads(call("studies", "list", "--json").stdout)}
    tables = json.loads(call("compare", "--json").stdout)
    compared = {row["study"]: row for table in tables for row in table["rows"]}
    assert compared.keys() == listed.keys()
    for study, row in listed.items():
        assert row["test"] == pytest.approx(compared[study]["test"], abs=1e-12)
        assert row["validation"] == pytest.approx(compared[study]["validation"], abs=1e-12)
    boards = json.loads(call("report", "--json").stdout)["boards"]
    places = {(row["task"], row["dataset"]) for row in listed.values()}
    assert len(boards) == len(places) == len({(row["task"], row["dataset"]) for row in compared.values()})


def test_a_study_is_shown_with_its_best_trials_first(made, call):
    name = made.study("eszsl", 0.7, trials=4, validation=0.75, repeats=2)
    made.earlier_winner(name, 0.9)
    content = json.loads(call("studies", "show", name, "--json").stdout)
    assert [trial["number"] for trial in content["trials"]] == [0, 1, 2, 3]
    assert [test["winner"] for test in content["tests"]] == [0, 0, 1]
    lines = call("studies", "show", name).stdout.splitlines()
    assert next(line for line in lines if "trial 0" in line).split()[2] == "0.7500"
    assert sum("of an earlier winner" in line for line in lines) == 1
    done = call("studies", "show", name[:-1])
    assert done.returncode == 2
    assert name in done.stderr  # as a near match
    assert call("studies", "show", "eszsl").stdout == "\n".join(lines) + "\n"
    second = made.study("eszsl(alpha=2)", 0.6, trials=1, validation=0.6)
    several = call("studies", "show", "eszsl")
    assert several.returncode == 2
    assert all(f"zslplat studies show {one}" in several.stderr for one in (name, second))


@pytest.mark.long
def test_a_deleted_study_is_gone_everywhere_and_the_others_stay(call, tmp_path):
    for method in (ESZSL, GFHF):
        assert call("tune", "-m", method, "--study", method[:4], "--workers", 1, "-q").returncode == 0
    store, kept = tmp_path / "mlruns", json.loads(call("compare", GFHF, "--json").stdout)[0]["rows"]
    before = len(tags_of(store, "zslplat.key"))
    artifacts, folders = set((store / "artifacts").iterdir()), set((store / "evaluations").iterdir())
    done = call("studies", "delete", "eszs")
    assert done.returncode == 2
    assert "1 trial, 1 test evaluation" in done.stderr
    assert set((store / "evaluations").iterdir()) == folders
    with file_lock(store / "studies" / "eszs" / "leader.lock"):
        busy = call("studies", "delete", "eszs", "--yes")
    assert busy.returncode == 1
    assert "in use by another process" in busy.stderr
    done = call("studies", "delete", "eszs", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"study": "eszs", "trials": 1, "evaluations": 1, "oracle": 0, "runs": 3}
    assert [row["study"] for row in json.loads(call("studies", "list", "--json").stdout)] == ["gfhf"]
    assert len(tags_of(store, "zslplat.key")) == before - 3
    assert len(set((store / "artifacts").iterdir())) == len(artifacts) - 3
    assert len(set((store / "evaluations").iterdir())) == len(folders) - 1
    assert not (store / "studies" / "eszs").exists()
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        for table in ("trial_user_attributes", "trial_params", "trial_values"):
            orphans = f"select count(*) from {table} where trial_id not in (select trial_id from trials)"
            assert connection.execute(orphans).fetchone() == (0,)
    assert json.loads(call("compare", GFHF, "--json").stdout)[0]["rows"] == kept
    assert call("store", "check").returncode == 0
    assert json.loads(call("store", "rebuild", "--json").stdout)["studies"] == 1
    assert call("studies", "delete", "eszs", "--yes").returncode == 2
    again = call("tune", "-m", ESZSL, "--study", "eszs", "--workers", 1, "-q")
    assert again.returncode == 0, again.stderr


def test_which_hyperparameters_mattered_is_said_where_it_is_asked_for(made, call):
    name = made.study("eszsl", 0.7, dataset="digit-pairs")
    made.records.close()
    assert "importance" not in call("studies", "show", name).stdout
    assert "importance: " in call("studies", "show", name, "--importance").stdout
    assert "importance" in json.loads(call("studies", "show", name, "--importance", "--json").stdout)
