"""The RMSprop update in one pass over memory, in place.

    A <- gamma A + (1 - gamma) q,   W <- W - rate g / (sqrt(A) + epsilon)

with g the gradient and q its square (or a second moment computed elsewhere). NumPy needs eight passes and as many
temporaries for it; at 1280 x 100 single precision entries that is several times the cost of the gradient's matrix
product. Compiled on first use and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the compiled updates: with q = g^2, and with q given."""
    from numba import njit

    def update(W: np.ndarray, A: np.ndarray, g: np.ndarray, gamma: float, rest: float, rate: float, eps: float) -> None:
        for i in range(W.size):
            a = gamma * A[i] + rest * g[i] * g[i]
            A[i] = a
            W[i] -= rate * g[i] / (np.sqrt(a) + eps)

    def update_given(
        W: np.ndarray, A: np.ndarray, g: np.ndarray, q: np.ndarray, gamma: float, rest: float, rate: float, eps: float
    ) -> None:
        for i in range(W.size):
            a = gamma * A[i] + rest * q[i]
            A[i] = a
            W[i] -= rate * g[i] / (np.sqrt(a) + eps)

    # Reassociation and reciprocals are left out of the fast-math flags: they would lose bits, and gain nothing here.
    options = {"cache": True, "fastmath": {"nnan", "ninf", "nsz", "contract"}, "error_model": "numpy"}
    return njit(**options)(update), njit(**options)(update_given)


class RMSprop:
    """The state of RMSprop for one matrix W: its moving average A of squared gradients, starting at 0.

    ``gamma`` is the paper's decay of the average (.99); ``epsilon`` is added outside the root.
    """

    def __init__(self, W: np.ndarray, *, gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        kind = W.dtype.type
        self.W = W.reshape(-1)
        self.A = np.zeros_like(self.W)
        self.kind = kind
        self.constants = kind(gamma), kind(1 - gamma)
        self.epsilon = kind(epsilon)
        self._update, self._update_given = compiled()

    def step(self, g: np.ndarray, rate: float, q: np.ndarray | None = None) -> None:
        """Move W against the gradient g (same shape, C order); ``q`` replaces g^2 as the second moment."""
        gamma, rest = self.constants
        if q is None:
            self._update(self.W, self.A, g.reshape(-1), gamma, rest, self.kind(rate), self.epsilon)
        else:
            self._update_given(self.W, self.A, g.reshape(-1), q.reshape(-1), gamma, rest, self.kind(rate), self.epsilon)
