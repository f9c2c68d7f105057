"""Exponentials of a distance between rows, k(a, b) = exp(-sigma d(a, b)), that offer their Gram matrix only.

The distances hold all that is costly: where they are kept, a Gram matrix of any sigma is one exponential per entry.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from zslplat.kernels.base import Kernel


class ExponentialKernel(Kernel):
    """exp(-sigma d(a, b)) for a subclass's :meth:`distances`, which depend on no parameter; d(a, a) = 0."""

    sigma: float

    @abstractmethod
    def distances(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return d (n, m) between rows A (n, d) and B (m, d), a new array."""

    def checked_distances(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return d (n, m) between rows of X and of Y (default: X); raises DataError for rows that do not fit."""
        X = self._checked(X, resolving=True)
        return self.distances(X, X if Y is None else self._checked(Y, resolving=True))

    def of_distances(self, distances: np.ndarray) -> np.ndarray:
        """Return exp(-sigma d) of an array of distances, a new array."""
        return np.asarray(np.exp(distances * -self.sigma))

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return exp(-sigma d)."""
        K = self.distances(A, B)
        K *= -self.sigma
        return np.asarray(np.exp(K, out=K).astype(A.dtype, copy=False))

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(self._checked(X)), dtype=X.dtype)
