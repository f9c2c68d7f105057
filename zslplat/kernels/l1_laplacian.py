"""The l1-Laplacian kernel k(a, b) = exp(-sigma |a - b|_1)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from zslplat.kernels.bandwidth import median_distance
from zslplat.kernels.base import Kernel
from zslplat.space import POSITIVE, Optional, Parameter, Real


class L1Laplacian(Kernel):
    """exp(-sigma |a - b|_1) with the city block distance; Gram only; None takes 1 / (median city block distance)."""

    summary = "Laplacian of the city block distance, exp(-sigma |a-b|_1)"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"
    parameters = {
        "sigma": Parameter(
            "inverse radius; none: 1 / (median city block distance)", Optional(POSITIVE), Real(1e-3, 10, log=True)
        ),
    }
    sigma: float

    def __init__(self, sigma: float | None = None) -> None:
        super().__init__(sigma=sigma)

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return exp(-sigma |a - b|_1); distances in float64."""
        K = cdist(A, B, metric="cityblock")
        K *= -self.sigma
        return np.exp(K, out=K).astype(A.dtype, copy=False)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(self._checked(X)), dtype=X.dtype)

    def defaults_from(self, X: np.ndarray) -> dict[str, float]:
        """Return the inverse of the median city block distance."""
        return {"sigma": 1 / median_distance(X, "cityblock")}
