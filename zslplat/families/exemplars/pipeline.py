"""Exemplar methods with their preprocessing: fit on negatives, compare rows that came later."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from zslplat.errors import DataError
from zslplat.families.exemplars.protocol import ExemplarProtocol
from zslplat.pipelines.base import Pipeline
from zslplat.registry import known_as
from zslplat.tasks.arrays import real_numbers

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
