"""The directions of the signatures, in which alone a ranking loss moves a map.

Every step on W (d, a) is X_b' G S: it lies in the row space of the signatures S (c, a). With S = T Q', Q (a, r)
orthonormal, F = X W S' = X (W Q) T', so that V = W Q (d, r) is all that has to be trained, and

    W = W_0 (I - Q Q') + V Q'.

The result is the same up to rounding, for r / a of the products: fewer where there are fewer classes than attributes.
"""

from __future__ import annotations

import numpy as np

# Products are fastest where their narrow side is a multiple of this: columns of zeros are added.
_WIDTH = 16


class RowSpace:
    """Signatures S (c, a), float64, in coordinates ``T`` (c, r'), and maps W (K, d, a) in theirs (K, d, r').

    r' is the rank of S, rounded up to what products are fast with, or a where that is not less: then nothing changes.
    """

    def __init__(self, S: np.ndarray) -> None:
        left, values, right = np.linalg.svd(S, full_matrices=False)
        rank = int(np.count_nonzero(values > values[0] * max(S.shape) * np.finfo(np.float64).eps))
        width = -(-max(1, rank) // _WIDTH) * _WIDTH
        self.Q: np.ndarray | None = None
        self.T = S
        if width < S.shape[1]:
            self.Q, self.T = np.zeros((S.shape[1], width)), np.zeros((len(S), width))
            self.Q[:, :rank], self.T[:, :rank] = right[:rank].T, left[:, :rank] * values[:rank]

    def inside(self, W: np.ndarray) -> np.ndarray:
        """Return V = W Q (K, d, r') for maps W (K, d, a)."""
        return W if self.Q is None else W @ self.Q

    def outside(self, W: np.ndarray) -> np.ndarray:
        """Return W (I - Q Q') (K, d, a), what no step changes."""
        return np.zeros_like(W) if self.Q is None else W - (W @ self.Q) @ self.Q.T

    def maps(self, V: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Return W (K, d, a), in the type of V, for V (K, d, r') and what is outside."""
        return V if self.Q is None else (V @ self.Q.T.astype(V.dtype) + outside).astype(V.dtype)
