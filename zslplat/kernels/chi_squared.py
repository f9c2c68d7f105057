"""The exponential chi-squared kernel of histograms, k(a, b) = exp(-sigma sum_j (a_j - b_j)^2 / (a_j + b_j))."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel

from zslplat.kernels.exponential import ExponentialKernel
from zslplat.kernels.scales import median_distance
from zslplat.space import POSITIVE, Real, Scaled, parameter


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
    sigma = parameter(
        "inverse radius; median: of the chi-squared distance",
        Scaled(POSITIVE, "/median"),
        Real(0.1, 10, log=True, unit="/median"),
        default="1.0/median",
    )
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
