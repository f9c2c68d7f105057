"""Landmarks for a kernel: the few rows that span what the machines see of the pool.

| paper | here         | shape    | meaning                                                            |
|-------|--------------|----------|--------------------------------------------------------------------|
|       | landmarks, Z | (r, ...) | rows (or k-means centres), in pivot order                          |
|       | factor, L    | (r, r)   | lower triangular, L L' = k(Z, Z)                                   |
| v     | v            | (r,)     | L^-1 k(Z, x): the projection of a row on the span of the landmarks |

The coordinates of a row are always L^-1 k(Z, x), r kernel values, also when the landmarks are the pivots of an
incomplete Cholesky factorisation. That is a projection, so that |v|^2 never exceeds k(x, x). A least squares fit to
the n rows of the factor, which needs n kernel values, is none and would give negative squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.data.store.rows import Rows
from zslplat.errors import UsageError
from zslplat.families.exemplars.methods.base import Negatives, count_rows, row_blocks
from zslplat.kernels import Kernel, incomplete_cholesky
from zslplat.kernels.on_view import columns_read

# Whole blocks of this size, whatever the rank: the pivots of a smaller rank are the first pivots of a larger one.
PIVOTS_AT_ONCE = 8
CHOICES = ("cholesky", "nystrom", "kmeans")


@dataclass(frozen=True)
class Landmarks:
    """Landmarks Z (r, ...) in pivot order and the Cholesky factor (r, r) of their Gram matrix.

    The first s of them, with the leading (s, s) block of the factor, are landmarks in their own right.
    """

    rows: np.ndarray
    factor: np.ndarray


def choose(
    kernel: Kernel, pool: Negatives, *, how: str, rank: int | None, residual: float, candidates: int, seed: int
) -> Landmarks:
    """Choose landmarks in a pool of n rows.

    ``how``: ``cholesky`` takes the pivots of the incomplete Cholesky factorisation, the row with the largest residual
    each time, until ``rank`` or until the trace of the residual falls to the share ``residual``; ``nystrom`` draws
    ``rank`` rows; ``kmeans`` takes ``rank`` centres. Landmarks that depend on the others are dropped. Where the pool
    has more than ``candidates`` rows, pivots and centres are sought among as many drawn ones, so that memory is
    bounded whatever n is.
    """
    n = count_rows(pool)
    if how != "cholesky" and rank is None:
        raise UsageError(f"landmarks={how} needs a rank; give rank=500, say, or landmarks=cholesky for full rank")
    number = candidates if rank is None else max(candidates, rank)
    if rank is None and n > candidates:
        raise UsageError(f"full rank on {n} negatives needs candidates={n} or more (now {candidates}); or give a rank")
    drawn = min(n, int(rank or n)) if how == "nystrom" else min(n, number)
    rows = gather(pool, np.sort(np.random.default_rng(seed).permutation(n)[:drawn]), n)
    if how == "kmeans":
        read = columns_read(kernel, rows.shape[-1]) if kernel.input == "vectors" else None
        if read is None:
            raise UsageError(f"k-means has no centres for the inputs of {kernel}; use landmarks=cholesky or nystrom")
        from sklearn.cluster import MiniBatchKMeans  # slow to import, and seldom wanted

        clusters = min(int(rank or n), len(rows))
        clustering = MiniBatchKMeans(clusters, n_init=1, batch_size=2048, random_state=seed).fit(rows[:, read])
        # What the kernel does not read says nothing of what is alike.
        rows = np.zeros((clusters, rows.shape[1]))
        rows[:, read] = clustering.cluster_centers_
    share = residual if how == "cholesky" else 0.0
    whole = None if rank is None else -(-rank // PIVOTS_AT_ONCE) * PIVOTS_AT_ONCE
    factored = incomplete_cholesky(kernel, rows, rank=whole, tolerance=share, block=PIVOTS_AT_ONCE)
    return Landmarks(np.asarray(factored.landmarks, dtype=np.float64)[:rank], factored.factor[:rank, :rank])


def gather(pool: Negatives, indices: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of a pool at ascending ``indices``, float64, reading it block by block."""
    if isinstance(pool, np.ndarray | Rows):
        rows = pool[indices] if isinstance(pool, np.ndarray) else np.asarray(pool.take(indices))
        return next(row_blocks(np.asarray(rows), max(1, len(indices))))
    parts, start = [], 0
    for part in row_blocks(pool):
        low, high = np.searchsorted(indices, [start, start + len(part)])
        parts.append(part[indices[low:high] - start])
        start += len(part)
    return np.concatenate(parts)
