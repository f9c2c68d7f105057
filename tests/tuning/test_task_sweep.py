"""``sweep`` of a task's option: every point is the run of that task, for one or several methods."""

import csv
import json

import numpy as np
import pytest
from support import one_line

from zslplat.evaluation.experiment import Experiment
from zslplat.front.sweeps import Sweep
from zslplat.settings import resolve_settings
from zslplat.space import Choice
from zslplat.spec import Spec
from zslplat.tuning.sweep import SweepResult, SweptParameter

DATA = (
    "synthetic(rows_train=200, rows_test_seen=10, rows_test_unseen=60, dimensions=20, attributes=6, classes_seen=10, "
    "classes_unseen=4, classes_validation=3)"
)
TASK = "feature-selection(last=10, repeats=2, validation_repeats=1)"
SWEEP = ("-d", DATA, "-t", TASK, "--workers", 1)


@pytest.mark.long
def test_points_are_the_runs_of_the_task_with_that_option(call, tmp_path):
    methods = ("-m", "variance", "-m", "random-features(seed=3)")
    command = ("sweep", *methods, "-p", "labelled_ratio", "--range", "0.5|1.0", *SWEEP, "--test", "--json")
    done = call(*command)
    assert done.returncode == 0, done.stderr
    # MLflow shows all of it, points and summary: no later command need look after them.
    assert not list((tmp_path / "mlruns" / "studies").glob("*/unshown"))
    found = json.loads(done.stdout)
    assert list(found["test"]) == ["variance", "random-features(seed=3)"]
    alone = call("run", "-m", "variance", "-d", DATA, "-t", TASK[:-1] + ", labelled_ratio=0.5)", "--test", "--json")
    again = json.loads(alone.stdout)
    assert again["metrics"][0]["clustering_accuracy"] == found["test"]["variance"][0]
    assert again["recalled"] == 1  # a point is a run, which nobody computes twice
    with open(found["table"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["labelled_ratio"]) for row in rows] == [0.5, 1.0]
    assert [float(row["variance test"]) for row in rows] == found["test"]["variance"]
    repeated = json.loads(call(*command).stdout)
    assert (repeated["test"], repeated["run_id"]) == (found["test"], found["run_id"])
    assert repeated["test_evaluations"] == found["test_evaluations"]


