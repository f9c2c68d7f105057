"""Low-rank features of a kernel: pivoted incomplete Cholesky.

| symbol | shape | meaning |
|---|---|---|
| K | (n, n) | Gram matrix of the rows X, never formed |
| I | (r,) | pivots: rows of X that serve as landmarks |
| L_I | (r, r) | lower triangular, L_I L_I' = K(X_I, X_I) |
| B | (n, r) | features of the rows, B B' ~ K, B[I] = L_I |
| v | (r,) | coordinates of a new point, v = L_I^-1 k(X_I, x), its projection on the span of the landmarks |

v'v <= k(x, x) for every point, as v'v is the squared norm of a projection. Kernel values are taken in
float64, as the residual diagonal is a difference of nearly equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from zslplat.data.store.rows import Rows, rowwise, take_rows
from zslplat.errors import DataError, MethodError, UsageError
from zslplat.kernels.base import Kernel, require_psd, rounding_of_eigenvalues

# A pivot below this share of the largest diagonal entry is rounding, not signal: its square root would divide noise.
RELATIVE_PIVOT = 1e-12
# Rows that are converted to float64 at a time: 8 MiB of 2048 features.
ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class LowRank:
    """Landmarks and their Cholesky factor; :meth:`transform` gives the coordinates of any rows.

    ``kernel``; ``landmarks`` (r, ...) rows X_I in pivot order; ``factor`` L_I (r, r); ``pivots`` (r,) their row
    indices; ``features`` B (n, r) of the rows it was built on; ``residual`` tr(K - B B') / tr(K) on those rows.
    """

    kernel: Kernel
    landmarks: np.ndarray
    factor: np.ndarray
    pivots: np.ndarray
    features: np.ndarray
    residual: float

    @property
    def rank(self) -> int:
        """Number of features r."""
        return len(self.pivots)

    def transform(self, X: np.ndarray | Rows) -> np.ndarray:
        """Return the coordinates (n, r) of rows X, float64, in blocks of Gram rows."""
        return rowwise(X, self._coordinates)

    def _coordinates(self, X: np.ndarray) -> np.ndarray:
        result = np.empty((len(X), self.rank))
        landmarks = np.asarray(self.landmarks, dtype=np.float64)
        for rows, K in self.kernel.blocks(X, landmarks):
            result[rows] = solve_triangular(self.factor, K.T, lower=True, check_finite=False).T
        return result


def incomplete_cholesky(
    kernel: Kernel, X: np.ndarray | Rows, *, rank: int | None = None, tolerance: float = 0.0, block: int = 1
) -> LowRank:
    """Return pivoted incomplete Cholesky features of rows X (n, ...), which may lie in a file and then stay there.

    Each pivot is the row with the largest residual diagonal. Stops at ``rank`` pivots (default: no limit), or when
    tr(K - B B') <= ``tolerance`` tr(K), or when no row has a residual above rounding. Costs n r kernel values and
    n r^2 operations. ``block`` > 1 takes that many candidates at a time (largest residuals at the start of the block,
    then by residual among them), with matrix products instead of vector ones: faster, slightly different pivots. The
    rows are gone through once for every block of pivots.
    Raises :class:`UsageError` for an indefinite kernel or options out of range, :class:`DataError` for no rows and for
    values that are not finite, :class:`MethodError` for a kernel that is found not to be positive semidefinite.
    """
    require_psd(kernel, "incomplete Cholesky")
    limit = _limit(len(X), rank)
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance={tolerance:g} is out of range; expected 0 <= tolerance < 1")
    source = X if isinstance(X, Rows) else np.asarray(X)
    residual = _by_parts(source, kernel.diag)
    if not np.isfinite(residual).all():
        raise DataError(f"kernel {kernel} gave NaN or infinity; scale the features, or choose another kernel")
    total, floor = float(residual.sum()), RELATIVE_PIVOT * float(residual.max())
    rounding = rounding_of_eigenvalues(len(X), float(residual.max()), np.float64)
    # Columns are written and read one after the other: Fortran order keeps each together.
    B = np.empty((len(X), limit if rank is not None else min(limit, 64)), order="F")
    pivots: list[int] = []
    while len(pivots) < limit and residual.sum() > tolerance * total:
        size = max(1, min(block, limit - len(pivots)))
        order = np.argsort(-residual, kind="stable")[:size] if size > 1 else np.array([np.argmax(residual)])
        candidates = order[residual[order] > floor]
        if not len(candidates):
            break
        start = len(pivots)
        chosen = _double(take_rows(source, candidates))
        columns = _by_parts(source, partial(kernel, Y=chosen)).T - B[candidates, :start] @ B[:, :start].T
        waiting = np.ones(len(candidates), dtype=bool)
        while waiting.any() and len(pivots) < limit:
            best = int(np.argmax(np.where(waiting, residual[candidates], -1.0)))
            pivot = int(candidates[best])
            if residual[pivot] <= floor or residual.sum() <= tolerance * total:
                break
            r = len(pivots)
            if r == B.shape[1]:
                B = np.asfortranarray(np.hstack([B, np.empty((len(X), min(r, limit - r)))]))
            column = columns[best] - B[:, start:r] @ B[pivot, start:r]
            column /= np.sqrt(residual[pivot])
            column[pivots] = 0.0  # exactly lower triangular on the pivots
            # No column takes more of a row than is left of it, where the kernel is positive semidefinite; a small pivot
            # divides rounding.
            if residual[pivot] > rounding and float((column * column - residual).max()) > rounding:
                raise MethodError(
                    f"incomplete Cholesky: kernel {kernel} is not positive semidefinite on these rows; choose another "
                    "one; the values of one that is may be lost to rounding: centre the features, or widen the kernel"
                )
            column[pivot] = np.sqrt(residual[pivot])
            B[:, r] = column
            residual = np.maximum(residual - column * column, 0.0)
            pivots.append(pivot)
            residual[pivots] = 0.0
            waiting[best] = False
    landmarks = np.array(pivots, dtype=np.int64)
    features = B[:, : len(landmarks)]
    share = float(residual.sum()) / total if total > 0 else 0.0
    return LowRank(kernel, np.asarray(take_rows(source, landmarks)), features[landmarks], landmarks, features, share)


def _double(rows: np.ndarray | Rows) -> np.ndarray:
    return np.asarray(rows, dtype=np.float64)


def _by_parts(X: np.ndarray | Rows, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply a function to rows converted to float64, a part at a time."""

    def parts(rows: np.ndarray) -> np.ndarray:
        starts = range(0, max(1, len(rows)), ROWS_AT_A_TIME)
        return np.concatenate([of(_double(rows[i : i + ROWS_AT_A_TIME])) for i in starts])

    return rowwise(X, parts)


def _limit(n: int, rank: int | None) -> int:
    if n == 0:
        raise DataError("low-rank features need at least one row")
    if rank is not None and rank < 1:
        raise UsageError(f"rank={rank} is out of range; expected 1 or more")
    return n if rank is None else min(rank, n)
