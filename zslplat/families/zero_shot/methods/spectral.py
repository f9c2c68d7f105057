"""Class sums and eigendecompositions that closed forms share, so that a trial costs diagonal scalings only.

| here               | shape  | meaning                                                        |
|--------------------|--------|----------------------------------------------------------------|
| feature_directions | (d, r) | eigenvectors Q of X'X with non-zero eigenvalue, r <= min(n, d) |
| feature_values     | (r,)   | their eigenvalues                                              |
| feature_scale      | ()     | mean eigenvalue of X'X over all d, trace / d                   |
| class_sums         | (c, d) | Y'X, the sum of the rows of each class                         |
| projected_sums     | (c, r) | Y'X Q                                                          |
| class_counts       | (c,)   | rows of each class, the diagonal of Y'Y                        |

Products run in the precision of X, over blocks of rows whose sums are added up in float64: the error is that of one
block, not of n rows. Rows that lie in a file are read once; where there are fewer of them than columns they are
gathered into an array, which is then smaller than X'X.

A learned matrix as the product of a large basis and a small core, multiplied out only where somebody asks for it.

A closed form in the eigenbasis Q (d, r) of X'X gives W = Q core. Scoring needs W times the few candidate signatures,
which is Q (core S'): forming W for every trial of a search would cost more than the rest of the trial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import linalg

from zslplat.data.store.rows import BLOCK, Where, blocks_of, float_type, rowwise
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.methods.base import Features, State
from zslplat.methods.rows import add_by_class, require_finite_sums


def scatter(X: Features, seen: Callable[[Where, np.ndarray], np.ndarray] | None = None) -> np.ndarray:
    """Return X'X (d, d) in float64; ``seen`` is shown each block in turn and returns what is taken in its place."""
    total = np.zeros((X.shape[1], X.shape[1]))
    # NaN and infinity are found in the sums.
    with np.errstate(invalid="ignore", over="ignore"):
        for where, block in blocks_of(X):
            rows = block if seen is None else seen(where, block)
            rows = rows.astype(float_type(rows.dtype), copy=False)  # sums of whole numbers would run over
            total += rows.T @ rows
    return total


def gram(X: np.ndarray) -> np.ndarray:
    """Return XX' (n, n) in float64, summed over blocks of columns."""
    total = np.zeros((len(X), len(X)))
    for start in range(0, X.shape[1], BLOCK):
        columns = X[:, start : start + BLOCK]
        total += columns @ columns.T
    return total


def class_sums(X: Features, y: np.ndarray, classes: int) -> np.ndarray:
    """Return Y'X (c, d) in float64; raises :class:`DataError` where X holds NaN or infinity."""
    sums = np.zeros((classes, X.shape[1]))
    for where, block in blocks_of(X):
        add_by_class(sums, block, y[where])
    require_finite_sums(sums)
    return sums


def class_counts(y: np.ndarray, classes: int) -> np.ndarray:
    """Return the number of rows of each class (c,) as float64."""
    return np.bincount(y, minlength=classes).astype(np.float64)


def row_space(
    X: Features, seen: Callable[[Where, np.ndarray], np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return Q (d, r), values (r,) with X'X = Q diag(values) Q', from whichever of X'X and XX' is smaller.

    ``seen`` as for :func:`scatter`. Eigenvalues below 1e-10 of the largest are left out in the dual form (n < d), where
    dividing by their root would blow up rounding errors; the primal form keeps all d directions.
    """
    n, d = X.shape
    if n >= d:
        return _directions(scatter(X, seen))
    rows = gathered(X)
    return _dual_directions(rows if seen is None else seen(slice(0, n), rows))


def gathered(X: Features) -> np.ndarray:
    """Return the rows as one array, for what is not large or cannot be had from blocks."""
    return rowwise(X, np.asarray)


def prepare(X: Features, y: np.ndarray, classes: int) -> dict[str, np.ndarray]:
    """Return the arrays of the table above, by name, from one pass over the rows.

    Raises :class:`DataError` where X holds NaN or infinity.
    """
    n, d = X.shape
    if n >= d:
        sums = np.zeros((classes, d))

        def summed(where: Where, block: np.ndarray) -> np.ndarray:
            add_by_class(sums, block, y[where])
            return block

        total = scatter(X, summed)
        require_finite_sums(sums)
        Q, values = _directions(total)
    else:
        rows = gathered(X)
        sums = class_sums(rows, y, classes)
        Q, values = _dual_directions(rows)
    return {
        "feature_directions": Q,
        "feature_values": values,
        "feature_scale": np.asarray(values.sum() / d),
        "class_sums": sums,
        "projected_sums": sums @ Q,
        "class_counts": class_counts(y, classes),
    }


def _directions(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, Q = linalg.eigh(square, check_finite=False, driver="evd")
    return Q, np.maximum(values, 0)


def _dual_directions(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, P = linalg.eigh(gram(X), check_finite=False, driver="evd")
    keep = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    values, P = values[keep], P[:, keep]
    return (X.T.astype(np.float64) @ P) / np.sqrt(values), values


class Factors:
    """The pair Q (d, r) and core (r, a); both stay as they are, so that copies of a method share them."""

    def __init__(self, Q: np.ndarray, core: np.ndarray) -> None:
        self.Q, self.core = Q, core

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def product(self) -> np.ndarray:
        """Return Q core (d, a)."""
        return np.asarray(self.Q @ self.core)

    def times(self, right: np.ndarray) -> np.ndarray:
        """Return Q core right (d, c) for right (a, c), the smaller product first."""
        return np.asarray(self.Q @ (self.core @ right))


class FactoredMethod(ZeroShotMethod):
    """A method that learns one matrix ``W_``, which may be held as factors until it is read."""

    _factors: Factors | None = None
    _W: np.ndarray | None = None
    # Whether W is the transpose of the product of the factors.
    _transposed: bool = False

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix."""
        if self._W is None:
            if self._factors is None:
                raise AttributeError(f"{type(self).__name__} has no W_ yet; fit it first")
            product = self._factors.product()
            self._W = np.ascontiguousarray(product.T) if self._transposed else product
        return self._W

    @W_.setter
    def W_(self, value: np.ndarray) -> None:
        self._W, self._factors = value, None

    def learn(self, factors: Factors) -> None:
        """Take what a fit found in place of whatever was learned before."""
        self._factors, self._W = factors, None

    def state(self) -> State:
        """Return what was learned, W multiplied out."""
        learned = self._factors is not None or self._W is not None
        return super().state() | ({"W_": self.storable("W_", self.W_)} if learned else {})
