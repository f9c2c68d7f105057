"""The histogram intersection kernel k(a, b) = sum_j min(a_j, b_j)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from zslplat.kernels.base import Kernel


class HistogramIntersection(Kernel):
    r"""sum_j min(a_j, b_j) for non-negative rows; Gram only.

    Computed as (|a|_1 + |b|_1 - |a - b|_1) / 2, which is the same for any non-negative numbers.

    Equations
    ---------
    $$k(a, b) = \sum_j \min(a_j, b_j)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |

    Related
    -------
    ``chi-squared`` has a width; ``spatial-pyramid`` adds this one up over the cells of an image.
    """

    summary = "histogram intersection, sum_j min(a_j, b_j), of non-negative rows"
    citation = "Swain and Ballard, Color indexing, IJCV 1991"
    non_negative = True

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return sum_j min(a_j, b_j); distances in float64."""
        K = cdist(A, B, metric="cityblock")
        np.negative(K, out=K)
        K += A.sum(axis=1, dtype=np.float64)[:, None]
        K += B.sum(axis=1, dtype=np.float64)[None, :]
        K *= 0.5
        return np.asarray(K.astype(A.dtype, copy=False))

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return the sums of the rows."""
        X = self._checked(X)
        return np.asarray(X.sum(axis=1, dtype=np.float64).astype(X.dtype, copy=False))
