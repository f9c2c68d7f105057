"""Kernels of the inner product of two rows: linear, polynomial, sigmoid."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import DotProductKernel
from zslplat.space import NON_NEGATIVE, POSITIVE, Integer, Real, Scaled, parameter


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
    scale = parameter(
        "factor of the inner product; square: mean squared length of a row",
        Scaled(POSITIVE, "/square"),
        Real(0.1, 10, log=True, unit="/square"),
        default="1.0/square",
    )
    c = parameter("shift", Real(), Real(-1, 1), default=0.0)
    psd = False

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return tanh(scale t + c)."""
        return np.tanh(t * self.scale + self.c)

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return scale (1 - k^2)."""
        k = self.g(t)
        return np.asarray((1 - k * k) * self.scale)
