"""What clusterings on selected features show: the metric of each, a class by vote, the curve over numbers of features.

Clusterings are (numbers of features, starts, m): the cluster of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from zslplat.figures import Curve, Table
from zslplat.metrics.clustering import cluster_counts, matched_classes


def each_clustering(clusters: np.ndarray, metric: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return the metric (numbers of features, starts) of every clustering."""
    return np.array([[metric(found) for found in starts] for starts in clusters])


def features_table(ranking: np.ndarray, scores: np.ndarray) -> Table:
    """Return the features (index, score, rank) from the best on; ``ranking`` (d,) lists them, ``scores`` are (d,)."""
    return Table(
        {
            "index": ranking.tolist(),
            "score": scores[ranking].tolist(),
            "rank": list(range(1, len(ranking) + 1)),
        }
    )


def voted_classes(clusters: np.ndarray, y: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's class (m,) by vote of all clusterings, each matched to the classes, and its share of votes."""
    votes = np.zeros((len(y), classes + 1))
    rows = np.arange(len(y))
    for found in clusters.reshape(-1, len(y)):
        # A cluster without a class votes for the last column, which is left out.
        votes[rows, matched_classes(cluster_counts(y, found, classes))[found]] += 1
    shares = votes[:, :-1] / votes.sum(axis=1, keepdims=True)
    predicted = np.argmax(shares, axis=1)
    return predicted, shares[rows, predicted]


def curve_figure(curve: Mapping[str, Any], title: str) -> Curve:
    """Return the agreement with the classes by number of features, with bands of one standard deviation."""
    x = curve["features"]
    labels = {"accuracy": "ACC", "nmi": "NMI", "zero_shot_accuracy": "zero-shot accuracy"}
    bands = {}
    for name in ("accuracy", "nmi"):
        mean, deviation = np.array(curve[name]), np.array(curve[f"{name}_deviation"])
        bands[labels[name]] = ((mean - deviation).tolist(), (mean + deviation).tolist())
    return Curve(
        {label: (x, curve[name]) for name, label in labels.items() if name in curve},
        "number of features",
        "agreement with the unseen classes",
        title,
        bands=bands,
    )
