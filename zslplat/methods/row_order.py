"""An order of rows that does not depend on the order in which they are given.

Methods that visit rows one after the other, or break ties by their place, sort them first, so that a permutation of the
training rows changes nothing.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.store.rows import rowwise
from zslplat.errors import DataError
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
