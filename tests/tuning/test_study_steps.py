"""Iterative methods: one step is kept for all folds, the best of the mean curve, and everything follows it."""

from __future__ import annotations

import csv
import json
import sqlite3
import tomllib

import numpy as np
import pytest
from support import records_of, trials_of

STEPWISE = ("tune", "--method", "stepwise", "--dataset", "marked", "--json", "--repeats", 1)


def curves_in(store):
    """Return the primary metric (folds, steps) as a validation run wrote it."""
    curves = []
    for path in sorted(store.glob("artifacts/*/artifacts/fold-*/by_step.csv")):
        with open(path, newline="") as file:
            curves.append([float(row["per_class_accuracy"]) for row in csv.DictReader(file)])
    return np.array(curves)


@pytest.mark.long
def test_the_value_is_the_best_of_the_mean_curve(call, tmp_path):
    done = call("run", "-m", "stepwise", "-d", "marked", "--json", "--workers", 1)
    assert done.returncode == 0, done.stderr
    curves = curves_in(tmp_path / "mlruns")
    assert curves.shape == (3, 6)
    # Each fold's own best step would give more, or nothing is shown here.
    assert curves.max(axis=1).mean() > curves.mean(axis=0).max() + 0.01
    assert json.loads(done.stdout)["metrics"][0]["per_class_accuracy"] == pytest.approx(curves.mean(axis=0).max())


@pytest.mark.long
def test_a_fold_that_ends_early_stays_as_it_ended(call, tmp_path):
    done = call("run", "-m", "stepwise(limit=2)", "-d", "marked", "--json", "--workers", 1)
    assert done.returncode == 0, done.stderr
    curves = curves_in(tmp_path / "mlruns")
    assert (curves[0, 1:] == curves[0, 1]).all()
    assert len(set(curves[1])) > 2
    assert json.loads(done.stdout)["metrics"][0]["per_class_accuracy"] == pytest.approx(curves.mean(axis=0).max())


@pytest.mark.long
def test_records_hold_every_metric_of_every_fold_by_step_and_the_carry_is_of_the_kept_step(call, tmp_path):
    done = call(*STEPWISE, "-t", "gzsl", "--trials", 1, "--workers", 1)
    assert done.returncode == 0, done.stderr
    (record,) = records_of(tmp_path / "mlruns")
    curves = np.array([fold["by_step"]["AUSUC"] for fold in record["folds"]])
    kept = int(curves.mean(axis=0).argmax())
    assert 0 < kept < curves.shape[1] - 1  # or the end would do as well
    assert len(set(curves.argmax(axis=1))) > 1
    assert record["value"] == pytest.approx(curves.mean(axis=0)[kept])
    for fold in record["folds"]:
        assert set(fold["by_step"]) == set(fold["metrics"])
        assert {name: values[kept] for name, values in fold["by_step"].items()} == fold["metrics"]
    assert record["steps"] == {str(i + 1): pytest.approx(v) for i, v in enumerate(curves.mean(axis=0))}
    assert record["carry"]["best_step"] == kept + 1
    # Training that ends at the kept step has nothing else to carry.
    parameters = ",".join(f"{name}={value!r}" for name, value in record["parameters"].items())
    ended = f"stepwise(epochs={kept + 1},{parameters})"
    (tmp_path / "other").mkdir()
    again = call("tune", "-m", ended, "-d", "marked", "-t", "gzsl", "--trials", 1, "--json", cwd=tmp_path / "other")
    assert again.returncode == 0, again.stderr
    assert records_of(tmp_path / "other" / "mlruns")[0]["carry"] == record["carry"]
    config = tomllib.loads(
        (tmp_path / "mlruns" / "studies" / json.loads(done.stdout)["name"] / "best.toml").read_text()
    )
    assert config["carried"] == record["carry"]


def test_pruning_looks_at_the_mean_over_the_folds(tmp_path, plugin_path, monkeypatch):
    from zslplat.evaluation.context import ExperimentContext
    from zslplat.evaluation.experiment import Experiment
    from zslplat.evaluation.jobs import EvaluateJob
    from zslplat.evaluation.scoring.evaluation import evaluate
    from zslplat.registry import registry
    from zslplat.settings import resolve_settings
    from zslplat.spec import Spec

    monkeypatch.syspath_prepend(str(plugin_path))
    registry.cache_clear()
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    context = ExperimentContext(Experiment(Spec("stepwise"), Spec("marked"), Spec("zsl")), settings)
    problems = tuple((path.name, None) for path in context.validation_problems())

    def state(thresholds):
        return evaluate(EvaluateJob("trial", "stepwise", {}, 0, "zsl", problems, thresholds), context.cache.root)

    free = state({})
    first = [fold["by_step"]["per_class_accuracy"][0] for fold in free["folds"]]
    assert min(first) < np.mean(first) - 0.01  # or nothing is shown here
    assert state({1: float(np.mean(first)) - 1e-9})["state"] == "complete"
    stopped = state({1: float(np.mean(first)) + 1e-9})
    assert stopped["state"] == "pruned"
    assert [len(fold["by_step"]["per_class_accuracy"]) for fold in stopped["folds"]] == [1, 1, 1]
    # What was better once is not pruned for what comes later.
    best = int(np.argmax(list(free["steps"].values()))) + 1
    assert state({step: max(free["steps"].values()) for step in range(best, 7)})["state"] == "complete"
    registry.cache_clear()


@pytest.mark.long
def test_stepwise_trials_do_not_depend_on_workers_or_interruptions(call, tmp_path):
    found = {}
    for name, commands in {"at once": [(12, 1)], "extended": [(5, 2), (12, 4)]}.items():
        (tmp_path / name).mkdir()
        for trials, workers in commands:
            done = call(*STEPWISE, "--trials", trials, "--workers", workers, cwd=tmp_path / name)
            assert done.returncode == 0, done.stderr
        steps = [record["steps"] for record in records_of(tmp_path / name / "mlruns")]
        found[name] = (trials_of(tmp_path / name / "mlruns"), steps, json.loads(done.stdout)["test"])
    assert "PRUNED" in [trial[1] for trial in found["at once"][0]]  # or pruning is not looked at here
    assert found["extended"] == found["at once"]


def test_a_study_whose_steps_were_chosen_by_another_rule_is_refused(call, tmp_path):
    command = (*STEPWISE, "--trials", 1, "--workers", 1, "--study", "mine")
    assert call(*command).returncode == 0
    connection = sqlite3.connect(tmp_path / "mlruns" / "optuna.db")
    (text,) = connection.execute("select value_json from study_user_attributes where key = 'identity'").fetchone()
    identity = json.loads(text)
    del identity["step"]
    connection.execute(
        "update study_user_attributes set value_json = ? where key = 'identity'", (json.dumps(identity),)
    )
    connection.commit()
    connection.close()
    done = call(*command)
    assert done.returncode == 1
    assert "another configuration (step: recorded None, asked 'best of the mean over folds')" in done.stderr
