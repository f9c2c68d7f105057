"""The Cauchy kernel k(a, b) = 1 / (1 + sigma |a - b|^2), in the form of Zhang and Koniusz, Table 1."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import RadialForm, RadialKernel, squared_distances
from zslplat.space import POSITIVE, Real, Scaled, parameter


class Cauchy(RadialKernel):
    r"""1 / (1 + sigma |a - b|^2): a larger sigma is a narrower kernel; a number or c/median^2.

    Equations
    ---------
    $$k(a, b) = \frac{1}{1 + \sigma \lVert a - b \rVert^2}$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | sigma | scalar | inverse squared width |

    Related
    -------
    ``gaussian`` falls faster with the distance; ``l2-laplacian`` is sharp at zero.
    """

    summary = "Cauchy, 1 / (1 + sigma |a-b|^2)"
    citation = "Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Table 1"
    sigma = parameter(
        "inverse squared radius",
        Scaled(POSITIVE, "/median^2"),
        Real(0.01, 100, log=True, unit="/median^2"),
        default="1.0/median^2",
    )

    @property
    def form(self) -> RadialForm:
        """1 / (1 + sigma d), a rational function."""
        return RadialForm("rational", self.sigma)

    def g(self, d: np.ndarray) -> np.ndarray:
        """Return 1 / (1 + sigma d)."""
        return 1 / (1 + d * self.sigma)

    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return -sigma k^2."""
        k = self.g(d)
        return np.asarray(k * k * -self.sigma)

    def g_and_slope(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return k and its slope from one division."""
        k = self.g(d)
        return k, k * k * -self.sigma

    def parameter_partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return dk/dsigma = -d k^2."""
        d = squared_distances(t, u, v)
        k = self.g(d)
        return {"sigma": -d * k * k}
