"""SLEM: an exemplar machine per row at the price of a rotation.

Rezende, Zepeda, Ponce, Bach and Perez, "Kernel square-loss exemplar machines for image retrieval", CVPR 2017. Rows
are samples here; the closed forms, with their table of symbols, are in :mod:`zslplat.methods.exemplars.machine`.

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
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.store.rows import rowwise
from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Diagnostics, Features
from zslplat.methods.exemplars import machine, moments
from zslplat.methods.exemplars.base import Encoding, Negatives, checked_blocks, count_rows, row_blocks
from zslplat.methods.exemplars.square_loss import SquareLossMethod
from zslplat.space import Space


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

    def prepare_score(self, X: Features, *, space: Space, statistics: Mapping[str, np.ndarray] | None = None) -> Arrays:
        """Return the coordinates of rows X (n, d) in the basis of the negatives."""
        if not statistics:
            return {}
        return _coordinates(X, statistics["mean"], statistics["directions"])

    def fit(self, negatives: Negatives, *, statistics: Mapping[str, np.ndarray] | None = None) -> SLEM:
        """Fit on negatives (n, d): an array, a memory-mapped one, or a list of blocks."""
        self.check_parameters()
        if statistics is None:
            statistics = self.prepare_fit(negatives, space={})
        self.mean_ = np.asarray(statistics["mean"])
        self.values_ = np.asarray(statistics["values"])
        self.directions_ = np.asarray(statistics["directions"])
        self.offset_ = np.zeros_like(self.values_)  # points are centred already
        self.count_ = int(statistics["count"])
        variance = float(self.values_.sum())
        self._settle(variance, variance + float(self.mean_ @ self.mean_))
        numbers = {"negatives": self.count_, "variance": variance, "lam_absolute": self.lam_}
        self.diagnostics_ = Diagnostics(numbers=numbers)
        return self

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
