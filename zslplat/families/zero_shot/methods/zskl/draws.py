"""The order of rows and classes, and what is drawn at random, in zero-shot kernel learning.

Rows and classes are sorted by their product with one fixed vector before anything is drawn, so that the result does
not depend on the order in which they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.errors import DataError
from zslplat.methods.base import Features
from zslplat.methods.rows import row_keys


@dataclass(frozen=True)
class OrderedData:
    """Rows and signatures in an order of their own.

    ``order`` (n,) the rows in that order; ``y`` (n,) labels, renumbered; ``S`` (m, a) sorted signatures; ``owner``
    (m,) the renumbered class that each describes; ``classes`` their number c.
    """

    order: np.ndarray
    y: np.ndarray
    S: np.ndarray
    owner: np.ndarray

    @property
    def classes(self) -> int:
        """Number of classes c."""
        return int(self.owner.max()) + 1

    def one_signature_each(self, random: np.random.Generator) -> np.ndarray:
        """Return signatures (c, a), one per class, drawn uniformly where a class has several (Rnd in Eq. 9)."""
        c = self.classes
        if len(self.owner) == c:
            return self.S
        order = np.lexsort((random.random(len(self.owner)), self.owner))
        return np.asarray(self.S[order[np.searchsorted(self.owner[order], np.arange(c))]])


def ordered_data(X: Features, y: np.ndarray, S: np.ndarray, signature_class: np.ndarray | None) -> OrderedData:
    """Sort rows X (n, d), labels y (n,), signatures S (m, a) of classes ``signature_class`` (m,), default 0..m-1.

    Raises :class:`DataError` for shapes that do not fit, NaN, and classes without rows or without signature.
    """
    owner = np.arange(len(S)) if signature_class is None else np.asarray(signature_class)
    if X.ndim != 2 or S.ndim != 2 or y.shape != X.shape[:1] or owner.shape != S.shape[:1]:
        shapes = f"{X.shape}, {y.shape}, {S.shape}, {owner.shape}"
        raise DataError(f"expected X (n, d), y (n,), S (m, a) and signature_class (m,); got {shapes}")
    if not len(X):
        raise DataError("cannot fit on 0 rows")
    described = np.unique(y)
    if not np.array_equal(described, np.unique(owner)) or described[0] != 0 or described[-1] != len(described) - 1:
        raise DataError("labels and classes of the signatures must both run from 0 to c-1, each with a row")
    row_key, signature_key = row_keys("X", X), row_keys("S", S)
    # A class stands where its first signature stands.
    first = np.full(len(described), np.inf)
    np.minimum.at(first, owner, signature_key)
    rank = np.empty(len(described), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(described))
    by_class = np.lexsort((signature_key, rank[owner]))
    y = rank[y]
    return OrderedData(np.lexsort((y, row_key)), y, np.asarray(S)[by_class], rank[owner][by_class])


def draw_negatives(random: np.random.Generator, y: np.ndarray, classes: int, count: int) -> np.ndarray:
    """Return weights (b, c): (c - 1) / ``count`` for as many wrong classes drawn for each row, 0 elsewhere."""
    rows = np.arange(len(y))
    keys = random.random((len(y), classes))
    keys[rows, y] = 2.0
    drawn = np.argpartition(keys, count - 1, axis=1)[:, :count]
    weights = np.zeros_like(keys)
    weights[rows[:, None], drawn] = (classes - 1) / count
    return weights
