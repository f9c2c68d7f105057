"""The l1-Laplacian kernel k(a, b) = exp(-sigma |a - b|_1)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from zslplat.kernels.exponential import ExponentialKernel
from zslplat.kernels.scales import median_distance
from zslplat.space import POSITIVE, Real, Scaled, parameter


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
    sigma = parameter(
        "inverse radius; median: of the city block distance",
        Scaled(POSITIVE, "/median"),
        Real(0.1, 10, log=True, unit="/median"),
        default="1.0/median",
    )

    def distances(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return |a - b|_1 in float64."""
        return np.asarray(cdist(A, B, metric="cityblock"))

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return the median city block distance as ``median``."""
        return median_distance(X, _city_block) if name == "median" else super().data_scale(name, X)


def _city_block(X: np.ndarray) -> np.ndarray:
    return np.asarray(cdist(X, X, metric="cityblock"))
