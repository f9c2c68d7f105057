"""Kernels that are functions of inner products: everything the platform does with a kernel follows from f.

| symbol | shape | meaning |
|---|---|---|
| t | (n, m) | <a_i, b_j> |
| u | (n, 1) | |a_i|^2 |
| v | (1, m) | |b_j|^2 |
| f | (n, m) | k(a_i, b_j) = f(t, u, v) |
| d | (n, m) | |a_i - b_j|^2 = u + v - 2 t |
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from zslplat.errors import UsageError
from zslplat.kernels.base import Kernel

# A partial derivative: an array that broadcasts against t, or a plain number (0.0 where f does not depend on it).
Partial = np.ndarray | float


class InnerProductKernel(Kernel):
    """k(a, b) = f(<a, b>, |a|^2, |b|^2), with the three partial derivatives of f.

    A subclass implements :meth:`f` and :meth:`partials` for broadcasting arrays (dtype kept, inputs untouched), and
    has at once Gram blocks, the diagonal, gradients for a projection and for its parameters, low-rank features, and
    its place in sums, products, powers and normalisation.
    """

    @abstractmethod
    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the kernel values for inner products t and squared norms u, v."""

    @abstractmethod
    def partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[Partial, Partial, Partial]:
        """Return the derivatives of f by t, u and v; a plain 0.0 where f does not depend on one."""

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return f and its partials; kernels override it where both share work."""
        return (self.f(t, u, v), *self.partials(t, u, v))

    def parameter_partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return df/d(parameter) by path, for those known in closed form; the rest is taken by central differences."""
        return {}

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return f of the inner products of the rows of A and B."""
        return self.f(A @ B.T, squared_norms(A)[:, None], squared_norms(B)[None, :])

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return f(|x|^2, |x|^2, |x|^2) (n,)."""
        u = squared_norms(self._checked(X))
        return np.broadcast_to(self.f(u, u, u), u.shape).copy()


class DotProductKernel(InnerProductKernel):
    """k(a, b) = g(<a, b>): a subclass implements :meth:`g` and its derivative :meth:`slope`."""

    @abstractmethod
    def g(self, t: np.ndarray) -> np.ndarray:
        """Return the kernel as a function of the inner product t."""

    @abstractmethod
    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return dg/dt."""

    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return g(t)."""
        return self.g(t)

    def partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[Partial, Partial, Partial]:
        """Return (g', 0, 0)."""
        return self.slope(t), 0.0, 0.0


class RadialKernel(InnerProductKernel):
    """k(a, b) = g(|a - b|^2): a subclass implements :meth:`g` and its derivative :meth:`slope`.

    The squared distance is formed as u + v - 2 t and clipped at 0 against rounding.
    """

    @abstractmethod
    def g(self, d: np.ndarray) -> np.ndarray:
        """Return the kernel as a function of the squared distance d >= 0."""

    @abstractmethod
    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return dg/dd; where the derivative does not exist at d = 0, return 0 there (a subgradient)."""

    def g_and_slope(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return g and its slope; kernels override it where both share work."""
        return self.g(d), self.slope(d)

    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return g(u + v - 2 t)."""
        return self.g(squared_distances(t, u, v))

    def partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[Partial, Partial, Partial]:
        """Return (-2 g', g', g')."""
        slope = self.slope(squared_distances(t, u, v))
        return -2 * slope, slope, slope

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return g and (-2 g', g', g') from one pass over the distances."""
        value, slope = self.g_and_slope(squared_distances(t, u, v))
        return value, -2 * slope, slope, slope

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return g(0) for every row, free of rounding."""
        X = self._checked(X)
        return self.g(np.zeros(len(X), dtype=X.dtype))


def squared_norms(X: np.ndarray) -> np.ndarray:
    """Return |x|^2 (n,) of the rows of X, accumulated and returned in the dtype of X."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return |a - b|^2 = u + v - 2 t, clipped at 0."""
    d = t * -2
    d = d + u
    d = d + v
    return np.maximum(d, 0, out=d) if isinstance(d, np.ndarray) else np.maximum(d, 0)


def require_inner_product(kernel: Kernel, owner: str) -> InnerProductKernel:
    """Return the kernel, or raise :class:`UsageError` when it has no derivatives and ``owner`` needs them."""
    if not isinstance(kernel, InnerProductKernel):
        raise UsageError(
            f"{owner} needs a kernel of inner products, with derivatives; {kernel} offers its Gram matrix only; "
            "try gaussian, cauchy or polynomial"
        )
    return kernel
