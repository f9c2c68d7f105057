"""Cosine similarity of the features themselves: what every exemplar method must beat."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.base import Arrays, Features
from zslplat.methods.exemplars.base import Encoding, ExemplarMethod, Negatives, check_matrix, checked_blocks, row_blocks
from zslplat.methods.unit_rows import unit_rows
from zslplat.space import BOOLEAN, Space, parameter


class Cosine(ExemplarMethod):
    r"""Cosine between features, or, with ``center``, between features less the mean of the negatives.

    Learned: ``mean_`` (d,), zeros without ``center``.

    Equations
    ---------
    Two rows are as similar as the angle between them says, with the mean m of the negatives taken off or not:

    $$\frac{\langle a - m, b - m \rangle}{\lVert a - m \rVert\, \lVert b - m \rVert}$$

    Symbols
    -------
    | symbol | here  | shape | meaning                                            |
    |--------|-------|-------|----------------------------------------------------|
    | a, b   | A, B  | (n, d) | rows that are compared                            |
    | m      | mean_ | (d,)  | mean of the negatives, or zero                     |

    Related
    -------
    ``whitening`` and ``slem`` learn from the negatives what this one leaves out.
    """

    summary = "cosine between features: no learning"
    tags = ("baseline",)
    preprocessing = Preprocessing(features=("l2",))
    takes_blocks = True
    center = parameter("subtract the mean of the negatives first", BOOLEAN, default=False)

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return the mean of the negatives, whether it is subtracted or not."""
        blocks = row_blocks(negatives)
        first = check_matrix(next(blocks))
        count, total = len(first), first.sum(axis=0)
        for block in blocks:
            count, total = count + len(block), total + block.sum(axis=0)
        return {"mean": total / count}

    def fit(self, negatives: Negatives, *, statistics: Mapping[str, np.ndarray] | None = None) -> Cosine:
        """Take the mean of the negatives (n, d) where it is wanted."""
        self.check_parameters()
        mean = np.asarray((statistics or self.prepare_fit(negatives, space={}))["mean"])
        self.mean_ = mean if self.center else np.zeros_like(mean)
        return self

    def encode(self, X: Features, *, statistics: Mapping[str, np.ndarray] | None = None) -> Encoding:
        """Return unit rows (n, d)."""
        vectors = np.empty((len(X), len(self.mean_)))
        for where, rows in checked_blocks(X, len(self.mean_)):
            vectors[where] = unit_rows(rows - self.mean_)
        return Encoding(vectors)

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return inner products (n_a, n_b) of unit rows."""
        return np.asarray(A.vectors @ B.vectors.T)
