"""Rows of length one: what cosines are made of."""

from __future__ import annotations

import numpy as np

from zslplat.data.store.precision import lengths_of


def lengths(M: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of every row of M (n, d), as (n, 1); 1 for rows of zeros."""
    length = lengths_of(M, lambda rows: np.linalg.norm(rows, axis=1))[:, None]
    return np.asarray(np.where(length > 0, length, 1), dtype=length.dtype)


def unit_rows(M: np.ndarray) -> np.ndarray:
    """Return M (n, d) with every row divided by its Euclidean length; rows of zeros stay."""
    return np.asarray(M / lengths(M))
