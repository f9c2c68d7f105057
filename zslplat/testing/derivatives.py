"""What kernels of inner products promise beside: k(a, b) = f(t, u, v) with t = <a, b>, u = |a|^2, v = |b|^2.

Derivatives are compared with central differences of fourth order with the relative step h = 1e-4 of the scale of each
argument: the truncation is h^4 f^(5) / 30, the rounding about 1e-16 / h of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from zslplat.kernels.inner_product import InnerProductKernel, Partial, squared_norms
from zslplat.testing.kernels import TIGHT, assert_same, general, ready, variants

STEP = 1e-4
# Relative to the largest derivative, and to the largest value (which rounds).
ACCURACY, ROUNDING = 1e-6, 1e-10


def arguments(kernel: InnerProductKernel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t (n, m), u (n, 1), v (1, m) of pairs of rows in general position, none of them equal."""
    A, B = general(kernel, seed=4), general(kernel, 17, seed=5)
    return A @ B.T, squared_norms(A)[:, None], squared_norms(B)[None, :]


def values_follow_from_inner_products(kernel: InnerProductKernel) -> None:
    """The Gram matrix is f of inner products and squared norms, symmetric under the exchange of u and v."""
    for name, other in _variants(kernel):
        A, B = general(other, seed=4), general(other, 17, seed=5)
        t, u, v = arguments(other)
        f = other.f(t, u, v)
        assert_same(np.broadcast_to(f, t.shape), other(A, B), TIGHT, f"{name}: f(t, u, v) against k(A, B)")
        exchanged = np.broadcast_to(other.f(t.T, v.T, u.T), t.T.shape)
        assert_same(exchanged, np.broadcast_to(f, t.shape).T, TIGHT, f"{name}: f(t, v, u) against f(t, u, v)")


def partials_agree_with_finite_differences(kernel: InnerProductKernel) -> None:
    """The derivatives of f by t, u and v are those of f, to 1e-6 of the largest, at every point of the space."""
    for name, other in _variants(kernel):
        products = arguments(other)
        largest = float(np.abs(other.f(*products)).max())
        partials = other.partials(*products)
        assert len(partials) == 3, f"{name}: {len(partials)} partials, expected those by t, u and v"
        for position, letter in enumerate("tuv"):
            step = STEP * np.sqrt(products[1] * products[2])  # each pair has a scale of its own
            numeric = _difference(partial(_moved, other, products, position), step)
            claimed = np.broadcast_to(np.asarray(partials[position], dtype=np.float64), products[0].shape)
            _agree(claimed, numeric, largest / float(step.min()) * STEP, f"{name}: derivative by {letter}")


def values_and_partials_together_are_the_same(kernel: InnerProductKernel) -> None:
    """f_and_partials gives what f and partials give."""
    for name, other in _variants(kernel):
        products = arguments(other)
        together = other.f_and_partials(*products)
        apart = (other.f(*products), *other.partials(*products))
        for letter, one, two in zip(("f", "df/dt", "df/du", "df/dv"), together, apart, strict=True):
            both = [np.broadcast_to(np.asarray(x, dtype=np.float64), products[0].shape) for x in (one, two)]
            assert_same(both[0], both[1], TIGHT, f"{name}: {letter} of f_and_partials")


def derivatives_keep_precision_and_inputs(kernel: InnerProductKernel) -> None:
    """f and its partials keep float32, and accept read-only arguments."""
    filled = ready(kernel)
    assert isinstance(filled, InnerProductKernel), f"resolved(X) turned {kernel} into one without derivatives"
    t, u, v = products = [np.asarray(x, dtype=np.float32) for x in arguments(kernel)]
    before = [x.copy() for x in products]
    for x in products:
        x.setflags(write=False)
    results: dict[str, Partial] = {"f": filled.f(t, u, v)}
    results |= dict(zip(("df/dt", "df/du", "df/dv"), filled.partials(t, u, v), strict=True))
    for name, result in results.items():
        if isinstance(result, np.ndarray):
            assert result.dtype == np.float32, f"{name} of float32 arguments is {result.dtype}"
            assert not any(np.shares_memory(result, x) for x in products), f"{name} shares memory with an argument"
            assert np.isfinite(result).all(), f"{name} holds NaN or infinity"
    assert all((x == y).all() for x, y in zip(products, before, strict=True)), "an argument was changed"


def _variants(kernel: InnerProductKernel) -> Iterator[tuple[str, InnerProductKernel]]:
    for name, other in variants(kernel):
        assert isinstance(other, InnerProductKernel), f"{name} has no derivatives, unlike {kernel}"
        yield name, other


def _moved(
    kernel: InnerProductKernel, products: tuple[np.ndarray, np.ndarray, np.ndarray], position: int, h: np.ndarray
) -> np.ndarray:
    t, u, v = (x + h if p == position else np.broadcast_to(x, h.shape) for p, x in enumerate(products))
    return kernel.f(t, u, v)


def _difference(values: Callable[..., np.ndarray], step: np.ndarray | float) -> np.ndarray:
    """Return (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h."""
    near = values(step) - values(-step)
    far = values(2 * step) - values(-2 * step)
    return np.asarray((8 * near - far) / (12 * step))


def _agree(claimed: np.ndarray, numeric: np.ndarray, largest: float, what: str) -> None:
    assert np.shape(claimed) == np.shape(numeric), f"{what}: shape {np.shape(claimed)}, expected {np.shape(numeric)}"
    assert np.isfinite(claimed).all(), f"{what} holds NaN or infinity"
    allowed = ACCURACY * float(np.abs(numeric).max()) + ROUNDING * largest
    off = float(np.abs(claimed - numeric).max())
    assert off <= allowed, f"{what} is off by {off:.1e} from finite differences, allowed {allowed:.1e}"


DERIVATIVE_CHECKS = (
    values_follow_from_inner_products,
    partials_agree_with_finite_differences,
    values_and_partials_together_are_the_same,
    derivatives_keep_precision_and_inputs,
)