@pytest.mark.long
def test_a_protocol_without_validation_has_its_test_and_says_so(call):
    task = ("-d", "digits", "-t", "coding(train_per_class=1)")
    command = ("sweep", "-m", "llc", *task, "-p", "ranking", "--range", "false|true", "--workers", 1)
    one_line(call(*command), 1, "no validation", "--test scores the test split")
    done = call(*command, "--test", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["validation"] == {"llc": [None, None]}
    assert all(0 < value <= 1 for value in found["test"]["llc"])
    assert sum("no validation" in line for line in found["warnings"]) == 2


@pytest.mark.long
@pytest.mark.parametrize("param", [("mix",), ("imbalance", "--range", "1|2")], ids=["method", "task"])
def test_a_sweep_looks_at_the_test_split_on_request_alone(call, param):
    command = ("sweep", "-m", "plain", "-d", "marked", "--points", 2, "--workers", 1, "-p", *param)
    shown = call(*command).stdout
    assert "the test split was not scored (--test)" in " ".join(shown.split())
    assert "test (analysis only)" not in shown
    validated = json.loads(call(*command, "--json").stdout)
    assert (len(validated["test"]), validated["test_evaluations"]) == (0, 0)
    tested = json.loads(call(*command, "--test", "--json").stdout)
    assert tested["validation"] == validated["validation"]
    assert tested["test_evaluations"] == 2
    assert "evaluations on this test split so far: 2" in " ".join(call(*command, "--test").stdout.split())


def test_what_cannot_be_swept_is_said(call):
    for arguments, text in (
        (("-m", "variance", "-p", "labeled_ratio"), "labelled_ratio"),
        (("-m", "variance", "-p", "labelled_ratio"), "give --range"),
        (("-m", "variance", "-p", "labelled_ratio", "--range", "0.5|2.0"), "leaves the legal values: 0..1"),
        (("-m", "variance", "-p", "last", "--range", "8|10"), "both in the task"),
        (("-m", "mcfs", "-p", "neighbours", "--range", "0|5"), "leaves the legal values: "),
        (("-m", "variance", "-m", "variance", "-p", "step", "--range", "1|5"), "given twice"),
        (("-m", "mcfs", "-m", "variance", "-p", "neighbours", "--range", "3|5"), "give one --method"),
    ):
        refused = call("sweep", *arguments, *SWEEP)
        assert refused.returncode == 2, (arguments, refused.stdout)
        assert text in refused.stderr.replace("\n", " "), refused.stderr


@pytest.mark.long
def test_values_that_are_measured_by_different_metrics_make_no_curve(call, tmp_path):
    y = (np.random.default_rng(0).random((40, 2)) < 0.5).astype(int)
    np.savez(tmp_path / "sets.npz", X=y + 0.1 * np.random.default_rng(1).normal(size=y.shape), y=y)
    data = ("-d", f'npz(path="{tmp_path / "sets.npz"}")', "-t", "coding(folds=2)", "--workers", 1)
    done = call("sweep", "-m", "llc(neighbours=5)", "-p", "average_precision", "--range", "area|eleven-point", *data)
    assert done.returncode == 2, done.stdout
    assert "from mAP to mAP_11pt" in done.stderr.replace("\n", " ")


@pytest.mark.long
def test_a_figure_that_cannot_be_drawn_costs_a_warning(call, tmp_path, monkeypatch):
    def fails(*given):
        raise ValueError("no pen")

    monkeypatch.setattr("zslplat.tuning.sweep.render", fails)
    for asked in (
        ("-m", "plain(mix=0.5)", "-d", "marked", "-p", "ridge", "--points", 2),
        ("-m", "variance", "-p", "labelled_ratio", "--range", "0.5|1.0", *SWEEP),
    ):
        done = call("sweep", *asked)
        assert done.returncode == 0, done.stderr
        assert "warning: the picture sweep.png is not drawn: ValueError: no pen\n" in done.stderr
        assert "figure not drawn; table " in " ".join(done.stdout.split())
        assert not list(tmp_path.rglob("sweep.png"))
    assert len(list((tmp_path / "mlruns" / "evaluations").glob("*/artifacts/sweep.csv"))) == 2


def test_a_sweep_of_several_methods_names_the_highest_mean_at_each_value():
    result = SweepResult("shots", "zsl", [0, 1, 5], "per_class_accuracy")
    result.validation = {"ridge-prototypes": [0.7, 0.7, 0.7], "class-means": [0.1, 0.7, 0.9]}
    experiment = Experiment(Spec("ridge-prototypes"), Spec("shared-space"), Spec("zsl"), {})
    sweep = Sweep(result, SweptParameter("shots", Choice((0, 1, 5)), True), experiment, resolve_settings({}))
    assert sweep.leads == [("ridge-prototypes", [0, 1]), ("class-means", [5])]
    result.values = [None, 1, 5]
    assert "none" in str(sweep)
    assert "nan" not in str(sweep)
    result.values = [0, 1, 5]
    line = "highest mean of validation, without an interval: ridge-prototypes at shots 0, 1; class-means at shots 5"
    assert line in str(sweep)
    result.test = {"ridge-prototypes": [0.6, 0.6, 0.6], "class-means": [None, 0.9, 0.9]}
    assert sweep.leads == [("ridge-prototypes", [0, 1]), ("class-means", [5])]
    result.validation = {"class-means": [0.1, 0.7, 0.9]}
    assert "highest" not in str(sweep)
