"""Coding methods with their preprocessing: classifiers whose ``transform`` gives the codes.

What a saved coding model does with new rows.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from zslplat.errors import DataError, UsageError
from zslplat.families.coding.methods.base import CodingProtocol
from zslplat.families.coding.task import usable_scores
from zslplat.kinds import protocol_of
from zslplat.methods.base import Method
from zslplat.models.folder import Model, using_content
from zslplat.models.model import SavedModel, finite, ranked_columns, require_names
from zslplat.pipelines.base import Pipeline, read_labels
from zslplat.registry import known_as

CALLS = CodingProtocol()


class CodingPipeline(Pipeline):
    """A coding method with its preprocessing: ``fit(X, y)``, ``predict(X)``, ``transform(X)``.

    Labels y (n,) are names or numbers of classes, or (n, c) of 1 for every label that a row has, 0 for the others and
    -1 for those that are not counted. Of the latter each is ranked by its column of :meth:`decision_function`; a method
    that takes one class per row is fitted once per label then, on this label against the rest.

    Learned, beside what all pipelines have: ``classes_`` (c,), ascending.
    """

    kind = "coding"
    example = """
    >>> import zslplat
    >>> from zslplat.estimators import {name}
    >>> data = zslplat.load_dataset("synthetic(classes_seen=8, classes_unseen=4, rows_train=96, dimensions=16)")
    >>> train = data.rows("train")
    >>> model = {name}().fit(data.X[train][::2], data.y[train][::2])
    >>> model.predict(data.X[train][1::2]).shape == train[1::2].shape
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn preprocessing and method of rows X (n, d) or (n, p, p) and their labels.

        Raises :class:`~zslplat.errors.DataError` where shapes do not fit, values are not finite or y holds one class.
        """
        labels, classes = read_labels(y)
        if labels.ndim == 1 and len(classes) < 2:
            raise DataError(f"y holds {len(classes)} class; at least two are needed to learn from")
        method, rows = self._begun(X)
        if len(rows) != len(labels):
            raise DataError(f"{len(rows)} rows in X but {len(labels)} labels in y")
        by_label: list[Method] = []
        if labels.ndim == 1 or getattr(method, "label_sets", False):
            CALLS.fit(method, {"X": rows, "y": labels}, None)
        else:
            by_label = [self._of_label(method, rows, labels[:, label]) for label in range(labels.shape[1])]
            method = by_label[0]
        self.method_, self._by_label, self._several = method, by_label, labels.ndim == 2
        self.classes_ = classes
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    @staticmethod
    def _of_label(method: Method, rows: Any, label: np.ndarray) -> Method:
        fresh = copy.deepcopy(method)
        counted = np.flatnonzero(label >= 0)
        CALLS.fit(fresh, {"X": rows if len(counted) == len(label) else rows[counted], "y": label[counted]}, None)
        return fresh

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, c) of rows X, higher for likelier classes, columns as in ``classes_``."""
        rows = self._later(X)
        if not self._by_label:
            scores = CALLS.score(self.method_, {"X_pool": rows}, None)["scores"]
            return usable_scores(self.method_, scores, len(rows), len(self.classes_))
        columns = np.empty((len(rows), len(self.classes_)))
        for label, method in enumerate(self._by_label):
            scores = usable_scores(method, CALLS.score(method, {"X_pool": rows}, None)["scores"], len(rows), 2)
            columns[:, label] = scores[:, 1] - scores[:, 0]
        return columns

    def predict(self, X: Any) -> np.ndarray:
        """Return the class (n,) with the highest score; raises UsageError where rows have several labels."""
        self._require_fitted()
        if self._several:
            raise UsageError("rows have several labels, which are ranked one by one; use decision_function")
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes (n, N) of rows X; of a method that is fitted once per label, those of the first."""
        rows = self._later(X)
        return np.asarray(self.method_.transform(rows))  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows that :meth:`predict` tells rightly, the metric of task ``coding``.

        Raises :class:`~zslplat.errors.DataError` for a class that was not in the fit.
        """
        predicted = self.predict(X)
        labels, classes = read_labels(y)
        strange = [name for name in classes.tolist() if name not in set(self.classes_.tolist())]
        if strange:
            raise DataError(f"class {strange[0]!r} in y was not in the fit of {known_as(type(self.method))}")
        if labels.shape != predicted.shape:
            raise DataError(f"{len(predicted)} rows in X but labels of shape {labels.shape} in y")
        return float(np.mean(classes[labels] == predicted))


class CodingModel(SavedModel):
    """Tells rows apart among the classes, or ranks the labels, that it was trained on."""

    kind = "coding"

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        require_names(self.facts["classes"], len(self.facts["classes"]))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that it was trained on."""
        return tuple(self.facts["classes"])

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d), in the order of :attr:`classes`."""
        self.candidates_for(signatures, generalised)
        return self._scores(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the name of the class with the highest score, for every row of X (n, d)."""
        scores = self.decision_function(X, signatures, generalised=generalised)
        return np.asarray(np.array(self.classes)[np.argmax(scores, axis=1)])

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``class``, ``score`` and those of the next best."""
        return ranked_columns(self._scores(X), self.classes, first, top, every=scores)

    @using_content
    def _scores(self, X: np.ndarray) -> np.ndarray:
        returned = protocol_of(self.kind).score(self._fresh(), {"X_pool": self.features.apply(X)}, None)["scores"]
        return finite(self.method_name, returned, (len(X), len(self.classes)))
