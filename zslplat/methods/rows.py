"""Rows: an order that does not depend on how they are passed, sums by blocks, unit length.

An order of rows that does not depend on the order in which they are given.

Methods that visit rows one after the other, or break ties by their place, sort them first, so that a permutation of the
training rows changes nothing.

Sums over rows that come in blocks, added up row after row, as one sum over all rows of an array adds them up.

What comes out depends on the order of the rows alone, and not on where one block ends and the next begins.

Rows of length one: what cosines are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zslplat.data.store.precision import lengths_of
from zslplat.data.store.rows import Where, blocks_of, rowwise
from zslplat.errors import DataError

if TYPE_CHECKING:
    from zslplat.methods.base import Features

_BLOCK = 4096


def row_keys(name: str, A: Features) -> np.ndarray:
    """Return a number per row of A (n, d): its product with one fixed vector, in double precision.

    Equal rows have equal keys. Raises :class:`DataError` where A, called ``name`` in the message, holds NaN or
    infinity, which the products carry on.
    """
    direction = np.random.default_rng(0).standard_normal(A.shape[1])

    def keys_of(rows: np.ndarray) -> np.ndarray:
        keys = [np.asarray(rows[i : i + _BLOCK], np.float64) @ direction for i in range(0, len(rows), _BLOCK)]
        return np.concatenate(keys) if keys else np.zeros(0)

    joined = rowwise(A, keys_of)
    if not np.isfinite(joined).all():
        raise DataError(f"{name} holds NaN or infinity, first in row {int(np.argmin(np.isfinite(joined)))}")
    return joined


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


def lengths(M: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of every row of M (n, d), as (n, 1); 1 for rows of zeros."""
    length = lengths_of(M, lambda rows: np.linalg.norm(rows, axis=1))[:, None]
    return np.asarray(np.where(length > 0, length, 1), dtype=length.dtype)


def unit_rows(M: np.ndarray) -> np.ndarray:
    """Return M (n, d) with every row divided by its Euclidean length; rows of zeros stay."""
    return np.asarray(M / lengths(M))


def require_finite(X: np.ndarray, where: int | Where = 0) -> None:
    """Raise :class:`DataError` that names the row where X (n, ...) is not finite.

    ``where``: what the rows are called, the number of the first or :data:`~zslplat.data.store.rows.Where` they lie.
    """
    # A finite sum takes one pass and no temporary; only where it is not does every entry have to be looked at.
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(X.sum()):
            return
    finite = np.isfinite(X.reshape(len(X), -1)).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        if isinstance(where, np.ndarray):
            row = int(where[bad])
        else:
            row = bad + (where if isinstance(where, int) else int(where.start))
        raise DataError(f"row {row} holds NaN or infinity; clean the rows first")
