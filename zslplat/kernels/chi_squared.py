"""The exponential chi-squared kernel of histograms, k(a, b) = exp(-sigma sum_j (a_j - b_j)^2 / (a_j + b_j))."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel

from zslplat.kernels.bandwidth import median_distance
from zslplat.kernels.base import Kernel
from zslplat.space import POSITIVE, Optional, Parameter, Real


class ChiSquared(Kernel):
    """exp(-sigma chi^2(a, b)) for non-negative rows, terms with a_j + b_j = 0 left out; Gram only.

    sigma=None takes 1 / (median chi-squared distance).
    """

    summary = "exponential chi-squared kernel of non-negative rows"
    citation = "Zhang et al., Local features and kernels for classification of texture and object categories, IJCV 2007"
    parameters = {
        "sigma": Parameter(
            "inverse radius; none: 1 / (median chi-squared distance)", Optional(POSITIVE), Real(1e-3, 10, log=True)
        ),
    }
    non_negative = True
    sigma: float

    def __init__(self, sigma: float | None = None) -> None:
        super().__init__(sigma=sigma)

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return exp(-sigma chi^2)."""
        # The compiled loop behind it refuses read-only arrays, such as memory-mapped features.
        A, B = np.require(A, requirements="W"), np.require(B, requirements="W")
        K = additive_chi2_kernel(A, B)  # minus the distance
        K *= self.sigma
        return np.exp(K, out=K).astype(A.dtype, copy=False)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(self._checked(X)), dtype=X.dtype)

    def defaults_from(self, X: np.ndarray) -> dict[str, float]:
        """Return the inverse of the median chi-squared distance."""
        return {"sigma": 1 / median_distance(X, _chi_squared)}


def _chi_squared(a: np.ndarray, b: np.ndarray) -> float:
    total = a + b
    used = total > 0
    return float((((a - b)[used]) ** 2 / total[used]).sum())
