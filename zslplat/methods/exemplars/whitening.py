"""Whitening and linear discriminants: the same covariance as SLEM's, used the two usual ways.

Hariharan, Malik and Ramanan, "Discriminative decorrelation for clustering and classification", ECCV 2012 (exemplar
LDA); Jegou and Chum, "Negative evidences and co-occurences in image retrieval", ECCV 2012 (whitening).

| paper | here         | shape  | meaning                                                                    |
|-------|--------------|--------|----------------------------------------------------------------------------|
| mu_0  | mean_        | (d,)   | mean of the negatives                                                      |
| Sigma | values_, w   | (d,)   | eigenvalues of their covariance, largest first, with eigenvectors E (d, d) |
|       | shrinkage, s | scalar | w becomes (1 - s) w + s mean(w)                                            |
|       | components   | scalar | keep the first of the directions only                                      |

Rows become (x - mu) E w^-p, compared by cosine: p = 1/2 whitens, p = 1 gives the discriminant directions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import MethodError
from zslplat.methods.base import Arrays, Features
from zslplat.methods.exemplars import moments
from zslplat.methods.exemplars.base import (
    Encoding,
    ExemplarMethod,
    Negatives,
    checked_blocks,
    row_blocks,
)
from zslplat.methods.unit_rows import unit_rows
from zslplat.space import Choice, Integer, Optional, Real, Space, parameter


class Whitening(ExemplarMethod):
    r"""Cosine after whitening (``form="whiten"``) or between exemplar discriminants (``form="lda"``).

    ``shrinkage`` draws the eigenvalues towards their mean; ``components`` keeps the leading directions (none: all).
    The eigensystem is prepared, so that tuning costs the scores alone. Learned: ``mean_`` (d,), ``map_`` (d, r).

    Equations
    ---------
    Rows are compared by cosine after the covariance of the negatives is taken out, to the power 1/2 or whole:

    $$x \mapsto \left[ (1 - s) \Lambda + s \bar\lambda I \right]^{-p} E^\top (x - \mu), \qquad p = \frac{1}{2} \text{ or
    } 1$$

    Related
    -------
    ``slem`` uses the same covariance for machines; ``cosine`` takes none.
    """

    summary = "cosine after whitening by the negatives, or between exemplar discriminants (LDA)"
    citation = "Hariharan, Malik, Ramanan: Discriminative decorrelation for clustering and classification. ECCV 2012"
    tags = ("linear", "baseline")
    preprocessing = Preprocessing(features=("l2",))
    tolerance = 1e-6
    tolerance_reason = "small eigenvalues of the covariance move with the order of summation"
    takes_blocks = True
    form = parameter(
        "whiten (power 1/2) or lda (power 1)",
        Choice(("whiten", "lda")),
        Choice(("whiten", "lda")),
        default="whiten",
    )
    shrinkage = parameter("share of the mean eigenvalue", Real(0, 1), Real(1e-4, 1, log=True), default=0.01)
    components = parameter("leading directions that are kept; none: all", Optional(Integer(1)), default=None)

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return mean and eigensystem of the negatives."""
        pool = moments.accumulate(row_blocks(negatives))
        values, directions = moments.eigensystem(pool.covariance)
        return {"mean": pool.mean, "values": values, "directions": directions}

    def prepare_score(self, X: Features, *, space: Space, statistics: Mapping[str, np.ndarray] | None = None) -> Arrays:
        """Return the rows X (n, d) in the basis of the eigenvectors."""
        if not statistics:
            return {}
        return {"rotated": _mapped(X, np.asarray(statistics["mean"]), np.asarray(statistics["directions"]))}

    def fit(self, negatives: Negatives, *, statistics: Mapping[str, np.ndarray] | None = None) -> Whitening:
        """Fit on negatives (n, d); raises :class:`MethodError` where an eigenvalue that is divided by is 0."""
        self.check_parameters()
        prepared = self.prepare_fit(negatives, space={}) if statistics is None else statistics
        values = np.asarray(prepared["values"])
        variances = (1 - self.shrinkage) * values + self.shrinkage * values.mean()
        variances = variances[: self.components]
        if not variances[-1] > len(values) * np.finfo(float).eps * variances[0]:
            raise MethodError(
                f"the covariance of the negatives is singular in {len(variances)} directions; "
                "raise shrinkage above 0, or keep fewer components"
            )
        self.mean_ = np.asarray(prepared["mean"])
        self.scale_ = variances ** (-0.5 if self.form == "whiten" else -1.0)
        self.map_ = np.asarray(prepared["directions"])[:, : len(variances)] * self.scale_
        return self

    def encode(self, X: Features, *, statistics: Mapping[str, np.ndarray] | None = None) -> Encoding:
        """Return unit rows (n, r)."""
        if statistics:
            return Encoding(unit_rows(np.asarray(statistics["rotated"])[:, : len(self.scale_)] * self.scale_))
        return Encoding(unit_rows(_mapped(X, self.mean_, self.map_)))

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return inner products (n_a, n_b) of unit rows."""
        return np.asarray(A.vectors @ B.vectors.T)

    def matrices(self) -> Arrays:
        """Return mean and map."""
        return {"mean": self.mean_, "map": self.map_}


def _mapped(X: Features, mean: np.ndarray, map_: np.ndarray) -> np.ndarray:
    mapped = np.empty((len(X), map_.shape[1]))
    for where, rows in checked_blocks(X, len(mean)):
        mapped[where] = (rows - mean) @ map_
    return mapped
