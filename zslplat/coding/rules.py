"""From codes to class scores: reconstruction residual, nearest neighbour on codes.

| paper   | here    | shape  | meaning                                              |
|---------|---------|--------|------------------------------------------------------|
| y_(s)   |         |        | the code with all atoms but those of class s at zero |
| eps_s   | -scores | (n, c) | residual of a query for class s, without k(x, x)     |
| gamma_j | classes | (N,)   | class of atom j                                      |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (27), after Wright et al., "Robust face
recognition via sparse representation". Scores are higher for likelier classes. The linear and bilinear rules are in
``supervision.py``.
"""

from __future__ import annotations

import numpy as np

from zslplat.errors import UsageError

NEAREST_ELEMENTS = 1 << 24


def residual_scores(K: np.ndarray, k: np.ndarray, codes: np.ndarray, classes: np.ndarray, c: int) -> np.ndarray:
    """Return 2 y_s'k - y_s'K y_s (n, c), minus the residual (27); a class without an atom scores 0.

    Raises :class:`UsageError` where atoms have no class of their own (``classes`` of -1).
    """
    if (classes < 0).any():
        raise UsageError("rule=residual needs atoms that are samples; take rule=nearest for learned dictionaries")
    scores = np.zeros((len(codes), c))
    for s in range(c):
        own = np.flatnonzero(classes == s)
        Y = codes[:, own]
        scores[:, s] = 2 * np.einsum("ij,ij->i", Y, k[:, own]) - np.einsum("ij,ij->i", Y @ K[np.ix_(own, own)], Y)
    return scores


def nearest_scores(codes: np.ndarray, train_codes: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    """Return minus the Euclidean distance (n, c) to the nearest training code of each class."""
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(c))
    sorted_codes = train_codes[order]
    norms = np.einsum("ij,ij->i", sorted_codes, sorted_codes)
    scores = np.empty((len(codes), c))
    step = max(1, NEAREST_ELEMENTS // len(train_codes))
    for begin in range(0, len(codes), step):
        part = codes[begin : begin + step]
        squared = np.einsum("ij,ij->i", part, part)[:, None] + norms[None, :] - 2 * part @ sorted_codes.T
        scores[begin : begin + step] = -np.sqrt(np.maximum(np.minimum.reduceat(squared, starts, axis=1), 0))
    return scores
