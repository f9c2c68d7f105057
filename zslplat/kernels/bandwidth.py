"""The median distance between rows, the default scale of bandwidths.

Rules, the same for every kernel with a bandwidth ``sigma``: the distance is the kernel's own (Euclidean, city block,
chi-squared); the median runs over distinct pairs of at most 1000 rows, drawn with a fixed seed where there are more;
and sigma is set so that a pair at the median distance lies where the kernel bends, k = exp(-1/2) for the Gaussian
kernels, 1/2 for the Cauchy kernel, exp(-1) for the exponentials of a distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from zslplat.errors import DataError

ROWS = 1000


def median_distance(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Return the median distance over distinct pairs of rows of X (n, d); raises DataError where it is 0.

    ``metric`` is one of :func:`scipy.spatial.distance.pdist`. More than 1000 rows are sampled with a fixed seed.
    """
    if len(X) > ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), ROWS, replace=False))]
    distances = pdist(np.asarray(X, dtype=np.float64), metric=metric)
    median = float(np.median(distances)) if len(distances) else 0.0
    if not median > 0:
        raise DataError(f"the median distance of {len(X)} rows is {median:g}; give the bandwidth sigma a value")
    return median
