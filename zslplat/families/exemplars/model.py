"""Exemplar methods with their preprocessing: fit on negatives, compare rows that came later.

What a saved exemplar model does with new rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from zslplat.errors import DataError
from zslplat.families.exemplars.methods.base import ExemplarProtocol
from zslplat.models.folder import Model, using_content
from zslplat.models.model import SavedModel
from zslplat.pipelines.base import Pipeline
from zslplat.registry import known_as
from zslplat.tasks.base import real_numbers

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


INDEX = "index"


class ExemplarModel(SavedModel):
    """Finds the rows of its run's gallery that are most similar."""

    kind = "exemplar"
    holds_state = False  # the index does

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        self._index: Any = None

    @property
    @using_content
    def index(self) -> Any:
        """The index of the gallery; raises :class:`StoreError` where it is gone."""
        if self._index is None:
            from zslplat.families.exemplars.methods.index import ExemplarIndex

            loaded = ExemplarIndex.load(index_of(self.folder))
            if loaded.steps.width != self.width:
                raise ValueError(f"its index takes rows of {loaded.steps.width} numbers")
            self._index = loaded
        return self._index

    @property
    def method(self) -> Any:
        """The fitted method, as the index holds it."""
        return self.index.method

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the gallery, where they are known."""
        labels = self.index.labels
        return () if labels is None else tuple(str(name) for name in np.unique(labels))

    def companions(self) -> dict[str, Path]:
        """Return the index."""
        return {INDEX: index_of(self.folder)}

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return similarities (n, g) of rows X (n, d) and the gallery, in its order (``index.rows``)."""
        self.candidates_for(signatures, generalised)
        return self._similarity(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the class of the most similar row of the gallery for every row of X; its number without classes."""
        self.candidates_for(signatures, generalised)
        hits = self.index.query(self.checked(X), 1)
        return np.asarray(hits.rows if hits.labels is None else hits.labels)[:, 0]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``found``, the row of the gallery, its class and similarity, and those of the next best."""
        hits = self.index.query(X, min(top, len(self.index.gallery)))
        columns: dict[str, Any] = {"row": np.arange(first, first + len(X))}
        for place in range(hits.rows.shape[1]):
            mark = "" if place == 0 else f"_{place + 1}"
            columns[f"found{mark}"] = hits.rows[:, place]
            if hits.labels is not None:
                columns[f"class{mark}"] = hits.labels[:, place].astype(object)
            columns[f"score{mark}"] = hits.scores[:, place]
        return columns

    @property
    def block_rows(self) -> int:
        """How many rows are looked up at a time."""
        return 1024

    @using_content
    def _similarity(self, X: np.ndarray) -> np.ndarray:
        encoded = self.method.encode(self.index.steps.apply(X))
        return np.asarray(self.method.similarity(encoded, self.index.gallery))


def index_of(folder: Path) -> Path:
    """Return the index of an exemplar model: inside the folder of an export, beside it in a store."""
    inside = folder / INDEX
    return inside if inside.exists() else folder.parent / "artifacts" / INDEX
