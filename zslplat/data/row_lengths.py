"""Lengths of rows whose numbers may be so small or large that their squares are 0 or infinite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def lengths_of(rows: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the lengths (n,) that ``measure`` finds of rows (n, d); far from 1 it is given rows that are scaled to 1.

    A length is 0 for rows of zeros alone.
    """
    with np.errstate(over="ignore", under="ignore"):
        found = measure(rows)
        low, high = (1e-15, 1e15) if rows.dtype == np.float32 else (1e-150, 1e150)
        far = np.flatnonzero(~((found > low) & (found < high)))
        if len(far):
            largest = np.abs(rows[far]).max(axis=1, initial=0)
            scale = np.where(largest > 0, largest, 1).astype(found.dtype)
            found[far] = scale * measure(rows[far] / scale[:, None])
    return found


def normalised(rows: np.ndarray, norm: str) -> np.ndarray:
    """Return rows (n, d) divided by their norm, ``l1`` or ``l2``, which is taken in float64; rows of zeros stay."""
    found = rows.astype(np.float64)
    length = lengths_of(found, _l1 if norm == "l1" else _l2)
    found /= np.where(length > 0, length, 1.0)[:, None]
    return found.astype(rows.dtype, copy=False)


def _l1(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(rows).sum(axis=1))


def _l2(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))
