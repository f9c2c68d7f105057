"""Kernel SLEM: exemplar machines in the space of a kernel, one factorisation of the negatives for all of them.

Rezende, Zepeda, Ponce, Bach and Perez, "Kernel square-loss exemplar machines for image retrieval", CVPR 2017. Rows
are samples here; the closed forms, with their table of symbols, are in
:mod:`zslplat.families.exemplars.methods.machine`.

| paper   | here          | shape    | meaning                                                                         |
|---------|---------------|----------|---------------------------------------------------------------------------------|
| K = BB' |               | (n, n)   | Gram matrix of the negatives, never formed                                      |
| b_i, v  | v             | (r,)     | L^-1 k(Z, x), with the landmarks Z and L of ``landmarks.py``      |
|         | landmarks_, Z | (r, ...) | landmarks                                                                       |
|         | map_          | (r, r)   | L^-T E, so that coordinates are t = k(x, Z) map_ - offset_                      |
|         | offset_       | (r,)     | E' (mean of the b_i)                                                            |
|         | values_, w, E | (r,)     | eigenvalues and eigenvectors of the biased covariance of the b_i                |
| k_00    | diag          | (n,)     | k(x, x)                                                                         |
| u^2     | squares       | (n,)     | k(x, x) - |v|^2, never negative                                                 |

The negatives are read twice in blocks (for landmarks, then for mean and covariance of their coordinates), so that
memory is bounded by the rank. Encoding a row costs r kernel values and one product with an (r, r) matrix. An encoding
keeps the encoded rows themselves, in their precision, since similarity takes kernel values between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from zslplat.data.store.rows import Rows, rowwise
from zslplat.errors import MethodError
from zslplat.families.exemplars.methods import moments
from zslplat.families.exemplars.methods.base import BLOCK_ROWS, Negatives, count_rows, row_blocks
from zslplat.families.exemplars.methods.slem import SquareLossMethod
from zslplat.kernels import Kernel, parse_kernel
from zslplat.kernels.base import require_psd
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.methods.rows import require_finite
from zslplat.space import ANY, Choice, Integer, Optional, Range, Real, Space, parameter

RESOLVING_ROWS = 1000
WIDEST = 32.0
BLOCK_ELEMENTS = 1 << 22
# Enough rows for fast matrix products, few enough that kernel values stay near the cache.
ENCODED_ROWS = 512


class KernelSLEM(KernelMethod, SquareLossMethod):
    r"""Square-loss exemplar machines in the space of any positive semidefinite kernel (Rezende et al., CVPR 2017).

    ``kernel``: an expression such as ``gaussian`` or ``0.5*gaussian(sigma=1) + linear``, whose parameters are tuned
    with the method's (``kernel.sigma``). ``landmarks``, ``rank``, ``residual``, ``candidates``, ``seed``: how the Gram
    matrix of the negatives is approximated, see :func:`zslplat.families.exemplars.methods.moments.choose`;
    ``rank=None`` with ``residual=0`` is full rank. The rank is not searched unless a range is given: more landmarks are
    better until they span what differs among the negatives, and validation folds, with fewer negatives, reach that
    sooner than the refit. With the kernel fixed, everything but the scores is prepared once for all ``lam``; where the
    rank is searched, too, all ranks share the landmarks and coordinates of the largest. ``lam`` is in units of the
    variance of the negatives in the space of the kernel, which shrinks as a bandwidth grows, or absolute
    (``scale="absolute"``).

    Learned: ``landmarks_`` (r, ...), ``map_`` (r, r), ``offset_`` (r,), ``values_`` (r,), ``count_``, ``kernel_``,
    ``lam_`` (absolute).
    float64 throughout: the scores subtract nearly equal numbers. Not tagged ``stationary``, for the reason that
    :class:`~zslplat.families.exemplars.methods.slem.SLEM` gives.

    Equations
    ---------
    The machines of ``slem`` in the space of a kernel: with K the Gram matrix of the negatives and coordinates v of its
    factor,

    $$h \propto (\Sigma_v + \lambda I)^{-1} (v_0 - \bar v), \qquad K \approx V V^\top$$

    and what a row has outside the span of the factor enters through its kernel values.

    Related
    -------
    ``slem`` is the linear form; ``exemplar-svm`` its slow rival; ``whitening`` and ``cosine`` are what both are
    compared with.
    """

    summary = "square-loss exemplar machines in closed form, any kernel, full or low rank"
    tags = ("kernel", "closed form")
    takes_blocks = True
    tolerance = 1e-4
    tolerance_reason = "pivots with nearly equal residuals may change places when rows are reordered"
    lam = 1e-3
    rank = parameter("landmarks, no more than negatives; none: as many as needed", Optional(Integer(1)), default=1000)
    landmarks = parameter("Cholesky pivots, drawn rows or centres", Choice(moments.CHOICES), default="cholesky")
    residual = parameter("share of the trace at which Cholesky pivots stop", Real(0, 0.999), default=0.0)
    candidates = parameter("pivots and centres are sought among so many rows at most", Integer(1), default=8192)
    seed = parameter("draws rows and starts k-means", Integer(0), default=0)

    def parsed_kernel(self) -> Kernel:
        """Return the kernel, on vectors or on matrices; raises :class:`UsageError` for one that is not PSD."""
        if str(self.kernel) != ANY:
            kernel = parse_kernel(self.kernel)
            if kernel.input != "vectors":
                require_psd(kernel, "kslem")
                return self._bound(kernel)
        return super().parsed_kernel()

    @property
    def space(self) -> Space:
        """The ranges that tuning searches; kernels may be 32 median distances wide, where exemplars are often best."""
        return {name: _wide(dimension) for name, dimension in super().space.items()}

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return landmarks and the spectrum of the negatives; nothing where kernel or landmarks are searched.

        Where the rank is searched, landmarks are those of the largest rank, with the covariance in their coordinates.
        """
        self.check_parameters()
        searched = set(space) - set(SquareLossMethod.parameters)
        if searched == {"rank"} and self.landmarks == "cholesky":
            return self._pool(negatives, _largest(space["rank"]))
        return {} if searched else self._rotated(self._pool(negatives, self.rank))

    def prepare_score(self, X: Features, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the coordinates of rows X (n, ...), those of the largest rank where the rank is searched."""
        if not statistics:
            return {}
        kernel = parse_kernel(str(statistics["kernel"]))
        Z = np.asarray(statistics["landmarks"])
        if "map" in statistics:
            return _coordinates(kernel, X, Z, np.asarray(statistics["map"]), np.asarray(statistics["offset"]))
        factor = np.asarray(statistics["factor"])
        return {
            "projections": rowwise(X, lambda rows: np.vstack([v for v, _ in _projections(kernel, [rows], Z, factor)]))
        }

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Fit on negatives (n, ...): an array, a memory-mapped one, or a list of blocks."""
        rotated = statistics if "map" in statistics else self._rotated(statistics)
        self.kernel_ = parse_kernel(str(rotated["kernel"]))
        self.landmarks_ = np.asarray(rotated["landmarks"])
        self.map_ = np.asarray(rotated["map"])
        self.offset_ = np.asarray(rotated["offset"])
        self.values_ = np.asarray(rotated["values"])
        self.count_ = int(rotated["count"])
        # What brings projections prepared for a larger rank into the basis of this one.
        self._rotation: np.ndarray | None = rotated.get("rotation")
        variance = float(rotated["variance"])
        self._settle(variance, float(rotated["square"]))
        self.diagnostics_ = Diagnostics(
            numbers={
                "negatives": self.count_,
                "rank": len(self.values_),
                "residual": float(rotated["left"]),
                "variance": variance,
                "lam_absolute": self.lam_,
                **self.resolved_numbers(self.kernel_),
            }
        )

    def encode(self, X: Features, *, statistics: Statistics = None, **pool: Any) -> Any:
        """Encode rows X (n, ...); ``pool`` is ``member`` and ``group``, see
        :class:`zslplat.families.exemplars.methods.slem.SLEM`."""
        if statistics and "projections" in statistics and self._rotation is not None:
            v = np.asarray(statistics["projections"])[:, : len(self._rotation)]
            squares = _left_over(self.kernel_, X, np.einsum("ij,ij->i", v, v))
            statistics = {"vectors": v @ self._rotation - self.offset_, "squares": squares}
        return super().encode(X, statistics=statistics or None, **pool)

    def matrices(self) -> Arrays:
        """Return landmarks, the map to coordinates, its offset and the eigenvalues."""
        return {"landmarks": self.landmarks_, "map": self.map_, "offset": self.offset_, "values": self.values_}

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Set what :meth:`state` returned."""
        super().restore(state)
        self._rotation = None
        return self

    def _pool(self, negatives: Negatives, rank: int | None) -> Arrays:
        """Return landmarks with mean and covariance of the negatives in their coordinates v (unrotated)."""
        count = count_rows(negatives)
        kernel = _resolved(self.parsed_kernel(), negatives, count)
        chosen = moments.choose(
            kernel,
            negatives,
            how=self.landmarks,
            rank=rank,
            residual=self.residual,
            candidates=self.candidates,
            seed=self.seed,
        )
        if not len(chosen.rows):
            raise MethodError(f"kernel {kernel} is zero on all negatives; use another kernel or other features")
        traces = np.zeros((2, len(chosen.rows)))
        pool = moments.accumulate(_traced(_projections(kernel, _parts(negatives), chosen.rows, chosen.factor), traces))
        return {
            "kernel": np.array(str(kernel)),
            "landmarks": chosen.rows,
            "factor": chosen.factor,
            "mean": pool.mean,
            "covariance": pool.covariance,
            "count": np.array(count),
            "traces": traces,
        }

    def _rotated(self, pool: Mapping[str, np.ndarray]) -> Arrays:
        """Return the pool in the basis of its covariance, cut to this method's rank."""
        r = len(pool["mean"]) if self.rank is None else min(self.rank, len(pool["mean"]))
        values, E = moments.eigensystem(np.asarray(pool["covariance"])[:r, :r])
        factor = np.asarray(pool["factor"])[:r, :r]
        traces = np.asarray(pool["traces"])
        offset = np.asarray(pool["mean"])[:r] @ E
        square = float(traces[1, 0]) / int(pool["count"])
        return {
            "kernel": pool["kernel"],
            "landmarks": np.asarray(pool["landmarks"])[:r],
            "map": np.ascontiguousarray(solve_triangular(factor, E, lower=True, trans="T", check_finite=False)),
            "offset": offset,
            "values": values,
            "rotation": E,
            "count": pool["count"],
            "square": np.array(square),
            # With what the landmarks leave out, so that it hardly depends on their number.
            "variance": np.array(max(0.0, square - float(offset @ offset))),
            "left": np.array(max(0.0, 1 - traces[0, :r].sum() / traces[1, 0]) if traces[1, 0] > 0 else 0.0),
        }

    def _coordinates(self, X: Features) -> Arrays:
        return _coordinates(self.kernel_, X, self.landmarks_, self.map_, self.offset_)

    def _points(self, X: Features) -> np.ndarray:
        # Kept as they come, so that an index of float32 rows stays float32; kernel values are float64 all the same.
        return rowwise(X, np.asarray)

    def _outside(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(self.kernel_(np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)))


def _wide(dimension: Range) -> Range:
    """Return the range with its wide end at 32 median distances or beyond; ranges without such a unit as they are."""
    if not isinstance(dimension, Real):
        return dimension
    if dimension.unit == "*median":
        return replace(dimension, high=max(dimension.high, WIDEST))
    narrowest = {"/median": 1 / WIDEST, "/median^2": 1 / WIDEST**2}.get(dimension.unit, dimension.low)
    return replace(dimension, low=min(dimension.low, narrowest))


def _largest(ranks: Any) -> int | None:
    if isinstance(ranks, Choice):
        return None if None in ranks.values else int(max(ranks.values))
    return int(ranks.high)


def _parts(rows: Negatives) -> Iterable[Features]:
    return [rows] if isinstance(rows, np.ndarray | Rows) else rows


def _resolved(kernel: Kernel, pool: Negatives, count: int) -> Kernel:
    """Return the kernel with numbers from the pool for what is in units of the data."""
    if kernel.is_resolved:
        return kernel
    drawn = np.random.default_rng(0).permutation(count)[:RESOLVING_ROWS]
    return kernel.resolved(moments.gather(pool, np.sort(drawn), count))


def _projections(
    kernel: Kernel, parts: Iterable[Features], landmarks: np.ndarray, factor: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield v = L^-1 k(Z, x) (b, r) and k(x, x) (b,) for blocks of rows."""
    size = max(1, min(BLOCK_ROWS, BLOCK_ELEMENTS // len(landmarks)))
    for part in parts:
        for rows in row_blocks(part, size):
            K = kernel(rows, landmarks)
            yield solve_triangular(factor, K.T, lower=True, overwrite_b=True, check_finite=False).T, kernel.diag(rows)


def _traced(blocks: Iterable[tuple[np.ndarray, np.ndarray]], traces: np.ndarray) -> Iterator[np.ndarray]:
    """Pass on the projections, adding |v_j|^2 to the first row of ``traces`` and k(x, x) to the second's start."""
    for v, diagonal in blocks:
        traces[0] += np.einsum("ij,ij->j", v, v)
        traces[1, 0] += float(diagonal.sum())
        yield v


def _coordinates(kernel: Kernel, X: Features, landmarks: np.ndarray, map_: np.ndarray, offset: np.ndarray) -> Arrays:
    vectors, squares = np.empty((len(X), map_.shape[1])), np.empty(len(X))
    if isinstance(X, Rows):
        for where, block in X.blocks():
            require_finite(block, where)
            coordinates = _coordinates(kernel, block, landmarks, map_, offset)
            vectors[where], squares[where] = coordinates["vectors"], coordinates["squares"]
        return {"vectors": vectors, "squares": squares}
    X = np.asarray(X)
    for part, K in kernel.blocks(X, landmarks, rows=ENCODED_ROWS):
        require_finite(X[part], part.start)
        projected = np.matmul(K, map_, out=vectors[part])
        squares[part] = kernel.diag(np.asarray(X[part], dtype=np.float64))
        squares[part] -= np.einsum("ij,ij->i", projected, projected)
        projected -= offset
    return {"vectors": vectors, "squares": np.maximum(squares, 0.0)}


def _left_over(kernel: Kernel, X: Features, projected: np.ndarray) -> np.ndarray:
    diagonal = rowwise(X, lambda rows: kernel.diag(np.asarray(rows, dtype=np.float64)))
    return np.asarray(np.maximum(diagonal - projected, 0.0))
