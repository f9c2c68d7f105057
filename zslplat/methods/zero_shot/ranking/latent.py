"""The loss of LatEm: K maps of which the best counts, against one wrong class a row.

Symbols in :mod:`zslplat.methods.zero_shot.ranking`. F(x, c) = max_k x W_k s_c'. For a wrong class c drawn uniformly,
with k* the best map for c and k+ the best for the right class y: where margin + F(x, c) > F(x, y), the step is

    W_k* -= eta x' s_c,    W_k+ += eta x' s_y,

which for k* = k+ is one step by x'(s_c - s_y): read in the authors' ``latEm_train.m``.
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.zero_shot.ranking.losses import Move


class Latent:
    """The loss of the rows of a batch through K maps, one wrong class drawn for each."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and the move of each map, for P = X_b W_k (K, b, a); a row moves two at most."""
        if len(S) == 1:  # of one class nothing can be wrong
            return np.zeros(len(y), dtype=P.dtype), [(slice(0), S[:0])] * len(P)
        rows = np.arange(len(y))
        wrong = random.integers(0, len(S) - 1, size=len(y))
        wrong += wrong >= y
        s_c, s_y = S[wrong], S[y]
        F_c, F_y = np.einsum("kba,ba->kb", P, s_c), np.einsum("kba,ba->kb", P, s_y)
        k_c, k_y = np.argmax(F_c, axis=0), np.argmax(F_y, axis=0)
        losses = np.maximum(F_c[k_c, rows] - F_y[k_y, rows] + P.dtype.type(self.margin), 0)
        violated = losses > 0
        moves: list[Move] = []
        for k in range(len(P)):
            lowered, raised = violated & (k_c == k), violated & (k_y == k)
            moved = np.flatnonzero(lowered | raised)
            moves.append((moved, s_c[moved] * lowered[moved, None] - s_y[moved] * raised[moved, None]))
        return losses, moves


def latent_scores(X: np.ndarray, S: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return F (n, c), the largest of x W_k s_c' over the maps W (K, d, a), for rows X (n, d) and S (c, a)."""
    best = X @ W[0] @ S.T
    for W_k in W[1:]:
        np.maximum(best, X @ W_k @ S.T, out=best)
    return np.asarray(best)
