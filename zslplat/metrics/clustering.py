"""How well clusters agree with classes: accuracy under the best matching, and normalised mutual information."""

from __future__ import annotations

import numpy as np


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
