"""The l2-Laplacian kernel k(a, b) = exp(-sigma |a - b|)."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import RadialKernel
from zslplat.space import POSITIVE, Real, Scaled, parameter


class L2Laplacian(RadialKernel):
    r"""exp(-sigma |a - b|) with the Euclidean distance; sigma is a number or c/median.

    Equations
    ---------
    $$k(a, b) = \exp( - \sigma \lVert a - b \rVert )$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | sigma | scalar | inverse width |

    Related
    -------
    ``l1-laplacian`` has the city block distance; ``gaussian`` is smooth at zero.
    """

    summary = "Laplacian of the Euclidean distance, exp(-sigma |a-b|)"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"
    sigma = parameter(
        "inverse radius", Scaled(POSITIVE, "/median"), Real(0.1, 10, log=True, unit="/median"), default="1.0/median"
    )

    def g(self, d: np.ndarray) -> np.ndarray:
        """Return exp(-sigma sqrt(d))."""
        return np.asarray(np.exp(np.sqrt(d) * -self.sigma))

    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return -sigma k / (2 sqrt(d)), and 0 at d = 0, where the kernel has a kink."""
        root = np.sqrt(d)
        inverse = np.where(root > 0, 1 / np.where(root > 0, root, 1), 0).astype(d.dtype)
        return np.asarray(self.g(d) * inverse * (-0.5 * self.sigma))
