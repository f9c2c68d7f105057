"""The contract of coding methods: codes of rows over a dictionary, and classes from the codes.

Labels as coding methods take them: one class per row, or a set of labels per row.

| symbol | here    | shape            | meaning                                                                     |
|--------|---------|------------------|-----------------------------------------------------------------------------|
|        | y       | (M,) or (M, c)   | class of each row; or 1 for labels that a row has, 0 for others, -1 for not |
|        |         |                  | counted: the row has no part in what is learned of that label               |
| l_i    | L       | (M, c)           | 0/1 indicators, 0 where not counted                                         |
|        | known   | (M, c) or None   | mask of the entries that count, None where all do                           |

How coding methods are called.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Inputs, Method, Protocol, Statistics, features
from zslplat.space import Space


def label_count(y: np.ndarray) -> int:
    """Return the number c of classes or labels."""
    return int(y.max()) + 1 if y.ndim == 1 else y.shape[1]


def indicators(y: np.ndarray, c: int) -> np.ndarray:
    """Return L (M, c) with 1 at the class, or at every label, of each row."""
    if y.ndim == 2:
        return np.asarray(y == 1, dtype=np.float64)
    L = np.zeros((len(y), c))
    L[np.arange(len(y)), y] = 1.0
    return L


def counted(y: np.ndarray) -> np.ndarray | None:
    """Return the mask (M, c) of the entries that count, None where all do."""
    return y >= 0 if y.ndim == 2 and bool((y < 0).any()) else None


def strata(y: np.ndarray) -> np.ndarray:
    """Return the class (M,) by which rows are shared out; of several labels a row's rarest, c for rows without any."""
    if y.ndim == 1:
        return y
    has = y == 1
    sizes = np.where(has, has.sum(axis=0)[None, :], len(y) + 1)
    return np.asarray(np.where(has.any(axis=1), sizes.argmin(axis=1), y.shape[1]))


def alike(counted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, labels) such that these rows are those that count for each of these labels; every label once."""
    patterns, number = np.unique(counted, axis=1, return_inverse=True)
    for j in range(patterns.shape[1]):
        yield np.flatnonzero(patterns[:, j]), np.flatnonzero(number.reshape(-1) == j)


class CodingMethod(Method):
    """A method that codes rows over a dictionary made of training rows, and tells classes by the codes.

    ``label_sets``: whether :meth:`fit` takes labels y (M, c), too: 1 for every label that a row has, 0 for the others,
    -1 for those that are not counted; scores are then higher for likelier labels, each label ranked by itself. A
    method that does not is fitted once per label, on this label against the rest.
    """

    kind = "coding"
    label_sets: ClassVar[bool] = False

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, *, space: Space) -> Arrays:
        """Return what :meth:`fit` needs of the data and no searched parameter changes; ``self`` holds the rest."""
        return {}

    def prepare_score(self, X: np.ndarray, train: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return what scoring rows X after a fit on rows ``train`` needs and no searched parameter changes.

        ``statistics`` is what :meth:`prepare_fit` returned; None where the fit was not prepared.
        """
        return {}

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Statistics = None) -> Self:
        """Fit on rows X (M, d) or (M, p, p) and labels y (M,) in 0..c-1, each class with at least one row.

        Without ``statistics`` the method prepares for itself, with the same result.
        """

    @abstractmethod
    def transform(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return the codes (n, N) of rows X (n, ...)."""

    @abstractmethod
    def decision_function(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return scores (n, c) of rows X (n, ...), higher for likelier classes."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class (n,) with the highest score."""
        return np.asarray(np.argmax(self.decision_function(X), axis=1))


def check_coding_inputs(X: np.ndarray, y: np.ndarray, *, label_sets: bool = False) -> None:
    """Raise :class:`DataError` when shapes do not fit, values are not finite, or a class has no row.

    ``label_sets``: labels y (M, c) are taken, too; each needs a row that has it and one that has it not.
    """
    several = label_sets and y.ndim == 2
    if X.ndim not in (2, 3) or not (y.ndim == 1 or several) or len(X) != len(y) or len(y) == 0:
        forms = "y (n,) or (n, c)" if label_sets else "y (n,)"
        raise DataError(f"expected X (n, d) or (n, p, p) and {forms} with n > 0; got {X.shape} and {y.shape}")
    if not np.isfinite(X).all():
        raise DataError("X holds NaN or infinity")
    if several:
        _check_label_sets(y)
        return
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise DataError("labels must be integer class ids from 0 on")
    empty = np.flatnonzero(np.bincount(y) == 0)
    if len(empty):
        raise DataError(
            f"{len(empty)} classes have no training row, first class {empty[0]}; number classes without gaps"
        )


def _check_label_sets(y: np.ndarray) -> None:
    if not np.issubdtype(y.dtype, np.integer) or not np.isin(y, (-1, 0, 1)).all():
        raise DataError("several labels per row must be integers: 1 present, 0 absent, -1 not counted")
    for value, what in ((1, "has it"), (0, "has it not")):
        lost = np.flatnonzero(~(y == value).any(axis=0))
        if len(lost):
            raise DataError(f"label {lost[0]}: no training row {what}; leave the label out")


class CodingProtocol(Protocol):
    """Fit on X and y; score ``X_pool``."""

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the statistics of the training rows."""
        arrays: Arrays = method.prepare_fit(features(method, inputs["X"]), inputs["y"], space=space)
        return arrays

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return the statistics of the pool beside the training rows."""
        X, train = features(method, inputs["X_pool"]), features(method, inputs["X"])
        arrays: Arrays = method.prepare_score(X, train, space=space, statistics=fitted)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit on X and y."""
        return method.fit(features(method, inputs["X"]), inputs["y"], statistics=statistics)

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``scores`` (rows of the pool, classes)."""
        return {"scores": method.decision_function(features(method, inputs["X_pool"]), statistics=statistics)}
