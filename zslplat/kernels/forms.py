"""Kernels of the inner product of two rows: linear, polynomial, sigmoid.

Kernels of the distance between two rows, with derivatives: Gaussian, Cauchy, l2-Laplacian.
"""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import DotProductKernel, RadialForm, RadialKernel
from zslplat.kernels.scales import in_units
from zslplat.space import NON_NEGATIVE, Integer, Real, Scaled, parameter


class Linear(DotProductKernel):
    r"""The inner product itself.

    Equations
    ---------
    $$k(a, b) = \langle a, b \rangle$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |

    Related
    -------
    ``polynomial`` is a power of it.
    """

    summary = "linear, <a, b>"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return t."""
        return +t

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return 1."""
        return np.ones_like(t)


class Polynomial(DotProductKernel):
    r"""(<a, b> + c)^r with degree r >= 1 and bias c >= 0, the range in which it is positive semidefinite.

    Equations
    ---------
    $$k(a, b) = (\langle a, b \rangle + c)^r$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | r | scalar | degree |
    | c | scalar | bias |

    Related
    -------
    ``linear`` is r = 1, c = 0; ``sigmoid`` is a function of the inner product, too.
    """

    summary = "polynomial, (<a, b> + c)^r"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"
    r = parameter("degree", Integer(1), Integer(1, 6), default=2)
    c = parameter(
        "bias; square: mean squared length of a row",
        Scaled(NON_NEGATIVE, "*square"),
        Real(0, 2, unit="*square"),
        default="1.0*square",
    )

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return (t + c)^r."""
        return _integer_power(t + self.c, self.r)

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return r (t + c)^(r - 1)."""
        return _integer_power(t + self.c, self.r - 1) * self.r


def _integer_power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Raise by repeated squaring, an order of magnitude faster than a general power of an array."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        base = base * base if exponent else base
    return result


class Sigmoid(DotProductKernel):
    r"""tanh(scale <a, b> + c): declared indefinite, refused where a positive semidefinite kernel is needed.

    Equations
    ---------
    $$k(a, b) = \tanh(\kappa \langle a, b \rangle + c)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | kappa, ``scale`` | scalar | factor |
    | c | scalar | shift |

    Related
    -------
    ``polynomial`` is positive semidefinite, which this one is not.
    """

    summary = "sigmoid, tanh(scale <a, b> + c); indefinite"
    citation = "Lin and Lin, A study on sigmoid kernels for SVM and the training of non-PSD kernels, 2003"
    scale = in_units("factor of the inner product; square: mean squared length of a row", "/square", 0.1, 10)
    c = parameter("shift", Real(), Real(-1, 1), default=0.0)
    psd = False

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return tanh(scale t + c)."""
        return np.tanh(t * self.scale + self.c)

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return scale (1 - k^2)."""
        k = self.g(t)
        return np.asarray((1 - k * k) * self.scale)


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
    sigma = in_units("radius", "*median", 0.1, 10)

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
    sigma = in_units("inverse squared radius", "/median^2", 0.01, 100)

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
    sigma = in_units("inverse radius", "/median", 0.1, 10)

    def g(self, d: np.ndarray) -> np.ndarray:
        """Return exp(-sigma sqrt(d))."""
        return np.asarray(np.exp(np.sqrt(d) * -self.sigma))

    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return -sigma k / (2 sqrt(d)), and 0 at d = 0, where the kernel has a kink."""
        root = np.sqrt(d)
        inverse = np.where(root > 0, 1 / np.where(root > 0, root, 1), 0).astype(d.dtype)
        return np.asarray(self.g(d) * inverse * (-0.5 * self.sigma))
