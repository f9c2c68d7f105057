"""Tables have of each data set the metric that its task is tuned by there, and name what has none."""

import json

import pytest
from support import lines_of

pytestmark = pytest.mark.long

SUITE = """
trials = 1
repeats = 1
workers = 1
differences = [["bags", "nearest"]]
only_tested = ["coding"]
[[data]]
name = "digits"
dataset = "digits"
[[data]]
name = "sets"
dataset = "digit-sets"
[[row]]
name = "nearest"
method = "kbow(atoms=10)"
tasks = ["coding(folds=2, train_per_class=20)", "coding(folds=2, train_per_class=10)"]
[[row]]
name = "bags"
method = "kbow(atoms=20)"
tasks = ["coding(train_per_class=20, folds=2)", "coding(train_per_class=10, folds=2)"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, carried_out):
    folder = tmp_path_factory.mktemp("labels")
    (folder / "suite.toml").write_text(SUITE)
    done = carried_out(folder, "bench", "suite.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells_in_tables"] == 8
    return folder


def test_each_data_set_has_a_line_of_its_own_metric(folder):
    scores = lines_of(folder / "mlruns" / "suites" / "suite" / "scores.csv")
    assert {(line["data"], line["metric"]) for line in scores} == {("digits", "accuracy"), ("sets", "mAP")}
    assert len(scores) == 8


def test_rows_that_write_a_task_in_another_order_are_a_pair(folder):
    lines = lines_of(folder / "mlruns" / "suites" / "suite" / "differences.csv")
    found = {(line["data"], line["metric"], line["ahead"], line["behind"]) for line in lines}
    assert {("digits", "accuracy", "bags", "nearest"), ("sets", "mAP", "bags", "nearest")} <= found
    assert {line["task"] for line in lines} == {f"coding(folds=2, train_per_class={count})" for count in (20, 10)}


def test_a_metric_that_a_data_set_does_not_have_is_told_of(folder, call):
    (folder / "suite.toml").write_text(SUITE + '[metrics]\ncoding = ["accuracy"]\n')
    done = call("bench", folder / "suite.toml", "--store", folder / "mlruns")
    assert done.returncode == 1, done.stderr
    assert "metric 'accuracy' of task coding is recorded of no row of sets; recorded are" in done.stdout
    assert "4 of the suite's 8 cells" in done.stdout
