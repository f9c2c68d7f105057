"""What MLflow's pages show of studies, runs and sweeps, read by MLflow's own client."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sqlite3

import pytest

from zslplat.tracking import experiment_page
from zslplat.tracking.descriptions import colour, result
from zslplat.tracking.run_view import NOTE

pytestmark = pytest.mark.long

PLACE = ("-d", "marked", "--workers", 1, "-q")
COMMANDS = (
    ("tune", "-m", "plain", "--trials", 4, "--repeats", 2, *PLACE),
    ("tune", "-m", "eszsl(gamma=1)", "--trials", 3, *PLACE),
    ("run", "-m", "eszsl(gamma=10, alpha=1)", "--test", *PLACE),
    ("run", "-m", "gfhf(k=5)", *PLACE),
    ("sweep", "-m", "eszsl(alpha=1)", "--param", "gamma", "--points", 3, "--test", *PLACE),
)


def page(store):
    """Return the tags of the experiment, and its runs with what MLflow's client tells of them."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name != "Default"]
    return dict(experiment.tags), list(client.search_runs([experiment.experiment_id]))


def content(store):
    """Return all that a page shows, without MLflow's own ids."""
    tags, runs = page(store)
    ids = {run.info.run_id: run.data.tags["zslplat.run"] for run in runs}
    found = {}
    for run in runs:
        own = {k: ids.get(v, v) for k, v in run.data.tags.items()}
        found[own["zslplat.run"]] = (run.info.status, run.info.run_name, own, run.data.params, run.data.metrics)
    assert len(found) == len(runs)
    return tags, found


def changed(store, *statements):
    with contextlib.closing(sqlite3.connect(store / "mlflow.db")) as connection, connection:
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)


@pytest.fixture
def store(arranged, tmp_path):
    arranged(*COMMANDS)
    return tmp_path / "mlruns"


def staged(runs, stage):
    return [run for run in runs if run.data.tags["stage"] == stage]


def test_every_run_has_a_stage_a_description_and_its_method_s_colour(store):
    _, runs = page(store)
    stages = [run.data.tags["stage"] for run in runs]
    assert {stage: stages.count(stage) for stage in set(stages)} == {"study": 2, "trial": 8, "final": 4, "sweep": 1}
    for run in runs:
        assert run.data.tags["mlflow.runColor"] == colour(run.data.params["method"])
        if run.data.tags["zslplat.kind"] == "trial":  # its page says it all
            continue
        first, *_ = run.data.tags[NOTE].splitlines()
        assert first.endswith(".")
        assert re.search(r"on marked, task zsl", first)


def test_finals_stand_beside_their_studies_and_trials_below(store):
    _, runs = page(store)
    studies = {run.info.run_id for run in staged(runs, "study")}
    of_studies = [run for run in staged(runs, "trial") if run.data.tags["zslplat.kind"] == "trial"]
    assert len(of_studies) == 7
    assert {run.data.tags["mlflow.parentRunId"] for run in of_studies} == studies
    assert not [run for run in runs if run not in of_studies and "mlflow.parentRunId" in run.data.tags]


def test_names_say_method_and_result(store):
    _, runs = page(store)
    names = {run.info.run_name for run in runs}
    for run in staged(runs, "final"):
        reached = result(run.data.metrics["test_per_class_accuracy"])
        assert run.info.run_name.startswith(f"{run.data.params['method']} test {reached}")
    for run in staged(runs, "study"):
        reached = result(run.data.metrics["test_per_class_accuracy"])
        assert run.info.run_name == f"{run.data.params['method']} study {reached}"
    assert any(re.fullmatch(r"plain #0 val \d?\.\d{3}", name) for name in names)
    assert any(re.fullmatch(r"gfhf val \d?\.\d{3}", name) for name in names)
    assert any(name.endswith(" repeat 1") for name in names)
    assert "eszsl sweep of gamma" in names


def test_finals_carry_what_was_chosen_and_both_results(store):
    _, runs = page(store)
    (tuned,) = [r for r in staged(runs, "final") if r.data.params["method"] == "eszsl" and "study" in r.data.params]
    assert {"eszsl.alpha", "eszsl.gamma"} <= set(tuned.data.params)
    assert tuned.data.params["chosen"].startswith("alpha=")
    assert tuned.data.params["chosen"].endswith(", gamma=1")
    assert {"test_per_class_accuracy", "val_per_class_accuracy"} <= set(tuned.data.metrics)
    assert tuned.data.metrics["work/trials"] == 3
    (study,) = [r for r in staged(runs, "study") if r.data.params["method"] == "eszsl"]
    assert study.data.tags["chosen"] == tuned.data.params["chosen"]
    assert f"| alpha | {study.data.params['eszsl.space.alpha']} |" in study.data.tags[NOTE]
    shared = set.intersection(*(set(run.data.params) for run in staged(runs, "study")))
    assert shared == {"method", "dataset", "task", "seed", "study"}


def test_descriptions_hold_the_interval_of_compare_and_the_command_that_repeats_it(store, call, tmp_path):
    _, runs = page(store)
    rows = json.loads(call("compare", "--dataset", "marked", "--json").stdout)[0]["rows"]
    shown = {f"[{result(row['low'])}, {result(row['high'])}]" for row in rows}
    assert len(rows) == 3
    notes = [run.data.tags[NOTE] for run in runs if run.data.tags["stage"] in ("study", "final")]
    found = {part for note in notes for part in re.findall(r"\[[^]]*, [^]]*\](?=[,.])", note.splitlines()[0])}
    assert shown <= found
    (single,) = [r for r in staged(runs, "final") if "study" not in r.data.params]
    (again,) = re.findall(r"zslplat (rerun \w+ --check)", single.data.tags[NOTE])
    assert call(*again.split(), "--workers", 1, "-q").returncode == 0


