"""Task coding on a data set's own folds: each is tested once, none is divided, nothing of it is seen before."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.data.dataset import Dataset, row_folds
from zslplat.data.sets.digits import DigitSets
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.families.coding.task import Coding


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    fold = rng.permutation(np.arange(200) % 10)
    splits = {f"fold-{k}": np.flatnonzero(fold == k - 1) for k in range(1, 11)}
    return Dataset("ten", rng.normal(size=(4, 6))[y] + rng.normal(size=(200, 6)), y, tuple("abcd"), splits=splits)


@pytest.mark.parametrize("split", [1, 7, 10])
def test_a_split_tests_its_fold_and_validates_on_whole_folds_of_the_others(dataset, split):
    task = Coding(split=split, folds=3)
    test = task.test(dataset)
    tested = set(dataset.splits[f"fold-{split}"].tolist())
    assert set(test.truth["row_pool"].tolist()) == tested
    assert len(test.inputs["X"]) == 180
    held = [set(problem.truth["row_pool"].tolist()) for problem in task.validation(dataset)]
    assert len(held) == 3
    assert set().union(*held) == set(range(200)) - tested
    assert sum(map(len, held)) == 180
    for rows in row_folds(dataset):
        assert sum(bool(set(rows.tolist()) & part) for part in held) == (set(rows.tolist()) != tested)
    for problem, part in zip(task.validation(dataset), held, strict=True):
        trained = {int(np.flatnonzero((row == dataset.X).all(axis=1))[0]) for row in problem.inputs["X"]}
        assert trained == set(range(200)) - tested - part


def test_more_validation_folds_than_there_are_take_each_by_itself(dataset):
    assert len(Coding(folds=20).validation(dataset)) == 9


def test_a_single_fold_is_refused(dataset):
    whole = Dataset("whole", dataset.X, dataset.y, dataset.class_names, splits={"fold-1": np.arange(200)})
    with pytest.raises(DataError, match="one fold of its own"):
        Coding().validation(whole)


def test_two_folds_leave_one_that_is_divided_by_class():
    data = DigitSets(rows=400, parts="folds").load(DataPlaces())
    two = Dataset(
        "two", np.asarray(data.X), data.y, data.class_names, splits={k: data.splits[k] for k in ("fold-1", "fold-2")}
    )
    problems = Coding(folds=3).validation(two)
    held = np.concatenate([problem.truth["row_pool"] for problem in problems])
    assert len(problems) == 3
    assert set(held.tolist()) <= set(data.splits["fold-2"].tolist())


def test_folds_that_do_not_serve_are_named(dataset):
    with pytest.raises(UsageError, match="10 folds of its own; split=11"):
        Coding(split=11).test(dataset)
    by_class = {f"fold-{k + 1}": np.flatnonzero(dataset.y == k) for k in range(4)}
    with pytest.raises(DataError, match="1 classes are in 'test' but not in 'train', first 'a'"):
        Coding().test(Dataset("by class", dataset.X, dataset.y, dataset.class_names, splits=by_class))
