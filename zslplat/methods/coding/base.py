"""The contract of coding methods: codes of rows over a dictionary, and classes from the codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Method
from zslplat.space import Space


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

    def prepare_score(
        self,
        X: np.ndarray,
        train: np.ndarray,
        *,
        space: Space,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Arrays:
        """Return what scoring rows X after a fit on rows ``train`` needs and no searched parameter changes.

        ``statistics`` is what :meth:`prepare_fit` returned; None where nobody prepared the fit.
        """
        return {}

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> Self:
        """Fit on rows X (M, d) or (M, p, p) and labels y (M,) in 0..c-1, each class with at least one row.

        Without ``statistics`` the method prepares for itself, with the same result.
        """

    @abstractmethod
    def transform(self, X: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Return the codes (n, N) of rows X (n, ...)."""

    @abstractmethod
    def decision_function(self, X: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
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
