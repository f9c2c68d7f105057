"""The arc-cosine kernels k_n(a, b) = |a|^n |b|^n J_n(theta) / pi of degree n = 0, 1, 2, theta the angle of a and b.

Cho and Saul, Kernel Methods for Deep Learning, NIPS 2009, Eqs. 3 to 6.

| paper | here | shape | meaning |
|---|---|---|---|
| x . y | t | (n, m) | inner product |
| |x|^2, |y|^2 | u, v | (n, 1), (1, m) | squared norms |
| cos theta | c | (n, m) | t / sqrt(u v); 0 where a norm is 0, as a step of height 1/2 at 0 has it |
| J_0 | | | pi - theta |
| J_1 | | | sin theta + (pi - theta) cos theta |
| J_2 | | | 3 sin theta cos theta + (pi - theta) (1 + 2 cos^2 theta) |

By c, the derivatives are J_0' = 1 / sin theta, J_1' = J_0 and J_2' = 4 J_1. With r = sqrt(u v), k = r^n J(t / r) / pi:

    k_t = r^(n-1) J' / pi        k_u = r^n (n J - c J') / (2 pi u)        k_v likewise
"""

from __future__ import annotations

import numpy as np

from zslplat.api import Choice, InnerProductKernel, parameter

DEGREES = Choice((0, 1, 2))


class ArcCosine(InnerProductKernel):
    """Arc-cosine kernel of degree 0, 1 or 2.

    Derivatives that do not exist (degree 0 at parallel rows, and at a row of zeros) are given as 0.
    """

    summary = "arc-cosine, inner product of infinitely wide rectified layers"
    citation = "Cho and Saul, Kernel Methods for Deep Learning, NIPS 2009"
    degree = parameter("degree of the units: 0 step, 1 linear, 2 quadratic", DEGREES, DEGREES, default=1)

    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return r^n J_n / pi."""
        r = np.sqrt(u * v)
        J, _ = self._angular(_cosine(t, r))
        return np.asarray(r**self.degree * J / _pi(r))

    def partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives by t, u and v."""
        r = np.sqrt(u * v)
        c = _cosine(t, r)
        J, slope = self._angular(c)
        along = r**self.degree * (self.degree * J - c * slope) / (2 * _pi(r))
        return r**self.degree * _ratio(slope, r) / _pi(r), _ratio(along, u), _ratio(along, v)

    def _angular(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return J_n and its derivative by c = cos theta."""
        s = np.sqrt(1 - c * c)
        J_0 = _pi(c) - np.arccos(c)
        if self.degree == 0:
            return J_0, _ratio(np.ones_like(s), s)
        J_1 = s + J_0 * c
        if self.degree == 1:
            return J_1, J_0
        return 3 * s * c + J_0 * (1 + 2 * c * c), 4 * J_1


def _cosine(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    return np.clip(_ratio(t, r), -1, 1)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 where the denominator is 0."""
    positive = denominator > 0
    return np.asarray(np.where(positive, numerator / np.where(positive, denominator, 1), 0), dtype=numerator.dtype)


def _pi(like: np.ndarray) -> np.floating:
    """Return pi in the precision of an array, which a product with it then keeps."""
    return like.dtype.type(np.pi)
