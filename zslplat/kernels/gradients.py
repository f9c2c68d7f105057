"""Gradients of Gram matrices by a projection W and by kernel parameters, for any kernel of inner products.

| symbol | shape | meaning |
|---|---|---|
| X | (n, d) | features |
| S | (m, a) | signatures |
| W | (d, a) | projection |
| G | (n, m) | dL/dK for a loss L of the Gram matrix K |
| t | (n, m) | X W S', the inner products of both projected kernels |

k(W'x, s) has u = |W'x|^2 and v = |s|^2; k(x, W s) has u = |x|^2 and v = |W s|^2. With f_t, f_u, f_v the partials of
the kernel, the chain rule gives

    dL/dW = X' [(G * f_t) S + 2 diag(rowsum(G * f_u)) X W]            for k(W'x, s)
    dL/dW = X' (G * f_t) S + 2 W S' diag(colsum(G * f_v)) S           for k(x, W s)
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from zslplat.kernels.base import Kernel
from zslplat.kernels.inner_product import InnerProductKernel, squared_norms
from zslplat.space import Integer

Side = Literal["features", "signatures"]


def projected_gram(kernel: InnerProductKernel, X: np.ndarray, S: np.ndarray, W: np.ndarray, side: Side) -> np.ndarray:
    """Return k(W'x, s) (``side="features"``) or k(x, W s) (``side="signatures"``), shape (n, m)."""
    t, u, v = _arguments(X, S, W, side)
    return kernel.f(t, u, v)


def projection_gradient(
    kernel: InnerProductKernel, X: np.ndarray, S: np.ndarray, W: np.ndarray, G: np.ndarray, side: Side
) -> np.ndarray:
    """Return dL/dW (d, a), where G (n, m) is dL/dK of the projected Gram matrix of that side."""
    f_t, f_u, f_v = kernel.partials(*_arguments(X, S, W, side))
    inner = (G * f_t) @ S
    if side == "features":
        rows = np.sum(G * f_u, axis=1)
        return np.asarray(X.T @ (inner + 2 * rows[:, None] * (X @ W)))
    columns = np.sum(G * f_v, axis=0)
    return np.asarray(X.T @ inner + 2 * W @ (S.T @ (columns[:, None] * S)))


def parameter_gradient(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray | None = None, *, step: float = 1e-5
) -> dict[str, np.ndarray]:
    """Return dK/d(parameter) (n, m) by path, in float64, for the real parameters of a resolved kernel.

    Closed forms where the kernel gives them (``parameter_partials``), central differences with the relative ``step``
    elsewhere: their error is about step^2 of the third derivative plus 1e-16/step of rounding.
    """
    A = np.asarray(X, dtype=np.float64)
    B = A if Y is None else np.asarray(Y, dtype=np.float64)
    partials: dict[str, np.ndarray] = {}
    if isinstance(kernel, InnerProductKernel):
        partials = kernel.parameter_partials(A @ B.T, squared_norms(A)[:, None], squared_norms(B)[None, :])
    gradients: dict[str, np.ndarray] = {}
    for path, parameter in kernel.domains.items():
        value = kernel.values[path]
        if isinstance(parameter.legal, Integer) or isinstance(value, str | bool) or value is None:
            continue
        if path in partials:
            gradients[path] = partials[path]
            continue
        h = step * max(abs(value), 1e-3)
        # One-sided where the lower point leaves the legal values (a bias of 0, say).
        low = value - h if parameter.legal.contains(value - h) else value
        upper, lower = kernel.replaced({path: value + h})(A, B), kernel.replaced({path: low})(A, B)
        gradients[path] = (upper - lower) / (value + h - low)
    return gradients


def _arguments(X: np.ndarray, S: np.ndarray, W: np.ndarray, side: Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Z = X @ W
    if side == "features":
        return Z @ S.T, squared_norms(Z)[:, None], squared_norms(S)[None, :]
    return Z @ S.T, squared_norms(X)[:, None], squared_norms(S @ W.T)[None, :]
