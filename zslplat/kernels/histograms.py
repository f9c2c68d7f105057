"""Kernels of histograms, which offer their Gram matrix only: exponentials of a distance, and intersection.

An exponential is k(a, b) = exp(-sigma d(a, b)). The distances hold all that is costly: where they are kept, a Gram
matrix of any sigma is one exponential per entry.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel

from zslplat.kernels.base import Kernel
from zslplat.kernels.scales import in_units, median_distance


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


class L1Laplacian(ExponentialKernel):
    r"""exp(-sigma |a - b|_1) with the city block distance, sigma a number or c/median of it; Gram only.

    Equations
    ---------
    $$k(a, b) = \exp\left( - \sigma \sum_j |a_j - b_j| \right)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | sigma | scalar | inverse width |

    Related
    -------
    ``l2-laplacian`` has the Euclidean distance.
    """

    summary = "Laplacian of the city block distance, exp(-sigma |a-b|_1)"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"
    sigma = in_units("inverse radius; median: of the city block distance", "/median", 0.1, 10)

    def distances(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return |a - b|_1 in float64."""
        return np.asarray(cdist(A, B, metric="cityblock"))

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return the median city block distance as ``median``."""
        return median_distance(X, _city_block) if name == "median" else super().data_scale(name, X)


def _city_block(X: np.ndarray) -> np.ndarray:
    return np.asarray(cdist(X, X, metric="cityblock"))


class ChiSquared(ExponentialKernel):
    r"""exp(-sigma chi^2(a, b)) for non-negative rows, terms with a_j + b_j = 0 left out; Gram only.

    sigma is a number, or a multiple of 1 / (median chi-squared distance).

    Equations
    ---------
    $$k(a, b) = \exp\left( - \sigma \sum_j \frac{(a_j - b_j)^2}{a_j + b_j} \right)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | sigma | scalar | inverse width |

    Related
    -------
    ``histogram-intersection`` is on histograms, too, without a width; ``gaussian`` has the Euclidean distance.
    """

    summary = "exponential chi-squared kernel of non-negative rows"
    citation = "Zhang et al., Local features and kernels for classification of texture and object categories, IJCV 2007"
    sigma = in_units("inverse radius; median: of the chi-squared distance", "/median", 0.1, 10)
    non_negative = True

    def distances(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return chi^2(a, b)."""
        # The compiled loop behind it refuses read-only arrays, such as memory-mapped features.
        A, B = np.require(A, requirements="W"), np.require(B, requirements="W")
        K = additive_chi2_kernel(A, B)  # minus the distance
        return np.asarray(np.negative(K, out=K))

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return the median chi-squared distance as ``median``."""
        return median_distance(X, _chi_squared) if name == "median" else super().data_scale(name, X)


def _chi_squared(X: np.ndarray) -> np.ndarray:
    return np.asarray(-additive_chi2_kernel(X))


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
    ``chi-squared`` has a width; ``spatial-pyramid`` (zslplat-papers) adds this one up over cells of images.
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
