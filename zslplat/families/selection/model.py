"""Feature selectors with their preprocessing: columns ranked on seen classes, and taken from any rows.

What a saved feature selector does with new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from zslplat.data.store.preprocessing import fit_steps
from zslplat.errors import DataError, StoreError, UsageError
from zslplat.families.selection.methods.base import USUAL_FEATURES, SelectionProtocol
from zslplat.models.folder import using_content
from zslplat.models.model import SavedModel
from zslplat.pipelines.base import Pipeline, class_numbers, read_signatures
from zslplat.registry import known_as

CALLS = SelectionProtocol()


class SelectionPipeline(Pipeline):
    """A feature selector with its preprocessing: ``fit(X, y, S)``, ``transform(X)``.

    ``count``: how many features are taken; a selector that chooses a number of features chooses that many. Labels and
    signatures are given as to a zero-shot pipeline.

    Learned, beside what all pipelines have: ``scores_`` (d,), higher for better features, and ``ranking_`` (d,), the
    columns of X, best first.
    """

    kind = "feature-selection"
    # Signatures reach fit through the searches and pipelines of scikit-learn.
    __metadata_request__fit = {"S": True}
    example = """
    >>> import zslplat
    >>> from zslplat.estimators import {name}
    >>> data = zslplat.load_dataset("synthetic(classes_seen=8, classes_unseen=4, rows_train=96, dimensions=16)")
    >>> train, test = data.rows("train"), data.rows("test_unseen")
    >>> model = {name}(count=5).fit(data.X[train], data.y[train], data.S)
    >>> model.transform(data.X[test]).shape[1]
    5
    """
    method_: Any

    def __init__(
        self,
        *,
        features: str | None = None,
        signatures: str | None = None,
        count: int = USUAL_FEATURES,
        **parameters: Any,
    ) -> None:
        super().__init__(features=features, signatures=signatures, **parameters)
        self.count = count

    def fit(self, X: Any, y: Any, S: Any, *, classes: Sequence[Any] | None = None, row_signatures: Any = None) -> Self:
        """Rank the columns of rows X (n, d) with labels y (n,) and signatures S; ``row_signatures`` (n, a) of each row.

        Raises :class:`~zslplat.errors.DataError` where shapes do not fit or values are not finite.
        """
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise UsageError(f"count={self.count!r}: expected the number of features to take, 1 or more")
        signatures = read_signatures(S, classes)
        if signatures.described is not None:
            raise DataError("S describes a class in several rows; selectors take one row per class")
        numbers = class_numbers(y, signatures)
        seen = np.unique(numbers)
        method, rows = self._begun(X)
        if rows.ndim != 2:
            raise DataError(f"rows of X have shape {rows.shape[1:]}; selectors take vectors")
        if len(rows) != len(numbers):
            raise DataError(f"{len(rows)} rows in X but {len(numbers)} labels in y")
        steps = fit_steps(self.preprocessing.signatures, signatures.values[seen])
        inputs = {"X": rows, "y": np.searchsorted(seen, numbers), "S": steps.apply(signatures.values[seen])}
        if row_signatures is not None:
            by_row = read_signatures(np.asarray(row_signatures), None, "row_signatures")
            expected = (len(rows), signatures.values.shape[1])
            if by_row.values.shape != expected:
                raise DataError(f"row_signatures has shape {by_row.values.shape}; expected {expected}")
            inputs["row_signatures"] = steps.apply(by_row.values)
        method.features_taken = self.count  # type: ignore[attr-defined]
        CALLS.fit(method, inputs, None)
        self.method_ = method
        self.scores_, self.ranking_ = method.scores_, method.ranking_  # type: ignore[attr-defined]
        if len(self.ranking_) != self.n_features_in_:
            raise UsageError(
                f"{known_as(type(method))} ranked {len(self.ranking_)} columns for {self.n_features_in_} of X: "
                "preprocessing that makes columns of its own (split) cannot be taken back"
            )
        return self

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return the mask (d,) of the ``count`` best columns, or their numbers, best first."""
        self._require_fitted()
        best = self.ranking_[: self.count]
        return best if indices else np.isin(np.arange(len(self.ranking_)), best)

    def transform(self, X: Any) -> np.ndarray:
        """Return the ``count`` best columns of rows X (n, d), best first, as they were given (not preprocessed)."""
        self._require_fitted()
        return np.asarray(np.asarray(self._rows(X, fitting=False))[:, self.get_support(indices=True)])

    def fit_transform(self, X: Any, y: Any, S: Any, **named: Any) -> np.ndarray:
        """Fit, and return the best columns of the same rows."""
        return self.fit(X, y, S, **named).transform(X)


class SelectionModel(SavedModel):
    """Takes the best features out of rows."""

    kind = "feature-selection"

    @property
    def classes(self) -> tuple[str, ...]:
        """No classes: features are what it found."""
        return ()

    @property
    @using_content
    def ranking(self) -> np.ndarray:
        """The features (d,), the best first."""
        ranking = np.asarray(self.method.ranking_)
        if ranking.dtype.kind not in "iu" or not np.array_equal(np.sort(ranking), np.arange(self.width)):
            raise StoreError(
                f"the ranking of the model in {self.folder} is none of {self.width} features; restore it from a copy, "
                "or evaluate the experiment again"
            )
        return ranking

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Refuse: rows have no scores here."""
        raise UsageError(f"{self.method_name} selects features and scores no rows; predict() returns the selected ones")

    def predict(
        self, X: Any, signatures: Any = None, *, generalised: bool = False, top: int | None = None
    ) -> np.ndarray:
        """Return the best features (n, top) of rows X (n, d), as they come in, the best first."""
        self.candidates_for(signatures, generalised)
        return self.checked(X)[:, self.ranking[: top or self.usual_top()]]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row`` and a column for each of the best features, by its number."""
        chosen = self.ranking[:top]
        taken = {f"feature {number}": X[:, number] for number in chosen.tolist()}
        return {"row": np.arange(first, first + len(X)), **taken}

    def usual_top(self) -> int:
        """Return the largest number of features that the task judged."""
        return int(max(self.facts["counts"]))
