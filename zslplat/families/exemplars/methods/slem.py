"""SLEM: an exemplar machine per row at the price of a rotation.

Rezende, Zepeda, Ponce, Bach and Perez, "Kernel square-loss exemplar machines for image retrieval", CVPR 2017. Rows
are samples here; the closed forms, with their table of symbols, are in
:mod:`zslplat.families.exemplars.methods.machine`.

| paper | here           | shape  | meaning                                                         |
|-------|----------------|--------|-----------------------------------------------------------------|
| x_i   | negatives      | (n, d) | the common pool                                                 |
| x_0   | X              | (m, d) | rows that become exemplars                                      |
| mu    | mean_          | (d,)   | mean of the negatives                                           |
|       | directions_, E | (d, r) | eigenvectors of their covariance; r = d, or below n where n < d |
|       | values_, w     | (r,)   | its eigenvalues                                                 |
|       | t              | (m, r) | (x - mu) E                                                      |

With n < d the covariance has at most n - 1 directions: those come from the (n, n) Gram matrix, and what rows have
outside them enters through their inner products, so that nothing of size d^2 is formed.

What linear and kernel exemplar machines share: from coordinates of rows to scores and decision values.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import rowwise
from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods import machine, moments
from zslplat.families.exemplars.methods.base import (
    Encoding,
    ExemplarMethod,
    Negatives,
    checked_blocks,
    count_rows,
    row_blocks,
)
from zslplat.families.exemplars.methods.moments import Spectrum
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.space import POSITIVE, Choice, Real, Space, parameter


class SquareLossMethod(ExemplarMethod):
    """Base of the methods whose machines have the closed form of :mod:`zslplat.families.exemplars.methods.machine`.

    ``lam`` is in units of the variance of the negatives, their mean squared distance from their mean (in the space of
    the kernel, where there is one), so that one range serves features of any length and kernels of any bandwidth; or
    absolute (``scale="absolute"``). What it comes to is ``lam_``.
    """

    citation = "Rezende et al.: Kernel square-loss exemplar machines for image retrieval. CVPR 2017"
    preprocessing = Preprocessing(features=("l2",))
    lam = parameter("ridge of every machine, in the unit of scale", POSITIVE, Real(1e-6, 10, log=True), default=1e-2)
    scale = parameter("unit of lam: variance of negatives, or 1", Choice(("variance", "absolute")), default="variance")
    theta = parameter("weight of positives against negatives; single ones ignore it", POSITIVE, default=1.0)
    scores = parameter("cosine of machines, or their raw inner product", Choice(("cosine", "raw")), default="cosine")
    lam_: float
    values_: np.ndarray
    offset_: np.ndarray
    count_: int

    @abstractmethod
    def _coordinates(self, X: Features) -> Arrays:
        """Return ``vectors`` (n, r), and ``squares`` (n,) where rows have a part outside the span."""

    @abstractmethod
    def _points(self, X: Features) -> np.ndarray:
        """Return the rows as :meth:`_outside` takes them."""

    @abstractmethod
    def _outside(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel values (n_a, n_b) of points."""

    def encode(
        self,
        X: Features,
        *,
        statistics: Statistics = None,
        member: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ) -> Encoding:
        """Encode rows X (n, ...).

        ``member`` (n,) marks rows that are among the negatives: their machines are those of the pool without them.
        ``group`` (n,) names the exemplar that each row is a positive of; exemplars come in the sorted order of names.
        """
        if statistics is None:
            statistics = self._coordinates(X)
        vectors, squares = np.asarray(statistics["vectors"]), statistics.get("squares")
        for name, array in (("member", member), ("group", group)):
            if array is not None and np.shape(array) != (len(vectors),):
                raise UsageError(f"{name} has shape {np.shape(array)}; expected one entry for each of {len(X)} rows")
        marks = None if member is None else np.asarray(member, dtype=bool)
        numbers = None if group is None else np.unique(np.asarray(group), return_inverse=True)[1]
        points = None if squares is None else self._points(X)
        return Encoding(vectors, points, squares, marks, numbers)

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the scores (n_a, n_b) between the machines of two encodings."""
        both = self._machines(A), self._machines(B)
        raw = self.scores == "raw"
        return machine.similarity(*both, self._spectrum(), self.theta, self._outside, raw=raw)

    def decision_function(self, A: Encoding, X: np.ndarray) -> np.ndarray:
        """Return the value (n_a, n) of every machine of A on rows X (n, ...), bias included."""
        machines, rows = self._machines(A), self.encode(X)
        return machine.decision_values(machines, rows, self._spectrum(), self.theta, self._outside)

    def _settle(self, variance: float, square: float) -> None:
        """Turn lam into an absolute number: ``variance`` of the negatives, ``square`` the mean of their k(x, x)."""
        # Negatives that are all alike have no scale, and no penalty changes the direction of a machine against them.
        relative = self.scale == "variance" and variance > np.finfo(float).eps * square
        self.lam_ = self.lam * variance if relative else self.lam

    def _spectrum(self) -> Spectrum:
        return Spectrum(self.values_, self.offset_, self.count_)

    def _machines(self, encoding: Encoding) -> machine.Machines:
        return machine.build(encoding, self._spectrum(), self.lam_, self.theta, self._outside)


class SLEM(SquareLossMethod):
    r"""Square-loss exemplar machines, linear (Rezende et al., CVPR 2017).

    One eigendecomposition of the covariance of the negatives serves every row and every ``lam``; it is prepared, so
    that tuning ``lam`` costs the scores alone. ``lam`` is in units of the variance of the negatives, or absolute
    (``scale="absolute"``). ``theta`` weighs the positives, ``scores`` is ``cosine`` or ``raw``. float64 throughout.

    Not tagged ``stationary``: the machines are minimisers, but are made when encodings meet; what is learned describes
    the negatives and minimises nothing.

    Learned: ``mean_`` (d,), ``directions_`` (d, r), ``values_`` (r,), ``count_``, ``lam_`` (absolute).

    Equations
    ---------
    Each row becomes a machine that tells it from a common pool of negatives by the square loss:

    $$\min_{h, \nu} \frac{\theta}{2} (\langle h, x_0 \rangle + \nu - 1)^2 + \frac{1}{2 n} \sum_i (\langle h, x_i \rangle
    + \nu + 1)^2 + \frac{\lambda}{2} \lVert h \rVert^2$$

    $$h \propto (\Sigma + \lambda I)^{-1} (x_0 - \mu)$$

    with mean and covariance of the negatives; rows are compared by the cosine of their machines.

    Related
    -------
    ``kslem`` works in the space of a kernel; ``exemplar-svm`` has a hinge for the square; ``whitening`` uses the same
    covariance otherwise; ``cosine`` learns nothing.
    """

    summary = "square-loss exemplar machines in closed form, linear"
    tags = ("linear", "closed form")
    tolerance = 1e-7
    tolerance_reason = "small eigenvalues of the covariance move with the order of summation"
    takes_blocks = True

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return mean and eigensystem of the negatives; they serve every parameter."""
        count = count_rows(negatives)
        shape = next(row_blocks(negatives)).shape
        if len(shape) != 2:
            raise DataError(f"slem takes rows of features (n, d); got blocks of shape {shape}")
        if count < shape[1]:
            rows = np.vstack(list(row_blocks(negatives)))
            mean = rows.mean(axis=0)
            values, directions = moments.thin_eigensystem(rows - mean)
        else:
            pool = moments.accumulate(row_blocks(negatives))
            mean = pool.mean
            values, directions = moments.eigensystem(pool.covariance)
        return {"mean": mean, "values": values, "directions": directions, "count": np.array(count)}

    def prepare_score(self, X: Features, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the coordinates of rows X (n, d) in the basis of the negatives."""
        if not statistics:
            return {}
        return _coordinates(X, statistics["mean"], statistics["directions"])

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Fit on negatives (n, d): an array, a memory-mapped one, or a list of blocks."""
        self.mean_ = np.asarray(statistics["mean"])
        self.values_ = np.asarray(statistics["values"])
        self.directions_ = np.asarray(statistics["directions"])
        self.offset_ = np.zeros_like(self.values_)  # points are centred already
        self.count_ = int(statistics["count"])
        variance = float(self.values_.sum())
        self._settle(variance, variance + float(self.mean_ @ self.mean_))
        numbers = {"negatives": self.count_, "variance": variance, "lam_absolute": self.lam_}
        self.diagnostics_ = Diagnostics(numbers=numbers)

    def machines(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (n_a, d) and biases (n_a,) that minimise the cost for every exemplar of A."""
        built = self._machines(A)
        weights = built.spans() @ self.directions_.T
        if built.points is not None:
            points = built.points if built.mix is None else built.mix @ built.points
            weights += points - built.vectors @ self.directions_.T
        weights *= (machine.lengths(built, self.theta) / self.lam_)[:, None]
        return weights, machine.biases_about_mean(built, self.theta) - weights @ self.mean_

    def matrices(self) -> Arrays:
        """Return mean, eigenvectors and eigenvalues of the negatives."""
        return {"mean": self.mean_, "directions": self.directions_, "values": self.values_}

    def _coordinates(self, X: Features) -> Arrays:
        return _coordinates(X, self.mean_, self.directions_)

    def _points(self, X: Features) -> np.ndarray:
        return rowwise(X, lambda rows: np.asarray(np.asarray(rows, dtype=np.float64) - self.mean_))

    def _outside(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(A @ B.T)


def _coordinates(X: Features, mean: np.ndarray, directions: np.ndarray) -> Arrays:
    vectors = np.empty((len(X), directions.shape[1]))
    complete = directions.shape[1] == len(mean)
    squares = np.zeros(len(X))
    offset = mean @ directions
    for where, rows in checked_blocks(X, len(mean)):
        t = rows @ directions
        t -= offset
        vectors[where] = t
        if not complete:
            centred = rows - mean
            squares[where] = np.einsum("ij,ij->i", centred, centred) - np.einsum("ij,ij->i", t, t)
    return {"vectors": vectors} if complete else {"vectors": vectors, "squares": np.maximum(squares, 0.0)}
