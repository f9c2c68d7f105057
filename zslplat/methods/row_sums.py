"""Sums over rows that come in blocks, added up row after row, as one sum over all rows of an array adds them up.

What comes out depends on the order of the rows alone, and not on where one block ends and the next begins.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.store.rows import blocks_of
from zslplat.errors import DataError
from zslplat.methods.base import Features


def plus_rows(total: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return total (d,) + the rows (b, d), one after the other, in float64."""
    return np.asarray(np.vstack([total, rows]).sum(axis=0, dtype=np.float64))


def add_by_class(sums: np.ndarray, rows: np.ndarray, y: np.ndarray) -> None:
    """Add rows (b, d) to those rows of ``sums`` (c, d), float64, that their labels y (b,) name."""
    for label in np.unique(y):
        sums[label] = plus_rows(sums[label], rows[y == label])


def require_finite_sums(sums: np.ndarray) -> None:
    """Raise :class:`DataError` where sums over the rows of X are not finite: NaN and infinity stay in any sum."""
    if not np.isfinite(sums).all():
        raise DataError("X holds NaN or infinity")


def all_finite(X: Features) -> bool:
    """Return whether all values of X are finite, in one pass."""
    return all(bool(np.isfinite(block).all()) for _, block in blocks_of(X))
