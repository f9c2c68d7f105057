"""Accuracy of classes and of clusters, harmonic mean, confusion matrix, and warnings of scores that say nothing.

| symbol | here | shape | meaning |
|---|---|---|---|
| y | ``y`` | (n,) | true class, an index into the columns of the scores |
| y-hat | ``predicted`` | (n,) | predicted class |
| F | ``scores`` | (n, c) | compatibility of every row with every class, higher is better |
| n_c | ``counts`` | (c,) | rows of class c |

Classes without a row have no accuracy (NaN) and stay out of every mean. Protocol: Xian, Lampert, Schiele, Akata,
"Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the Ugly".

Clusters agree with classes by the accuracy under the best matching, or by normalised mutual information.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from zslplat.errors import OutcomeWarning


def class_accuracies(y: np.ndarray, predicted: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the accuracy of each of the ``c`` classes, NaN where a class has no row, and the rows per class."""
    counts = np.bincount(y, minlength=c)
    correct = np.bincount(y[predicted == y], minlength=c)
    with np.errstate(invalid="ignore"):
        return correct / np.where(counts > 0, counts, np.nan), counts


def per_class_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean over classes that occur in ``y`` of the share of their rows that is predicted rightly."""
    accuracies, _ = class_accuracies(y, predicted, int(y.max()) + 1)
    return float(np.nanmean(accuracies))


def next_best(scores: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the class (n,) with the highest score beside ``best`` (n,); ``best`` itself where it is the only one."""
    others = np.array(scores, dtype=np.float64)
    np.put_along_axis(others, best[:, None], -np.inf, axis=1)
    return np.argmax(others, axis=1) if scores.shape[1] > 1 else best


def sample_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the share of rows that is predicted rightly."""
    return float(np.mean(predicted == y))


def true_ranks(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the place (n,) of the true class among the scores of its row, 0 for the best.

    Among equal scores the lower class index comes first, as in ``argmax``; so place 0 is exactly a right prediction.
    """
    right = np.take_along_axis(scores, y[:, None], axis=1)
    earlier = np.arange(scores.shape[1])[None, :] < y[:, None]
    return np.asarray(((scores > right) | ((scores == right) & earlier)).sum(axis=1))


def per_class_top_k(scores: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mean over classes of the share of rows whose true class is among the ``k`` best."""
    hit = true_ranks(scores, y) < k
    return per_class_accuracy(y, np.where(hit, y, -1))


def harmonic_mean(u: float, s: float) -> float:
    """Return H = 2 u s / (u + s), 0 where both are 0."""
    return 2 * u * s / (u + s) if u + s > 0 else 0.0


def confusion_counts(y: np.ndarray, predicted: np.ndarray, c: int) -> np.ndarray:
    """Return the counts (c, c): rows of the matrix are true classes, columns are predicted ones."""
    return np.bincount(y * c + predicted, minlength=c * c).reshape(c, c)


def cluster_counts(true: np.ndarray, clusters: np.ndarray, classes: int) -> np.ndarray:
    """Return the rows (k, classes) of each cluster by class; ``true`` and ``clusters`` (n,) count from 0."""
    k = int(clusters.max(initial=0)) + 1
    flat = np.bincount(clusters.astype(np.int64) * classes + true, minlength=k * classes)
    return flat.reshape(k, classes)


def matched_classes(counts: np.ndarray) -> np.ndarray:
    """Return the class (k,) of each cluster under the one-to-one matching that agrees with most rows (Hungarian).

    -1 for a cluster without a class, where there are more clusters than classes.
    """
    from scipy.optimize import linear_sum_assignment

    clusters, classes = linear_sum_assignment(counts, maximize=True)
    matched = np.full(len(counts), -1, dtype=np.int64)
    matched[clusters] = classes
    return matched


def clustering_accuracy(true: np.ndarray, clusters: np.ndarray, classes: int) -> float:
    """Return the share of rows whose cluster is matched to their class, under the best one-to-one matching."""
    counts = cluster_counts(true, clusters, classes)
    matched = matched_classes(counts)
    paired = np.flatnonzero(matched >= 0)
    return float(counts[paired, matched[paired]].sum() / len(true))


def normalised_mutual_information(true: np.ndarray, clusters: np.ndarray, normaliser: str = "max") -> float:
    """Return I(true, clusters) divided by the larger entropy (``max``), or their ``arithmetic`` mean.

    The clustering code that feature selection papers share (D. Cai's MutualInfo) divides by the larger entropy.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(true, clusters, average_method=normaliser))


def expected_random_accuracy(true: np.ndarray, classes: int, draws: int = 50) -> float:
    """Return the mean accuracy of clusters drawn uniformly at random; above 1 / classes, because of the matching."""
    generator = np.random.default_rng([0, 6])
    drawn = generator.integers(0, classes, size=(draws, len(true)))
    return float(np.mean([clustering_accuracy(true, clusters, classes) for clusters in drawn]))


# Codes of the checks under which these warnings are shown.
ONE_CLASS, EQUAL, NO_CODES = "ZSP201", "ZSP202", "ZSP212"


def look_at_scores(scores: np.ndarray, y: np.ndarray, request: str = "") -> None:
    """Warn where scores (m, c) do not tell the classes apart in any row, or give one class to all rows of several.

    ``y`` (m,) are the true classes; where all rows are of one class, giving them one is no reason to warn. ``request``
    names what was scored, where a task scores several things.
    """
    if scores.shape[0] < 2 or scores.shape[1] < 2:
        return
    where = f" ({request})" if request else ""
    if (scores.max(axis=1) == scores.min(axis=1)).all():
        _warn(f"all scores are equal{where}: no row prefers any class")
        return
    predicted = scores.argmax(axis=1)
    if (predicted == predicted[0]).all() and (y != y[0]).any():
        _warn(f"all rows are given one class{where}", ONE_CLASS)


def look_at_label_scores(scores: np.ndarray, names: Sequence[str]) -> None:
    """Warn where scores (m, c) rank no row before another for some of the labels ``names`` (c,), or for all."""
    if len(scores) < 2:
        return
    constant = np.flatnonzero(scores.max(axis=0) == scores.min(axis=0))
    if len(constant) == scores.shape[1]:
        _warn("all scores are equal: no row is ranked before another for any label")
    elif len(constant):
        more = f" and {len(constant) - 1} more labels" if len(constant) > 1 else ""
        _warn(f"all rows have the same score for label {names[constant[0]]!r}{more}")


def look_at_rankings(scores: np.ndarray) -> None:
    """Warn where scores (m, q) are equal over the m rows that every query ranks."""
    if scores.shape[0] > 1 and (scores.max(axis=0) == scores.min(axis=0)).all():
        _warn("all scores are equal: no query prefers any row")


def look_at_ranked_features(scores: np.ndarray) -> None:
    """Warn where the scores (d,) of all features are equal."""
    if len(scores) > 1 and scores.max() == scores.min():
        _warn("all features have the same score: their ranking is the order of the columns")


def look_at_codes(codes: np.ndarray) -> None:
    """Warn where all codes (m, N) are empty."""
    if len(codes) and not codes.any():
        _warn("all codes are empty: no row is told from any other", NO_CODES)


def look_at_similarities(ties: int, queries: int) -> None:
    """Warn where all other rows are equally similar to every query; ``ties`` counts the queries for which they are."""
    if queries and ties == queries:
        _warn("all scores are equal: no query prefers any row")


def _warn(text: str, code: str = EQUAL) -> None:
    warnings.warn(OutcomeWarning(text, code), stacklevel=3)
