"""The polynomial kernel k(a, b) = (<a, b> + c)^r."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import DotProductKernel
from zslplat.space import NON_NEGATIVE, Integer, Real, Scaled, parameter


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

    def parameter_partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return dk/dc = r (t + c)^(r - 1); the degree is an integer and has no derivative."""
        return {"c": self.slope(t)}


def _integer_power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Raise by repeated squaring, an order of magnitude faster than a general power of an array."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        base = base * base if exponent else base
    return result
