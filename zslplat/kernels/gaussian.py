"""The Gaussian kernel k(a, b) = exp(-|a - b|^2 / (2 sigma^2))."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import RadialForm, RadialKernel, squared_distances
from zslplat.space import POSITIVE, Real, Scaled, parameter


class Gaussian(RadialKernel):
    r"""exp(-|a - b|^2 / (2 sigma^2)); sigma is a number, or a multiple of the median distance of the data.

    Equations
    ---------
    $$k(a, b) = \exp\left( - \frac{\lVert a - b \rVert^2}{2 \sigma^2} \right)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | sigma | scalar | width |

    Related
    -------
    ``cauchy`` has longer tails; ``l2-laplacian`` is sharp at zero; ``chi-squared`` is its likeness on histograms;
    ``log-euclidean`` on matrices.
    """

    summary = "Gaussian, exp(-|a-b|^2 / (2 sigma^2))"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"
    sigma = parameter(
        "radius", Scaled(POSITIVE, "*median"), Real(0.1, 10, log=True, unit="*median"), default="1.0*median"
    )

    @property
    def form(self) -> RadialForm:
        """exp(-d / (2 sigma^2)), an exponential."""
        return RadialForm("exponential", 0.5 / self.sigma**2)

    def g(self, d: np.ndarray) -> np.ndarray:
        """Return exp(-d / (2 sigma^2))."""
        return np.exp(d * (-0.5 / self.sigma**2))

    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return -k / (2 sigma^2)."""
        return self.g(d) * (-0.5 / self.sigma**2)

    def g_and_slope(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return k and its slope from one exponential."""
        k = self.g(d)
        return k, k * (-0.5 / self.sigma**2)

    def parameter_partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return dk/dsigma = k d / sigma^3."""
        d = squared_distances(t, u, v)
        return {"sigma": self.g(d) * d / self.sigma**3}
