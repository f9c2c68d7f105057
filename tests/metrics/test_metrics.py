"""Accuracies, top-k, H, confusion and average precision against independent references."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hmean
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    top_k_accuracy_score,
)

from zslplat.metrics.accuracy import (
    class_accuracies,
    confusion_counts,
    harmonic_mean,
    per_class_accuracy,
    per_class_top_k,
    sample_accuracy,
    true_ranks,
)
from zslplat.metrics.ranking import Ranking, class_rankings, mean_average_precision


def labels(seed, n=300, c=7):
    rng = np.random.default_rng(seed)
    y = rng.choice(c, n, p=rng.dirichlet(np.full(c, 2.0)))
    scores = rng.normal(size=(n, c)) + np.eye(c)[y]
    return y, scores


@pytest.mark.parametrize("seed", range(5))
def test_accuracies_agree_with_scikit_learn(seed):
    y, scores = labels(seed)
    predicted = scores.argmax(1)
    assert per_class_accuracy(y, predicted) == pytest.approx(balanced_accuracy_score(y, predicted), abs=1e-14)
    assert sample_accuracy(y, predicted) == pytest.approx(accuracy_score(y, predicted), abs=1e-14)
    assert np.array_equal(confusion_counts(y, predicted, 7), confusion_matrix(y, predicted, labels=range(7)))


def test_classes_without_rows_stay_out_of_the_mean():
    y, predicted = np.array([0, 0, 3]), np.array([0, 1, 3])
    accuracies, counts = class_accuracies(y, predicted, 5)
    assert counts.tolist() == [2, 0, 0, 1, 0]
    np.testing.assert_array_equal(accuracies, [0.5, np.nan, np.nan, 1.0, np.nan])
    assert per_class_accuracy(y, predicted) == 0.75


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_top_k_agrees_with_scikit_learn_class_by_class(k):
    y, scores = labels(1)
    each = [top_k_accuracy_score(y[y == j], scores[y == j], k=k, labels=range(7)) for j in np.unique(y)]
    assert per_class_top_k(scores, y, k) == pytest.approx(np.mean(each), abs=1e-14)


def test_place_zero_is_the_argmax_even_with_ties():
    rng = np.random.default_rng(0)
    scores, y = rng.integers(0, 3, (200, 5)).astype(float), rng.integers(0, 5, 200)
    assert np.array_equal(true_ranks(scores, y) == 0, scores.argmax(1) == y)
    assert np.array_equal(np.sort(np.stack([true_ranks(scores, np.full(200, j)) for j in range(5)]), 0)[:, 0], range(5))


def test_harmonic_mean_agrees_with_scipy():
    for u, s in ((0.2, 0.7), (1.0, 1.0), (0.01, 0.9)):
        assert harmonic_mean(u, s) == pytest.approx(hmean([u, s]), abs=1e-15)
    assert harmonic_mean(0.0, 0.0) == harmonic_mean(0.0, 0.5) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_without_ties_agrees_with_scikit_learn(seed):
    y, scores = labels(seed)
    each = [average_precision_score(y == j, scores[:, j]) for j in np.unique(y)]
    assert mean_average_precision(class_rankings(scores, y)) == pytest.approx(np.mean(each), abs=1e-13)


def plain_average_precision(relevant):
    places = np.flatnonzero(relevant)
    return np.mean([(i + 1) / (place + 1) for i, place in enumerate(places)])


@pytest.mark.parametrize(
    ("scores", "relevant"),
    [
        ([1, 1, 1, 1, 1], [1, 0, 1, 0, 0]),
        ([3, 2, 2, 2, 1, 1], [0, 1, 0, 1, 1, 0]),
        ([2, 2, 1, 1, 1, 0], [1, 1, 0, 0, 1, 0]),
        ([5, 4, 3, 2, 1, 0], [0, 1, 0, 0, 1, 1]),
    ],
)
def test_ties_count_with_the_mean_over_all_their_orders(scores, relevant):
    scores, relevant = np.array(scores, dtype=float), np.array(relevant, dtype=bool)
    orders = [o for o in permutations(range(len(scores))) if (np.diff(scores[list(o)]) <= 0).all()]
    mean = np.mean([plain_average_precision(relevant[list(o)]) for o in orders])
    assert Ranking.of(scores, relevant).average_precision() == pytest.approx(mean, abs=1e-14)
    cumulated = np.mean([np.cumsum(relevant[list(o)]) / np.arange(1, len(scores) + 1) for o in orders], axis=0)
    np.testing.assert_allclose(Ranking.of(scores, relevant).precision_by_rank(), cumulated, atol=1e-14)


def test_average_precision_ignores_the_order_of_rows_with_ties():
    rng = np.random.default_rng(0)
    scores, relevant = rng.integers(0, 4, 60).astype(float), rng.random(60) < 0.3
    value = Ranking.of(scores, relevant).average_precision()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        assert Ranking.of(scores[order], relevant[order]).average_precision() == pytest.approx(value, abs=1e-13)


def test_nothing_relevant_has_no_average_precision():
    assert np.isnan(Ranking.of(np.arange(3.0), np.zeros(3, dtype=bool)).average_precision())
