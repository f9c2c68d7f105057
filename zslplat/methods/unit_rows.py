"""Rows of length one: what cosines are made of."""

from __future__ import annotations

import numpy as np


def unit_rows(M: np.ndarray) -> np.ndarray:
    """Return M (n, d) with every row divided by its Euclidean length; rows of zeros stay."""
    length = np.linalg.norm(M, axis=1, keepdims=True)
    return np.asarray(M / np.where(length > 0, length, 1))