def test_what_it_took_and_the_curves_of_sweeps_are_no_results(store, call):
    _, runs = page(store)
    for run in runs:
        prefixes = ("sweep/",) if run.data.tags["stage"] == "sweep" else ("val_", "test_", "work/")
        assert all(name.startswith(prefixes) for name in run.data.metrics), run.data.metrics
    (sweep,) = staged(runs, "sweep")
    assert set(sweep.data.metrics) == {"sweep/val_per_class_accuracy", "sweep/test_per_class_accuracy"}
    assert len([line for line in sweep.data.tags[NOTE].splitlines() if line.startswith("| ")]) == 2 + 3
    note = sweep.data.tags[NOTE].replace("\\\n", "")
    (again,) = re.findall(r"zslplat (sweep .*)", note)
    assert max(map(len, sweep.data.tags[NOTE].splitlines())) <= 100
    assert "--dataset marked --task zsl" in again
    before = call("compare", "--json").stdout
    done = call(*shlex.split(again), "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    # The points are those of the sweep that it describes, which are recorded.
    assert len(staged(page(store)[1], "sweep")) == 1
    assert call("compare", "--json").stdout == before


def test_the_experiment_is_described_and_has_a_view_of_each_kind(store):
    tags, runs = page(store)
    assert tags[NOTE].startswith("Task zsl on marked; primary metric per_class_accuracy.\n")
    assert re.search(r"^- marked: \d+ rows, \d+ features, \d+ classes$", tags[NOTE], re.MULTILINE), tags[NOTE]
    assert "zslplat compare --dataset marked --task zsl" in tags[NOTE]
    views = {name.rpartition(".")[2]: text for name, text in tags.items() if name.startswith("mlflow.sharedViewState.")}
    assert set(views) == {"results", "studies", "trials", "sweeps"}
    names = {f"params.`{name}`" for run in runs for name in run.data.params}
    names |= {f"metrics.`{name}`" for run in runs for name in run.data.metrics} | {"tags.`chosen`"}
    for name, text in views.items():
        state = json.loads(json.loads(text)["state"])
        assert set(state["selectedColumns"]) <= names, name
        (stage,) = re.findall(r"tags\.stage = '(\w+)'", state["searchFilter"])
        assert staged(runs, stage)


def test_the_same_pages_are_made_anew_from_the_records(store, call):
    before = content(store)
    (store / "mlflow.db").unlink()
    done = call("store", "rebuild")
    assert done.returncode == 0, done.stderr
    after = content(store)
    assert after[0] == before[0]
    for run, (status, name, tags, params, metrics) in before[1].items():
        again = after[1][run]
        assert again[:2] == (status, name)
        assert again[3:] == (params, metrics)
        # Where the study was when it began is told by its beginning alone.
        assert {k: v for k, v in again[2].items() if v != tags.get(k)} == {}


def test_no_run_fails_where_its_view_cannot_be_saved(call, tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no view today")

    monkeypatch.setattr(experiment_page, "_write", refuse)
    done = call("run", "-m", "eszsl(gamma=10, alpha=1)", "--test", "-d", "marked", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "could not be saved in MLflow (RuntimeError: no view today); its runs are all there" in done.stderr
    tags, runs = page(tmp_path / "mlruns")
    assert [run.info.status for run in runs] == ["FINISHED"]
    assert not [name for name in tags if name.startswith("mlflow.sharedViewState")]


def test_a_study_that_runs_can_be_looked_at(tmp_path, new_store):
    from zslplat.records.database import Records
    from zslplat.settings import resolve_settings
    from zslplat.tracking.experiment_page import local_start
    from zslplat.tracking.listener import ShownStudy

    settings = resolve_settings({"store": new_store()})
    settings.make_store()
    records = Records(settings)
    identity = {"method": "eszsl", "dataset": "toy", "task": "zsl", "seed": 0, "space": {"gamma": "0..1"}}
    study = records.open_study("eszsl@toy-zsl-1", identity, [True])
    data = {"name": "toy", "fingerprint": "f" * 64, "source": {}, "profile": {}}
    about = {
        "mlflow_experiment": "zsl: toy",
        "primary": {"name": "a", "maximise": True},
        "preprocessing": "",
        "data": data,
    }
    for name, value in (("about", about), ("environment", {"packages": {"zslplat": "1"}, "git": {}}), ("began", 5.0)):
        study.note(name, value)
    shown = ShownStudy(settings, records, study, tmp_path / "folder", pytest.fail)
    shown.begin()
    shown.projection.close()
    records.close()
    assert local_start(settings).endswith("&viewStateShareKey=trials")
    _, (run,) = page(settings.store)
    assert (run.info.run_name, run.info.status) == ("eszsl study", "RUNNING")
    assert run.data.tags[NOTE].startswith("eszsl on toy, task zsl: no result yet.")


def test_a_study_that_chooses_another_trial_leaves_its_former_final_behind(call, tmp_path):
    for count in (1, 6):
        done = call("tune", "-m", "eszsl(gamma=1)", "--trials", count, *PLACE)
        assert done.returncode == 0, done.stderr
    _, runs = page(tmp_path / "mlruns")
    (former,), (final,), (study,) = (staged(runs, stage) for stage in ("superseded", "final", "study"))
    assert former.data.tags["zslplat.winner"] == "0"
    assert final.data.tags["zslplat.winner"] == study.data.tags["zslplat.winner"] != "0"
    assert study.data.tags["chosen"] == final.data.params["chosen"] != former.data.params["chosen"]
    assert study.info.run_name.endswith(result(final.data.metrics["test_per_class_accuracy"]))
    assert final.data.metrics["work/trials"] == study.data.metrics["work/trials"] == 6
