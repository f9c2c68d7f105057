"""Mean and covariance of a pool of rows, in one pass over blocks, and their eigendecomposition.

| paper | here       | shape  | meaning                                     |
|-------|------------|--------|---------------------------------------------|
| n     | count      | scalar | number of negatives                         |
| mu    | mean       | (d,)   | their mean                                  |
| Sigma | covariance | (d, d) | their biased covariance, (1/n) X'X - mu mu' |

Memory is one block and one (d, d) matrix whatever the number of rows. Sums are taken about the mean of the first
block, so that data far from the origin loses no digits; all in float64.

Landmarks for a kernel: the few rows that span what the machines see of the pool.

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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from zslplat.data.store.rows import Rows
from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods.base import Negatives, count_rows, row_blocks
from zslplat.kernels import Kernel, incomplete_cholesky
from zslplat.kernels.on_view import columns_read


@dataclass(frozen=True)
class Moments:
    """Count, mean (d,) and biased covariance (d, d) of a pool of rows."""

    count: int
    mean: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Spectrum:
    """The pool of negatives in the basis of its covariance: all that an exemplar machine needs to know of it.

    ``values`` (r,) eigenvalues, not negative, descending; ``offset`` (r,) the mean in that basis, zero where points
    are already centred; ``count`` the number of negatives.
    """

    values: np.ndarray
    offset: np.ndarray
    count: int


def accumulate(blocks: Iterable[np.ndarray]) -> Moments:
    """Return the moments of all rows of the blocks (each (b, d), float64); raises DataError for uneven widths."""
    count = 0
    shift = total = scatter = np.zeros(0)
    for block in blocks:
        if block.ndim != 2 or (count and block.shape[1] != len(shift)):
            raise DataError(f"expected blocks of rows (b, {len(shift) or 'd'}); got {block.shape}")
        if count == 0:
            shift = block.mean(axis=0)
            total = np.zeros_like(shift)
            scatter = np.zeros((len(shift), len(shift)), order="F")
        centred = block - shift
        total += centred.sum(axis=0)
        # The upper triangle of scatter += centred' centred, in place.
        scatter = blas.dsyrk(1.0, centred.T, beta=1.0, c=scatter, overwrite_c=1)
        count += len(block)
    if not count:
        raise DataError("expected at least one row, got none")
    deviation = total / count
    covariance = np.triu(scatter) / count
    covariance += np.triu(covariance, 1).T
    covariance -= np.outer(deviation, deviation)
    return Moments(count, shift + deviation, covariance)


def eigensystem(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (r,), descending and clipped at zero, and eigenvectors (d, r) of a covariance."""
    values, vectors = linalg.eigh(covariance, driver="evd", check_finite=False)
    return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])


def thin_eigensystem(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the non-zero eigenvalues (r,) and eigenvectors (d, r) of (1/n) X'X for few, centred rows X (n, d)."""
    n, d = centred.shape
    values, left = eigensystem(centred @ centred.T / n)
    # Below this an eigenvalue of the Gram matrix is rounding.
    positive = values > max(n, d) * np.finfo(float).eps * max(float(values[0]), np.finfo(float).tiny)
    values, left = values[positive], left[:, positive]
    vectors = centred.T @ (left / np.sqrt(n * values))
    # The division by small roots costs orthogonality; one QR pass restores it.
    vectors, triangle = linalg.qr(vectors, mode="economic", check_finite=False)
    return values, np.ascontiguousarray(vectors * np.where(np.diag(triangle) < 0, -1.0, 1.0))


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
