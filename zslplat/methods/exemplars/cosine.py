"""Cosine similarity of the features themselves: what every exemplar method must beat."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.preprocessing import Preprocessing
from zslplat.methods.exemplars.base import Encoding, ExemplarMethod, Rows, check_matrix, row_blocks
from zslplat.methods.unit_rows import unit_rows
from zslplat.space import BOOLEAN, Parameter


class Cosine(ExemplarMethod):
    """Cosine between features, or, with ``center``, between features less the mean of the negatives.

    Learned: ``mean_`` (d,), zeros without ``center``.
    """

    summary = "cosine between features: no learning"
    tags = ("baseline",)
    preprocessing = Preprocessing(features=("l2",))
    parameters = {"center": Parameter("subtract the mean of the negatives first", BOOLEAN, default=False)}
    center: bool

    def fit(self, negatives: Rows, *, statistics: Mapping[str, np.ndarray] | None = None) -> Cosine:
        """Take the mean of the negatives (n, d) where it is wanted."""
        self.check_parameters()
        blocks = row_blocks(negatives)
        first = check_matrix(next(blocks))
        self.mean_ = np.zeros(first.shape[1])
        if self.center:
            count, total = len(first), first.sum(axis=0)
            for block in blocks:
                count, total = count + len(block), total + block.sum(axis=0)
            self.mean_ = total / count
        return self

    def encode(self, X: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> Encoding:
        """Return unit rows (n, d)."""
        return Encoding(unit_rows(check_matrix(X, len(self.mean_)) - self.mean_))

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return inner products (n_a, n_b) of unit rows."""
        return np.asarray(A.vectors @ B.vectors.T)
