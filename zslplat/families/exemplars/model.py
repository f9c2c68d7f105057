"""Exemplar methods with their preprocessing: fit on negatives, compare rows that came later.

What a saved exemplar model does with new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods.base import BLOCK_ROWS, ENCODED, Encoding, ExemplarProtocol
from zslplat.models.folder import Model, using_content
from zslplat.models.model import SavedModel
from zslplat.pipelines.base import Pipeline
from zslplat.registry import known_as
from zslplat.tasks.base import real_numbers, selected

CALLS = ExemplarProtocol()


class ExemplarPipeline(Pipeline):
    """An exemplar method with its preprocessing: ``fit(negatives)``, ``similarity(queries, gallery)``.

    Nothing is learned of labels; negatives share no class with the rows that are compared.
    """

    kind = "exemplar"
    example = """
    >>> import zslplat
    >>> from zslplat.estimators import {name}
    >>> data = zslplat.load_dataset("synthetic(classes_seen=8, classes_unseen=4, rows_train=96, dimensions=16)")
    >>> train, test = data.rows("train"), data.rows("test_unseen")
    >>> model = {name}().fit(data.X[train])
    >>> model.rank(data.X[test][:2], data.X[test], 3).shape
    (2, 3)
    """
    method_: Any

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn preprocessing and method of negatives X (n, d); ``y`` is not looked at."""
        method, rows = self._begun(X)
        CALLS.fit(method, {"X": rows}, None)
        self.method_ = method
        return self

    def encode(self, X: Any) -> Any:
        """Return the encoding of rows X (n, d), which ``method_.similarity`` compares with others."""
        rows = self._later(X)
        return self.method_.encode(np.asarray(rows))

    def similarity(self, queries: Any, gallery: Any = None) -> np.ndarray:
        """Return how alike every query (n, d) is to every row of the gallery (m, d), (n, m); of all queries without."""
        asking = self.encode(queries)
        others = asking if gallery is None else self.encode(gallery)
        scores = real_numbers(known_as(type(self.method)), self.method_.similarity(asking, others), "similarities")
        if not np.isfinite(scores).all():
            raise DataError(f"{int((~np.isfinite(scores)).sum())} similarities are not finite")
        return scores

    def rank(self, queries: Any, gallery: Any, k: int | None = None) -> np.ndarray:
        """Return the rows of the gallery by falling similarity to each query (n, k), all of them without ``k``."""
        return np.argsort(-self.similarity(queries, gallery), axis=1, kind="stable")[:, :k]


@dataclass(frozen=True)
class Hits:
    """The best rows for each of q queries, best first: places in the gallery, their names, labels and similarity."""

    places: np.ndarray
    rows: np.ndarray
    scores: np.ndarray
    labels: np.ndarray


class ExemplarModel(SavedModel):
    """Finds the rows of its run's gallery that are most similar."""

    kind = "exemplar"

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        self.gallery = Encoding(**(selected(ENCODED, self.arrays) or {}))
        self.rows, self.labels = self.arrays["row"], self.arrays["label"]
        if any(array.shape != (len(self.gallery),) for array in (self.rows, self.labels)):
            raise ValueError(f"its {len(self.gallery)} rows do not have one name and one class each")

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the gallery."""
        return tuple(str(name) for name in np.unique(self.labels))

    def query(self, X: Any, top: int = 10) -> Hits:
        """Return the ``top`` best rows of the gallery for each row of X (q, d), unprocessed as data sets hold them.

        Equal scores go to the row that comes first in the gallery. Raises :class:`UsageError` for rows of another
        width.
        """
        if top < 1:
            raise UsageError(f"top={top} is out of range; expected 1 or more")
        return self._hits(self.checked(X), top)

    @using_content
    def _hits(self, X: np.ndarray, top: int) -> Hits:
        encoded = self.method.encode(self.features.apply(X))
        best_scores = np.empty((len(encoded), 0))
        best = np.empty((len(encoded), 0), dtype=np.int64)
        for start in range(0, len(self.gallery), BLOCK_ROWS):
            part = self.gallery.take(slice(start, start + BLOCK_ROWS))
            scores = np.hstack([best_scores, self.method.similarity(encoded, part)])
            places = np.hstack([best, np.broadcast_to(np.arange(start, start + len(part)), (len(encoded), len(part)))])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
            best_scores = np.take_along_axis(scores, order, axis=1)
            best = np.take_along_axis(places, order, axis=1)
        return Hits(best, self.rows[best], best_scores, self.labels[best])

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return similarities (n, g) of rows X (n, d) and the gallery, in its order (``rows``)."""
        self.candidates_for(signatures, generalised)
        return self._similarity(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the class of the most similar row of the gallery for every row of X."""
        self.candidates_for(signatures, generalised)
        return np.asarray(self.query(X, 1).labels)[:, 0]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``found``, the row of the gallery, its class and similarity, and those of the next best."""
        hits = self._hits(X, min(top, len(self.gallery)))
        columns: dict[str, Any] = {"row": np.arange(first, first + len(X))}
        for place in range(hits.rows.shape[1]):
            mark = "" if place == 0 else f"_{place + 1}"
            columns[f"found{mark}"] = hits.rows[:, place]
            columns[f"class{mark}"] = hits.labels[:, place].astype(object)
            columns[f"score{mark}"] = hits.scores[:, place]
        return columns

    @property
    def block_rows(self) -> int:
        """How many rows are looked up at a time."""
        return 1024

    @using_content
    def _similarity(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.method.similarity(self.method.encode(self.features.apply(X)), self.gallery))
