"""Task option ``imbalance``: unseen classes in a geometric series of sizes, the rest as it is."""

import json

import numpy as np
import pytest
from zero_shot_toys import Joint, assert_no_test_value, outcome, same_problems, toy, with_changed_test_data

from zslplat.errors import UsageError
from zslplat.evaluation.components import build_component
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.task import geometric_sizes, imbalanced_rows
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.spec import Spec

TASKS = [ZeroShot, GeneralizedZeroShot, Retrieval]
DATA = (
    "synthetic(rows_train=160, rows_test_seen=10, rows_test_unseen=60, dimensions=12, attributes=5, classes_seen=10, "
    "classes_unseen=3, classes_validation=2)"
)


def unseen_rows(problem):
    """The data set's rows of unseen classes that a problem scores, and their classes."""
    y = problem.truth["y_pool"]
    unseen = ~problem.inputs["seen"][y]
    return problem.truth["row_pool"][unseen], y[unseen]


@pytest.mark.parametrize("task", TASKS)
def test_sizes_of_unseen_classes_are_geometric_and_other_rows_untouched(task):
    data = toy(rows=100)
    whole, found = task().test(data), task(imbalance=16).test(data)
    rows, y = unseen_rows(found)
    assert np.sort(np.bincount(y)[np.bincount(y) > 0]).tolist() == [6, 12, 25, 50, 100]
    assert np.isin(rows, unseen_rows(whole)[0]).all()
    assert len(np.unique(rows)) == len(rows)
    seen = [np.sort(np.setdiff1d(p.truth["row_pool"], unseen_rows(p)[0])) for p in (whole, found)]
    assert np.array_equal(*seen)
    for name in ("X", "y", "S", "S_pool", "seen"):
        assert np.array_equal(whole.inputs[name], found.inputs[name]), name
    assert np.array_equal(found.inputs["X_pool"], data.X[found.truth["row_pool"]])
    same_problems(task().validation(data), task(imbalance=16).validation(data))


def test_nothing_changes_without_it_and_equal_classes_are_left_equal():
    data = toy(rows=40)
    for task in TASKS:
        same_problems([task().test(data)], [task(imbalance=None, imbalance_seed=3).test(data)])
        same_problems([task().test(data)], [task(imbalance=1).test(data)])


def test_one_makes_classes_equally_frequent():
    y = np.repeat([0, 1, 2], [30, 12, 7])
    kept = imbalanced_rows(np.arange(len(y)), y, 1.0, (0, 4, 0))
    assert np.bincount(y[kept]).tolist() == [7, 7, 7]


def test_the_longest_series_that_the_classes_can_fill_is_kept():
    assert geometric_sizes(np.array([100, 100, 100]), 100).tolist() == [100, 10, 2]
    assert geometric_sizes(np.array([100, 20, 40]), 4).tolist() == [40, 20, 10]
    assert geometric_sizes(np.array([9, 1, 50]), 1000).tolist() == [9, 1, 2]
    assert geometric_sizes(np.array([5]), 10).tolist() == [5]


def test_rows_depend_on_their_own_seed_alone():
    data = toy(rows=60)

    def rows(task_seed, study_seed):
        found = np.sort(ZeroShot(imbalance=8, imbalance_seed=task_seed).test(data, seed=study_seed).truth["row_pool"])
        return found.tolist(), np.sort(np.bincount(data.y[found])).tolist()

    assert rows(0, 0) == rows(0, 7)
    others = [rows(seed, 0) for seed in range(6)]
    assert len({tuple(found) for found, _ in others}) == 6
    assert len({tuple(sizes) for _, sizes in others}) == 1
    # The order of the classes is drawn, too: not always the same one is the most frequent.
    most = {int(np.bincount(data.y[found]).argmax()) for found, _ in others}
    assert len(most) > 1


@pytest.mark.parametrize("task", TASKS)
def test_validation_is_imbalanced_where_it_is_asked_for_and_sees_no_test_row(task):
    data = toy(rows=60)
    asked = task(imbalance=9, imbalanced_validation=True, folds=3)
    problems, plain = asked.validation(data), task(folds=3).validation(data)
    for problem, whole in zip(problems, plain, strict=True):
        assert_no_test_value(problem)
        counts = np.bincount(unseen_rows(problem)[1])
        counts = counts[counts > 0]
        assert counts.max() / counts.min() == pytest.approx(9, rel=0.2)
        assert problem.meta["classes"] == whole.meta["classes"]
        assert np.array_equal(problem.inputs["X"], whole.inputs["X"])
    same_problems(problems, asked.validation(with_changed_test_data(data)))


def test_transductive_methods_are_given_the_rows_that_are_left_only():
    data = toy(rows=60)
    problem = GeneralizedZeroShot(imbalance=6).test(data)
    method = Joint()
    outcome(GeneralizedZeroShot(), method, problem)
    batch = np.count_nonzero(~problem.inputs["seen"][problem.truth["y_pool"]])
    assert batch < 5 * 60
    assert batch in {shape[0] for shape, *_ in method.calls_}


@pytest.mark.parametrize("value", [0.5, 0, "much"])
def test_factors_below_one_are_refused(value):
    with pytest.raises(UsageError, match="imbalance"):
        ZeroShot(imbalance=value)


@pytest.mark.long
def test_tuning_reports_the_rows_that_are_left(call, tmp_path):
    done = call(
        *("tune", "-m", "eszsl", "-d", DATA, "-t", "zsl(imbalance=10)", "-n", 2, "--workers", 1, "-q", "--json"),
    )
    assert done.returncode == 0, done.stderr
    # 20 rows of each class: 20, 20 / sqrt(10) and 2 of them are left.
    tables = list((tmp_path / "mlruns").rglob("per_class.csv"))
    counts = [sorted(int(line.split(",")[1]) for line in path.read_text().splitlines()[1:]) for path in tables]
    assert [2, 6, 20] in counts
    assert call("tune", "-m", "eszsl", "-d", DATA, "-n", 2, "--workers", 1, "-q").returncode == 0
    # Another task scores other rows: they share no table.
    for task in ("zsl", "zsl(imbalance=10)"):
        rows = json.loads(call("compare", "-d", DATA, "-t", task, "--json").stdout)[0]["rows"]
        assert [row["method"] for row in rows] == ["eszsl"]


def test_tasks_that_score_all_rows_do_not_take_it():
    with pytest.raises(UsageError, match="imbalance"):
        build_component("tasks", Spec.parse("feature-selection(imbalance=10)"))
