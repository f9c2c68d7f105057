"""The entrywise part of a step of zero-shot kernel learning with a radial kernel, fused into two passes.

Between the matrix products of a step lie some fifteen operations on (b, c) entries; as single NumPy calls they cost as
much as the products themselves where batches are small. Compiled on first use and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``distances(t, u, v, d)`` and ``terms(...)``, see their comments."""
    from numba import njit

    def distances(t: Any, u: Any, v: Any, d: Any) -> None:
        # d = max(u + v - 2 t, 0) for t (b, c), u (b,), v (c,); NaN stays.
        for i in range(t.shape[0]):
            for j in range(t.shape[1]):
                x = u[i] + v[j] - 2 * t[i, j]
                d[i, j] = 0 if x < 0 else x

    def terms(
        k: Any,
        slope: Any,
        y: Any,
        right: Any,
        wrong: Any,
        negatives: Any,
        squared: Any,
        A: Any,
        rows: Any,
        columns: Any,
    ) -> Any:
        # Loss of kernel values k (b, c) with slopes dk/dd; A = dL/dt = -2 dL/dd; sums of dL/dd by rows and columns.
        # k and slope are used up. negatives (b, c) may be empty.
        one = k.dtype.type(1)
        total = 0.0
        columns[:] = 0
        for i in range(k.shape[0]):
            own = y[i]
            k_own, slope_own = k[i, own], slope[i, own]
            k[i, own] = 0
            slope[i, own] = 0
            by_row = k.dtype.type(0)
            loss = k.dtype.type(0)
            for j in range(k.shape[1]):
                weight = wrong if negatives.size == 0 else wrong * negatives[i, j]
                value = k[i, j]
                if squared:
                    loss += weight * value * value
                    h = 2 * weight * value * slope[i, j]
                else:
                    loss += weight * value
                    h = weight * slope[i, j]
                A[i, j] = -2 * h
                by_row += h
                columns[j] += h
            if squared:
                total += loss + right[own] * (one - k_own) * (one - k_own)
                h = 2 * right[own] * (k_own - one) * slope_own
            else:
                total += loss - right[own] * k_own
                h = -right[own] * slope_own
            A[i, own] = -2 * h
            rows[i] = by_row + h
            columns[own] += h
        return total

    # Reassociation lets the sums become vector instructions; NaN and infinity are kept as they are.
    compile_ = njit(cache=True, fastmath={"contract", "reassoc"}, error_model="numpy")
    return compile_(distances), compile_(terms)


def writable(values: np.ndarray) -> np.ndarray:
    """Return the array itself, or a copy where it is read-only or not in C order."""
    return np.require(values, requirements=["C", "W"])
