"""How the clusterings of one draw of unseen rows are judged and shown: metrics, a class by vote, curves.

Clusterings are (numbers of features, starts, m): the cluster of every row.

k-means on growing sets of selected features, each from many random starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat.data.store.rows import Rows, float_type
from zslplat.figures import Curve, Table
from zslplat.metrics.accuracy import (
    cluster_counts,
    clustering_accuracy,
    matched_classes,
    normalised_mutual_information,
)
from zslplat.tasks.base import Arrays, Problem
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns, predictions_table


def cluster_by_features(
    X: np.ndarray | Rows, ranking: np.ndarray, counts: Sequence[int], *, clusters: int, repeats: int, seed: int
) -> np.ndarray:
    """Return the clusters (len(counts), repeats, m) int16 of rows X (m, d) on the first ``count`` ranked features.

    Lloyd's k-means from ``clusters`` random rows; the starts are the same for every number of features and every
    ranking. All repeats are kept: the protocol averages over them, and does not pick the best. In the type of the
    rows: sums over at most some fifty features in float32 lose nothing that a cluster would notice.
    """
    from sklearn.cluster import KMeans  # slow to import
    from sklearn.exceptions import ConvergenceWarning

    result = np.empty((len(counts), repeats, len(X)), dtype=np.int16)
    starts = np.random.SeedSequence([seed, 7]).generate_state(repeats)
    # One thread: these problems are small, and the sums come out the same on any machine.
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer distinct rows than clusters: some stay empty, which the metrics take as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = X[:, ranking[: max(counts)]]  # one pass over rows in a file
        for row, count in enumerate(counts):
            selected = np.ascontiguousarray(best[:, :count], dtype=float_type(best.dtype))
            for repeat, start in enumerate(starts):
                kmeans = KMeans(clusters, init="random", n_init=1, algorithm="lloyd", random_state=int(start))
                result[row, repeat] = kmeans.fit_predict(selected)
    return result


class Judged(NamedTuple):
    """The metrics, and the curve over numbers of features, with deviations over the starts."""

    metrics: dict[str, float]
    curve: dict[str, list[float]]


def class_predictions(problem: Problem, outputs: Arrays) -> Table:
    """Return the class of each row by vote of all clusterings."""
    truth, names = problem.truth, list(problem.meta["classes"])
    voted = voted_classes(outputs["clusters"], truth["y_unseen"], len(names))
    return predictions_table(names, truth["row_unseen"], truth["y_unseen"], *voted)


def row_outcomes(problem: Problem, outputs: Arrays) -> RowOutcomes:
    """Return the common columns of the unseen rows of one draw: the class by vote of all clusterings."""
    truth, names = problem.truth, list(problem.meta["classes"])
    predicted, share = voted_classes(outputs["clusters"], truth["y_unseen"], len(names))
    columns = common_columns(truth["row_unseen"], truth["y_unseen"], predicted, share, truth.get("group_unseen"))
    return RowOutcomes(columns, {"classes": names})


def judge(problem: Problem, outputs: Arrays) -> Judged:
    """Return how well clusters agree with the classes, by every metric."""
    y, classes = problem.truth["y_unseen"], len(problem.meta["classes"])
    clusters = outputs["clusters"]
    accuracy = each_clustering(clusters, lambda found: clustering_accuracy(y, found, classes))
    nmi = each_clustering(clusters, lambda found: normalised_mutual_information(y, found))
    arithmetic = each_clustering(clusters, lambda found: normalised_mutual_information(y, found, "arithmetic"))
    metrics = {
        "clustering_accuracy": float(accuracy.mean()),
        "nmi": float(nmi.mean()),
        "nmi_arithmetic": float(arithmetic.mean()),
    }
    curve: dict[str, list[float]] = {"features": list(problem.meta["counts"])}
    for name, values in (("accuracy", accuracy), ("nmi", nmi), ("nmi_arithmetic", arithmetic)):
        curve[name] = values.mean(axis=1).tolist()
        curve[f"{name}_deviation"] = values.std(axis=1).tolist()
    return Judged(metrics, curve)


def each_clustering(clusters: np.ndarray, metric: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return the metric (numbers of features, starts) of every clustering."""
    return np.array([[metric(clustering) for clustering in starts] for starts in clusters])


def features_table(ranking: np.ndarray, scores: np.ndarray) -> Table:
    """Return the features (index, score, rank) from the best on; ``ranking`` (d,) lists them, ``scores`` are (d,)."""
    return Table(
        {"index": ranking.tolist(), "score": scores[ranking].tolist(), "rank": list(range(1, len(ranking) + 1))}
    )


def voted_classes(clusters: np.ndarray, y: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's class (m,) by vote of all clusterings, each matched to the classes, and its share of votes."""
    votes = np.zeros((len(y), classes + 1))
    rows = np.arange(len(y))
    for clustering in clusters.reshape(-1, len(y)):
        # A cluster without a class votes for the last column, which is left out.
        votes[rows, matched_classes(cluster_counts(y, clustering, classes))[clustering]] += 1
    shares = votes[:, :-1] / votes.sum(axis=1, keepdims=True)
    predicted = np.argmax(shares, axis=1)
    return predicted, shares[rows, predicted]


def curve_figure(curve: Mapping[str, Any], title: str) -> Curve:
    """Return the agreement with the classes by number of features, with bands of one standard deviation."""
    x = curve["features"]
    labels = {"accuracy": "ACC", "nmi": "NMI"}
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
