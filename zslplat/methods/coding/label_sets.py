"""Labels as coding methods take them: one class per row, or a set of labels per row.

| symbol | here    | shape            | meaning                                                                     |
|--------|---------|------------------|-----------------------------------------------------------------------------|
|        | y       | (M,) or (M, c)   | class of each row; or 1 for labels that a row has, 0 for others, -1 for not |
|        |         |                  | counted: the row has no part in what is learned of that label               |
| l_i    | L       | (M, c)           | 0/1 indicators, 0 where not counted                                         |
|        | known   | (M, c) or None   | mask of the entries that count, None where all do                           |
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def label_count(y: np.ndarray) -> int:
    """Return the number c of classes or labels."""
    return int(y.max()) + 1 if y.ndim == 1 else y.shape[1]


def indicators(y: np.ndarray, c: int) -> np.ndarray:
    """Return L (M, c) with 1 at the class, or at every label, of each row."""
    if y.ndim == 2:
        return np.asarray(y == 1, dtype=np.float64)
    L = np.zeros((len(y), c))
    L[np.arange(len(y)), y] = 1.0
    return L


def counted(y: np.ndarray) -> np.ndarray | None:
    """Return the mask (M, c) of the entries that count, None where all do."""
    return y >= 0 if y.ndim == 2 and bool((y < 0).any()) else None


def strata(y: np.ndarray) -> np.ndarray:
    """Return the class (M,) by which rows are shared out; of several labels a row's rarest, c for rows without any."""
    if y.ndim == 1:
        return y
    has = y == 1
    sizes = np.where(has, has.sum(axis=0)[None, :], len(y) + 1)
    return np.asarray(np.where(has.any(axis=1), sizes.argmin(axis=1), y.shape[1]))


def alike(counted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, labels) such that these rows are those that count for each of these labels; every label once."""
    patterns, number = np.unique(counted, axis=1, return_inverse=True)
    for j in range(patterns.shape[1]):
        yield np.flatnonzero(patterns[:, j]), np.flatnonzero(number.reshape(-1) == j)
