"""The loss of LatEm: K maps of which the best counts, against one wrong class a row.

Symbols in :mod:`zslplat.methods.zero_shot.ranking`. F(x, c) = max_k x W_k s_c'. For a wrong class c drawn uniformly,
with k* the best map for c and k+ the best for the right class y: where margin + F(x, c) > F(x, y), the step is

    W_k* -= eta x' s_c,    W_k+ += eta x' s_y,

which for k* = k+ is one step by x'(s_c - s_y): read in the authors' ``latEm_train.m``.
"""

from __future__ import annotations

import numpy as np


class Latent:
    """The loss of the rows of a batch through K maps, one wrong class drawn for each."""

    def __init__(self, margin: float, maps: int) -> None:
        self.margin, self.maps = margin, maps

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (b,) and R = dL/dP (b, K a) for P = X_b W (b, K a)."""
        b = len(y)
        wrong = random.integers(0, len(S) - 1, size=b)
        wrong += wrong >= y
        each = P.reshape(b, self.maps, -1)
        s_c, s_y = S[wrong], S[y]
        F_c, F_y = np.matmul(each, s_c[:, :, None])[:, :, 0], np.matmul(each, s_y[:, :, None])[:, :, 0]
        k_c, k_y = np.argmax(F_c, axis=1), np.argmax(F_y, axis=1)
        rows = np.arange(b)
        losses = np.maximum(F_c[rows, k_c] - F_y[rows, k_y] + P.dtype.type(self.margin), 0)
        violated = np.flatnonzero(losses > 0)
        R = np.zeros_like(each)
        R[violated, k_c[violated]] = s_c[violated]
        R[violated, k_y[violated]] -= s_y[violated]
        return losses, R.reshape(P.shape)


def latent_scores(P: np.ndarray, S: np.ndarray, maps: int) -> np.ndarray:
    """Return F (n, c), the largest of x W_k s_c' over the maps, for P = X W (n, K a)."""
    parts = P.reshape(len(P), maps, -1)
    best = parts[:, 0] @ S.T
    for k in range(1, maps):
        np.maximum(best, parts[:, k] @ S.T, out=best)
    return np.asarray(best)
