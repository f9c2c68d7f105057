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
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zslplat.errors import PluginError, UsageError
from zslplat.kernels.base import Kernel

# A partial derivative: an array that broadcasts against t, or a plain number (0.0 where f does not depend on it).
Partial = np.ndarray | float


class InnerProductKernel(Kernel):
    """k(a, b) = f(<a, b>, |a|^2, |b|^2), with the three partial derivatives of f.

    A subclass implements :meth:`f` and :meth:`partials` for broadcasting arrays (dtype kept, inputs untouched), and
    has at once Gram blocks, the diagonal, gradients for a projection and for its parameters, low-rank features, and
    its place in sums, products, powers and normalisation. One that depends on t alone says so
    (``of_inner_product_alone``): it has the same value for (W'x, s) and for (x, W s).
    """

    of_inner_product_alone: bool = False

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

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return f of the inner products of the rows of A and B."""
        return self.f(A @ B.T, squared_norms(A)[:, None], squared_norms(B)[None, :])

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return f(|x|^2, |x|^2, |x|^2) (n,)."""
        u = squared_norms(self._checked(X))
        return np.broadcast_to(self.f(u, u, u), u.shape).copy()


class DotProductKernel(InnerProductKernel):
    """k(a, b) = g(<a, b>): a subclass implements :meth:`g` and its derivative :meth:`slope`."""

    of_inner_product_alone = True

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


@dataclass(frozen=True)
class RadialForm:
    """A formula of the squared distance d that compiled loops know.

    ``exponential``: exp(-rate d); ``rational``: 1 / (1 + rate d). ``rate`` > 0.
    """

    name: Literal["exponential", "rational"]
    rate: float

    def __call__(self, d: np.ndarray) -> np.ndarray:
        """Return the value at squared distances d."""
        return np.exp(-self.rate * d) if self.name == "exponential" else 1 / (1 + self.rate * d)


class RadialKernel(InnerProductKernel):
    """k(a, b) = g(|a - b|^2): a subclass implements :meth:`g` and its derivative :meth:`slope`.

    The squared distance is formed as u + v - 2 t and clipped at 0 against rounding. A kernel whose g is one of the
    formulas of :class:`RadialForm` declares it (:attr:`form`): compiled code then needs no call of the kernel, and
    what is known of the formula (the learning of a Gaussian bandwidth) works for it.
    """

    @property
    def form(self) -> RadialForm | None:
        """The formula that g is for these parameters, which are numbers by then; None for any other."""
        return None

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


def declared_form(kernel: Kernel) -> RadialForm | None:
    """Return the form that a resolved kernel declares, None where it declares none.

    Raises :class:`PluginError` where its g gives other values: a subclass, say, that replaced g and left the form.
    """
    form = kernel.form if isinstance(kernel, RadialKernel) else None
    if isinstance(kernel, RadialKernel) and form is not None:
        d = np.array([0.0, 0.25, 1.0, 4.0]) / form.rate
        expected, actual = form(d), kernel.g(d)
        if not np.allclose(actual, expected, rtol=1e-6, atol=0):
            raise PluginError(
                f"kernel {kernel} declares the form {form.name} with rate {form.rate:g}, which is "
                f"{expected[2]:.6g} at distance^2 {d[2]:.6g}, but its g is {actual[2]:.6g} there; "
                "fix its property form, or let it return None"
            )
    return form


def squared_norms(X: np.ndarray) -> np.ndarray:
    """Return |x|^2 (n,) of the rows of X, accumulated and returned in the dtype of X."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return |a - b|^2 = u + v - 2 t, clipped at 0."""
    d = t * -2
    d = d + u
    d = d + v
    return np.maximum(d, 0, out=d) if isinstance(d, np.ndarray) else np.asarray(np.maximum(d, 0))


def require_inner_product(kernel: Kernel, owner: str) -> InnerProductKernel:
    """Return the kernel, or raise :class:`UsageError` when it has no derivatives and ``owner`` needs them."""
    if not isinstance(kernel, InnerProductKernel):
        raise UsageError(
            f"{owner} needs a kernel of inner products, with derivatives; {kernel} offers its Gram matrix only; "
            "try gaussian, cauchy or polynomial"
        )
    return kernel
