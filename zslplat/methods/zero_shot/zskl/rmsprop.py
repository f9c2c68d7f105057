"""The RMSprop update in one pass over memory, in place.

    A <- gamma A + (1 - gamma) g^2,   W <- W - rate g / (sqrt(A) + epsilon)

NumPy needs eight passes and as many temporaries for it; at 1280 x 100 single precision entries that is several times
the cost of the gradient's matrix product.
"""

from __future__ import annotations

import numpy as np


class RMSprop:
    """The state of RMSprop for one matrix W: its moving average A of squared gradients, starting at 0.

    ``gamma`` is the decay of the average (.99 in Zhang and Koniusz, section 5); ``epsilon`` is added outside the root.
    """

    def __init__(self, W: np.ndarray, *, gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        from zslplat.methods.zero_shot.zskl import fast_passes

        if not W.flags.c_contiguous:
            raise ValueError("RMSprop works in place on a C-contiguous array")
        self.kind = W.dtype.type
        self.W = W
        self.A = np.zeros_like(W)
        self.gamma, self.rest, self.epsilon = self.kind(gamma), self.kind(1 - gamma), self.kind(epsilon)
        self._passes = fast_passes
        self._flat: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def step(
        self,
        g: np.ndarray,
        rate: float,
        *,
        plus: np.ndarray | None = None,
        moment: np.ndarray | None = None,
        rows: slice | None = None,
    ) -> None:
        """Move ``rows`` of W (default: all) against the gradient ``g`` (+ ``plus``) of those rows.

        ``moment`` replaces the squared gradient in A. All arrays have the shape of those rows, the dtype of W, and C
        order.
        """
        W, A = self._flattened(rows)
        tail = (self.gamma, self.rest, self.kind(rate), self.epsilon)
        flat = g.reshape(-1)
        if moment is not None:
            self._passes.rmsprop_given_moment(W, A, flat, moment.reshape(-1), *tail)
        elif plus is not None:
            self._passes.rmsprop_two_parts(W, A, flat, plus.reshape(-1), *tail)
        else:
            self._passes.rmsprop(W, A, flat, *tail)

    def _flattened(self, rows: slice | None) -> tuple[np.ndarray, np.ndarray]:
        """Return flat views of those rows of W and A, laid out once: a step is short enough for them to count."""
        key = (0, len(self.W)) if rows is None else (rows.start, rows.stop)
        if key not in self._flat:
            part = slice(*key)
            self._flat[key] = self.W[part].reshape(-1), self.A[part].reshape(-1)
        return self._flat[key]
