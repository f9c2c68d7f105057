"""Task coding on rows with several labels: mAP, splits that share out every label, entries that are not counted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from zslplat.data.dataset import Dataset
from zslplat.data.sets.digits import DigitSets
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, OutcomeWarning, UsageError
from zslplat.families.coding.methods.kernel_coding import KernelLLC
from zslplat.families.coding.methods.lc_ksvd import LCKSVD
from zslplat.families.coding.sample_splits import deal_rows
from zslplat.families.coding.task import Coding
from zslplat.metrics.intervals import draws
from zslplat.metrics.ranking import average_precisions, chance_precisions, eleven_point_precisions


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(1)
    y = (rng.random((200, 5)) < [0.05, 0.1, 0.2, 0.4, 0.5]).astype(np.int64)
    X = y @ rng.normal(size=(5, 10)) + 0.5 * rng.normal(size=(200, 10))
    return Dataset("sets", X, np.where(rng.random(y.shape) < 0.05, -1, y), tuple("abcde"))


@pytest.fixture(scope="module")
def digit_sets():
    return DigitSets(rows=400).load(DataPlaces())


def run(task, method, problem, statistics=None):
    ((_, outputs),) = task.run(method, problem, statistics or {})
    return outputs


def test_the_primary_metric_hangs_on_the_labels_and_not_on_the_name(dataset):
    single = Dataset("single", dataset.X, np.arange(200) % 5, dataset.class_names)
    assert Coding().suited(single).primary.name == "accuracy"
    assert Coding().suited(dataset).primary.name == "mAP"
    task = Coding(average_precision="eleven-point")
    assert task.suited(dataset).primary.name == "mAP_11pt"
    assert task.suited(task.test(dataset)).primary.name == "mAP_11pt"
    assert task.suited(task.test(single)).primary.name == "accuracy"
    assert task.primary.name == Coding.primary.name == "accuracy"


def test_scores_become_both_forms_of_map_and_tables(dataset):
    task = Coding()
    problem = task.test(dataset)
    truth = problem.truth["y_pool"]
    outputs = run(task, KernelLLC(neighbours=10), problem, task.prepare(KernelLLC(neighbours=10), problem, {}))
    outcome = task.score(problem, outputs, {}, full=True)
    scores = outputs["scores"]
    assert outcome.metrics["mAP"] == pytest.approx(average_precisions(scores, truth).mean())
    assert outcome.metrics["mAP_11pt"] == pytest.approx(eleven_point_precisions(scores, truth).mean())
    per_class = outcome.tables["per_class"].columns
    assert per_class["class"] == list("abcde")
    np.testing.assert_allclose(per_class["average_precision"], average_precisions(scores, truth))
    assert per_class["positives"] == (truth == 1).sum(axis=0).tolist()
    assert per_class["rows"] == (truth >= 0).sum(axis=0).tolist()
    predictions = outcome.tables["predictions"].columns
    assert list(predictions) == ["row", "true", "predicted", "score"]
    for row, true in zip(predictions["row"], predictions["true"], strict=True):
        assert true == "+".join(np.array(list("abcde"))[dataset.y[row] == 1])
    label_scores = outcome.tables["label_scores"].columns
    np.testing.assert_array_equal(label_scores["score of c"], scores[np.argsort(problem.truth["row_pool"]), 2])
    assert task.chance(problem) == pytest.approx(chance_precisions(truth).mean())


def test_rows_that_do_not_count_for_a_label_are_neither_learned_from_nor_scored(dataset):
    """A method that takes one class per row is fitted label by label, on the rows that count."""
    fits = []

    class Noting(LCKSVD):
        def fit(self, X, y, *, statistics=None):
            fits.append((len(X), y.copy()))
            return super().fit(X, y)

    task = Coding()
    problem = task.test(dataset)
    y = problem.inputs["y"]
    method = Noting(nonzeros=5, iterations=2)
    assert task.prepare(method, problem, {}) == {}
    scores = run(task, method, problem)["scores"]
    assert scores.shape == problem.truth["y_pool"].shape
    # The first label last, so that its matrices are kept.
    for label, (count, labels) in zip(reversed(range(5)), fits, strict=True):
        counted = y[:, label] >= 0
        assert count == counted.sum()
        np.testing.assert_array_equal(labels, y[counted, label])
    assert task.score(problem, {"scores": scores}, {}, full=False).metrics["mAP"] > task.chance(problem) + 0.2
    other = np.where(problem.truth["y_pool"] < 0, 1e6, scores)
    found, same = (task.score(problem, {"scores": s}, {}, full=False).metrics for s in (scores, other))
    assert found == same


def test_prepared_and_unprepared_runs_agree(dataset):
    task, method = Coding(), KernelLLC(neighbours=8)
    problem = task.test(dataset)
    prepared = run(task, method, problem, task.prepare(method, problem, method.space))
    for name, scores in run(task, method, problem).items():
        np.testing.assert_allclose(prepared[name], scores, atol=1e-7)


def test_drawn_splits_and_folds_share_out_every_label_and_hold_out_each_row_once(dataset):
    task = Coding(folds=4)
    test = task.test(dataset)
    held = [problem.truth["row_pool"] for problem in task.validation(dataset)]
    trained = np.setdiff1d(np.arange(200), test.truth["row_pool"])
    joined = np.concatenate(held)
    assert len(joined) == len(set(joined.tolist()))
    assert set(joined.tolist()) <= set(trained.tolist())
    positives = (dataset.y == 1).sum(axis=0)
    np.testing.assert_allclose((dataset.y[trained] == 1).sum(axis=0), positives / 2, atol=2)
    for rows in held:
        np.testing.assert_allclose((dataset.y[rows] == 1).sum(axis=0), positives / 8, atol=2)
    again = Coding(folds=4).test(dataset)
    np.testing.assert_array_equal(again.truth["row_pool"], test.truth["row_pool"])
    assert set(task.test(dataset, seed=3).truth["row_pool"]) != set(test.truth["row_pool"])


def test_groups_stay_together_and_a_label_of_one_unit_is_trained_on():
    rng = np.random.default_rng(0)
    labels = (rng.random((120, 3)) < 0.3).astype(np.int64)
    labels[:, 2] = 0
    labels[44, 2] = 1
    groups = np.arange(120) // 4
    part = deal_rows(labels, groups, np.full(3, 1 / 3), np.random.default_rng(1))
    assert all(len(set(part[groups == g])) == 1 for g in range(30))
    assert part[44] == -1
    assert set(part[groups == 11]) == {-1}
    assert (np.bincount(part[part >= 0]) >= 30).all()


def test_own_validation_rows_are_the_one_validation_problem(digit_sets):
    task = Coding()
    (validation,) = task.validation(digit_sets)
    assert set(validation.truth["row_pool"]) == set(digit_sets.splits["val"])
    assert len(validation.inputs["X"]) == len(digit_sets.splits["train"])
    test = task.test(digit_sets)
    assert set(test.truth["row_pool"]) == set(digit_sets.splits["test"])
    assert len(test.inputs["X"]) == len(digit_sets.splits["train"]) + len(digit_sets.splits["val"])


def test_codes_rank_the_labels_of_digit_sets_better_than_a_linear_classifier(digit_sets):
    task = Coding()
    problem = task.test(digit_sets)
    found = task.score(problem, run(task, KernelLLC(neighbours=100), problem), {}, full=False).metrics["mAP"]
    X, y = problem.inputs["X"], problem.inputs["y"]
    control = np.empty(problem.truth["y_pool"].shape)
    for j in range(10):
        own = y[:, j] >= 0
        fitted = LogisticRegression(C=10, max_iter=1000).fit(X[own], y[own, j])
        control[:, j] = fitted.decision_function(problem.inputs["X_pool"])
    linear = average_precisions(control, problem.truth["y_pool"]).mean()
    assert found > linear > task.chance(problem) + 0.3


def test_outcomes_give_the_metrics_again_and_draw_rows(dataset):
    task = Coding()
    problem = task.test(dataset)
    rng = np.random.default_rng(0)
    outputs = {
        name.replace("y_pool", "scores"): (y == 1) + rng.normal(size=y.shape).round(1)  # with ties
        for name, y in problem.truth.items()
        if name.startswith("y_pool")
    }
    rows = task.outcomes(problem, outputs, {})
    assert sum(column.nbytes for column in rows.columns.values()) <= (5 * 5 + 12) * len(rows)
    ids, strata = task.units(rows)
    replicates = np.concatenate(
        [task.resampled(rows, counts)["mAP"] for counts in draws(ids, strata, 200)], dtype=np.float64
    )
    metric = task.score(problem, outputs, {}, full=False).metrics["mAP"]
    low, high = np.quantile(replicates, [0.025, 0.975])
    assert low < metric < high
    ones = task.resampled(rows, np.ones((1, len(rows)), dtype=np.int64))
    assert ones["mAP_11pt"][0] == pytest.approx(task.score(problem, outputs, {}, full=False).metrics["mAP_11pt"])


def test_labels_that_rank_nothing_are_reported(dataset):
    task = Coding()
    problem = task.test(dataset)
    scores = np.random.default_rng(0).normal(size=problem.truth["y_pool"].shape)
    scores[:, 1] = 0.5
    with pytest.warns(OutcomeWarning, match="same score for label 'b'"):
        task.score(problem, {"scores": scores}, {}, full=False)
    with pytest.warns(OutcomeWarning, match="for any label"):
        task.score(problem, {"scores": 0 * scores}, {}, full=False)


def test_what_cannot_be_done_with_several_labels_is_named(dataset):
    with pytest.raises(DataError, match="use train_share"):
        Coding(train_per_class=5).test(dataset)
    empty = dataclasses.replace(dataset, y=np.where(np.arange(5) == 3, 0, dataset.y))
    with pytest.raises(DataError, match="label 'd': no training row has it"):
        Coding().test(empty)
    with pytest.raises(DataError, match="expected 1 for labels"):
        dataclasses.replace(dataset, y=dataset.y + 1)
    with pytest.raises(DataError, match="for 5 classes"):
        dataclasses.replace(dataset, y=dataset.y[:, :4])
    with pytest.raises(UsageError):
        Coding(average_precision="interpolated")
