"""Task coding: splits by sample, validation inside the training half, nothing of the test rows in between."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from zslplat.data.dataset import Dataset
from zslplat.data.sets.digits import Digits
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat.families.coding.methods.kernel_coding import KernelSparseCoding
from zslplat.families.coding.methods.lc_ksvd import LCKSVD
from zslplat.families.coding.task import Coding


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 5
    X = rng.normal(size=(5, 8))[y] + 0.5 * rng.normal(size=(150, 8))
    return Dataset("toy", X / np.linalg.norm(X, axis=1, keepdims=True), y, tuple("abcde"))


def run(task, method, problem, statistics=None):
    ((_, outputs),) = task.run(method, problem, statistics or {})
    return outputs


def test_drawn_splits_hold_every_class_on_both_sides_and_differ(dataset):
    rows = []
    for split in (1, 2):
        problem = Coding(split=split, train_per_class=12).test(dataset)
        assert np.bincount(problem.inputs["y"]).tolist() == [12] * 5
        assert np.bincount(problem.truth["y_pool"]).tolist() == [18] * 5
        rows.append(set(problem.truth["row_pool"].tolist()))
    assert rows[0] != rows[1]
    again = Coding(split=1, train_per_class=12).test(dataset)
    assert set(again.truth["row_pool"].tolist()) == rows[0]
    assert set(Coding(split=1, train_per_class=12).test(dataset, seed=7).truth["row_pool"].tolist()) != rows[0]


def test_own_splits_are_used(dataset):
    own = Dataset(
        "own", dataset.X, dataset.y, dataset.class_names, splits={"train": np.arange(100), "test": np.arange(100, 150)}
    )
    assert sorted(Coding().test(own).truth["row_pool"]) == list(range(100, 150))
    with pytest.raises(DataError, match="its own"):
        Coding(split=2).test(own)


def test_validation_holds_out_each_training_row_once_and_no_test_row(dataset):
    task = Coding(folds=4)
    test = set(task.test(dataset).truth["row_pool"].tolist())
    held = [problem.truth["row_pool"] for problem in task.validation(dataset)]
    assert len(held) == 4
    joined = np.concatenate(held)
    assert len(joined) == len(set(joined.tolist())) == 150 - len(test)
    assert not test & set(joined.tolist())
    for problem in task.validation(dataset):
        rows = {tuple(row) for row in problem.inputs["X"]}
        assert not rows & {tuple(row) for row in dataset.X[sorted(test)]}
        assert not rows & {tuple(row) for row in problem.inputs["X_pool"]}


def test_groups_stay_together(dataset):
    grouped = Dataset("groups", dataset.X, dataset.y, dataset.class_names, groups=np.arange(150) // 10)
    task = Coding(folds=3)
    for problem in (task.test(grouped), *task.validation(grouped)):
        held = set((problem.truth["row_pool"] // 10).tolist())
        trained = {int(np.flatnonzero((row == dataset.X).all(axis=1))[0]) // 10 for row in problem.inputs["X"]}
        assert not held & trained


@pytest.mark.parametrize("method", [KernelSparseCoding(gamma=0.01), LCKSVD(atoms=40, nonzeros=4)])
def test_prepared_and_unprepared_runs_agree(dataset, method):
    task = Coding()
    problem = task.test(dataset)
    statistics = task.prepare(method, problem, method.space)
    prepared = run(task, method, problem, statistics)["scores"]
    np.testing.assert_allclose(prepared, run(task, method, problem)["scores"], atol=1e-7)


def test_scores_become_metrics_and_a_table_in_the_order_of_the_rows(dataset):
    task = Coding(ranking=True)
    problem = task.test(dataset)
    y = problem.truth["y_pool"]
    scores = np.eye(5)[y]
    scores[:10] = np.eye(5)[(y[:10] + 1) % 5]
    outcome = task.score(problem, {"scores": scores}, {}, full=True)
    assert outcome.metrics["accuracy"] == pytest.approx(1 - 10 / len(y))
    assert outcome.metrics["mAP"] < 1
    table = outcome.tables["predictions"].columns
    assert list(table) == ["row", "true", "predicted", "score"]
    assert table["row"] == sorted(table["row"])
    names = np.array(dataset.class_names)[dataset.y[table["row"]]]
    assert list(names) == table["true"]
    assert sum(t != p for t, p in zip(table["true"], table["predicted"], strict=True)) == 10
    assert task.chance(problem) == 0.2


def test_map_is_the_mean_precision_of_each_class_against_the_rest(dataset):
    task = Coding(ranking=True)
    problem = task.test(dataset)
    y = problem.truth["y_pool"]
    scores = run(task, KernelSparseCoding(gamma=0.01), problem)["scores"]
    expected = np.mean([average_precision_score(y == j, scores[:, j]) for j in range(5)])
    assert task.score(problem, {"scores": scores}, {}, full=False).metrics["mAP"] == pytest.approx(expected)
    assert "mAP" not in Coding().score(problem, {"scores": scores}, {}, full=False).metrics


def test_codes_of_the_scored_rows_are_exported_in_the_order_of_the_rows(dataset, tmp_path):
    task = Coding()
    problem = task.test(dataset)
    method = KernelSparseCoding(gamma=0.01, atoms=20, dictionary="class-k-means", learning="free", iterations=2)
    run(task, method, problem)
    task.export(method, problem, tmp_path)
    with np.load(tmp_path / "scored_codes.npz") as file:
        np.testing.assert_array_equal(file["row"], np.sort(problem.truth["row_pool"]))
        np.testing.assert_allclose(file["codes"], method.transform(dataset.X[file["row"]]), atol=1e-9)
        assert file["codes"].shape == (75, 20)


def test_bad_data_is_named(dataset):
    one = Dataset("one", dataset.X[:6], np.array([0, 0, 0, 1, 1, 2]), ("a", "b", "c"))
    with pytest.raises(DataError, match="class 'c' has 1 rows"):
        Coding().test(one)
    two = Dataset("two", dataset.X[:8], np.array([0, 0, 0, 0, 1, 1, 1, 1]), ("a", "b"))
    with pytest.raises(DataError, match="ask for fewer folds"):
        Coding(folds=9).validation(two)
    zero_shot = Dataset("seen", dataset.X, dataset.y, dataset.class_names, splits={"train": np.arange(9)})
    with pytest.raises(DataError, match="'train' and 'test'"):
        Coding().test(zero_shot)


def test_a_class_with_one_training_row_is_never_held_out(dataset):
    y = np.r_[np.zeros(10, dtype=int), np.ones(10, dtype=int), 2, 2]
    data = Dataset("rare", dataset.X[:22], y, ("a", "b", "c"))
    for problem in Coding(folds=3).validation(data):
        assert (problem.inputs["y"] == 2).sum() == 1
        assert 2 not in problem.truth["y_pool"]


def test_digits_are_ten_classes_of_unit_rows():
    digits = Digits().load(DataPlaces())
    assert digits.X.shape == (1797, 64)
    np.testing.assert_allclose(np.linalg.norm(digits.X, axis=1), 1, atol=1e-6)
    assert Digits(scale="pixels").load(DataPlaces()).X.max() == 1
