"""Accuracy over samples and over classes, top-k, the harmonic mean, and the confusion matrix.

| symbol | here | shape | meaning |
|---|---|---|---|
| y | ``y`` | (n,) | true class, an index into the columns of the scores |
| y-hat | ``predicted`` | (n,) | predicted class |
| F | ``scores`` | (n, c) | compatibility of every row with every class, higher is better |
| n_c | ``counts`` | (c,) | rows of class c |

Classes without a row have no accuracy (NaN) and stay out of every mean. Protocol: Xian, Lampert, Schiele, Akata,
"Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the Ugly".
"""

from __future__ import annotations

import numpy as np


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
