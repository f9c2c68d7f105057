"""k-means on growing sets of selected features, each from many random starts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from zslplat.data.store.rows import Rows, float_type


def cluster_by_features(
    X: np.ndarray | Rows, ranking: np.ndarray, counts: Sequence[int], *, clusters: int, repeats: int, seed: int
) -> np.ndarray:
    """Return the clusters (len(counts), repeats, m) int16 of rows X (m, d) on the first ``count`` ranked features.

    Lloyd's k-means from ``clusters`` random rows; the starts are the same for every number of features and every
    ranking. All repeats are kept: the protocol averages over them, and does not pick the best. In the type of the
    rows: sums over at most some fifty features in float32 lose nothing that a cluster would notice.
    """
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
