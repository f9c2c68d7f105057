"""From codes to class scores: reconstruction residual, nearest neighbour on codes.

| paper   | here    | shape  | meaning                                              |
|---------|---------|--------|------------------------------------------------------|
| y_(s)   |         |        | the code with all atoms but those of class s at zero |
| eps_s   | -scores | (n, c) | residual of a query for class s, without k(x, x)     |
| gamma_j | classes | (N,)   | class of atom j, or (N, c) labels: 1, 0, -1          |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (27), after Wright et al., "Robust face
recognition via sparse representation". Scores are higher for likelier classes. Where samples have several labels, each
label is told from the rest: the residual (or distance) for the atoms (or samples) that have it not, minus that for
those that have it; those whose entry is not counted (-1) have no part. The linear and bilinear rules are in
``code_classifiers.py``.
"""

from __future__ import annotations

import numpy as np

from zslplat.errors import UsageError
from zslplat.methods.compiled import compiled

NEAREST_ELEMENTS = 1 << 24


def residual_scores(K: np.ndarray, k: np.ndarray, codes: np.ndarray, classes: np.ndarray, c: int) -> np.ndarray:
    """Return 2 y_s'k - y_s'K y_s (n, c), minus the residual (27); a class without an atom scores 0.

    ``classes`` (N, c) instead of (N,): labels, each against the rest. Raises :class:`UsageError` where atoms have no
    class of their own (``classes`` (N,) of -1).
    """
    if classes.ndim == 2:
        return _label_residuals(K, k, codes, classes)
    if (classes < 0).any():
        raise UsageError("rule=residual needs atoms that are samples; take rule=nearest for learned dictionaries")
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(c + 1))
    K, k, codes = (np.require(array, np.float64, ["C", "W"]) for array in (K, k, codes))
    scores = np.zeros((len(codes), c))
    _residuals(K, k, codes, order, starts, scores)
    return scores


@compiled(fastmath={"reassoc", "contract", "nsz"}, nogil=True)
def _residuals(
    K: np.ndarray, k: np.ndarray, codes: np.ndarray, order: np.ndarray, starts: np.ndarray, scores: np.ndarray
) -> None:
    """Only the atoms that a code uses have a part: most codes are zero nearly everywhere."""
    used = np.empty(len(order), dtype=np.int64)
    for i in range(len(codes)):
        y = codes[i]
        for s in range(len(starts) - 1):
            count = 0
            for j in order[starts[s] : starts[s + 1]]:
                if y[j] != 0.0:
                    used[count] = j
                    count += 1
            total = 0.0
            for p in range(count):
                row = K[used[p]]
                image = 0.0
                for r in range(count):
                    image += row[used[r]] * y[used[r]]
                total += y[used[p]] * (2 * k[i, used[p]] - image)
            scores[i, s] = total


def _label_residuals(K: np.ndarray, k: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the residual without the atoms of a label minus that with them alone (n, c)."""
    scores = np.zeros((len(codes), labels.shape[1]))
    for i, y in enumerate(codes):
        used = np.flatnonzero(y)
        images = K[np.ix_(used, used)] * np.outer(y[used], y[used])
        towards = 2 * k[i, used] * y[used]
        for value, sign in ((1, 1.0), (0, -1.0)):
            part = (labels[used] == value).astype(np.float64)
            scores[i] += sign * (towards @ part - np.einsum("ij,ij->j", part, images @ part))
    return scores


def nearest_scores(codes: np.ndarray, train_codes: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    """Return minus the Euclidean distance (n, c) to the nearest training code of each class.

    With labels y (M, c): the distance to the nearest code without a label minus that to the nearest with it.
    """
    if y.ndim == 2:
        return _label_distances(codes, train_codes, y)
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


def _label_distances(codes: np.ndarray, train_codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    norms = np.einsum("ij,ij->i", train_codes, train_codes)
    members = [(np.flatnonzero(y[:, j] == 0), np.flatnonzero(y[:, j] == 1)) for j in range(y.shape[1])]
    scores = np.empty((len(codes), y.shape[1]))
    step = max(1, NEAREST_ELEMENTS // len(train_codes))
    for begin in range(0, len(codes), step):
        part = codes[begin : begin + step]
        squared = np.einsum("ij,ij->i", part, part)[:, None] + norms[None, :] - 2 * part @ train_codes.T
        distances = np.sqrt(np.maximum(squared, 0))
        for j, (without, having) in enumerate(members):
            nearest = distances[:, without].min(axis=1) - distances[:, having].min(axis=1)
            scores[begin : begin + step, j] = nearest
    return scores
