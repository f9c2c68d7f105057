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

Cosine similarity of the features themselves: what every exemplar method must beat.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import MethodError
from zslplat.families.exemplars.methods import moments
from zslplat.families.exemplars.methods.base import (
    Encoding,
    ExemplarMethod,
    Negatives,
    check_matrix,
    checked_blocks,
    row_blocks,
)
from zslplat.methods.base import Arrays, Features, Prepared, Statistics
from zslplat.methods.rows import unit_rows
from zslplat.space import BOOLEAN, Choice, Integer, Optional, Real, Space, parameter


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

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Take the mean of the negatives (n, d) where it is wanted."""
        mean = np.asarray(statistics["mean"])
        self.mean_ = mean if self.center else np.zeros_like(mean)

    def encode(self, X: Features, *, statistics: Statistics = None) -> Encoding:
        """Return unit rows (n, d)."""
        vectors = np.empty((len(X), len(self.mean_)))
        for where, rows in checked_blocks(X, len(self.mean_)):
            vectors[where] = unit_rows(rows - self.mean_)
        return Encoding(vectors)


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
        "whiten (power 1/2) or lda (power 1)", Choice(("whiten", "lda")), Choice(("whiten", "lda")), default="whiten"
    )
    shrinkage = parameter("share of the mean eigenvalue", Real(0, 1), Real(1e-4, 1, log=True), default=0.01)
    components = parameter("leading directions that are kept; none: all", Optional(Integer(1)), default=None)

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return mean and eigensystem of the negatives."""
        pool = moments.accumulate(row_blocks(negatives))
        values, directions = moments.eigensystem(pool.covariance)
        return {"mean": pool.mean, "values": values, "directions": directions}

    def prepare_score(self, X: Features, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the rows X (n, d) in the basis of the eigenvectors."""
        if not statistics:
            return {}
        return {"rotated": _mapped(X, np.asarray(statistics["mean"]), np.asarray(statistics["directions"]))}

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Fit on negatives (n, d); raises :class:`MethodError` where an eigenvalue that is divided by is 0."""
        values = np.asarray(statistics["values"])
        variances = (1 - self.shrinkage) * values + self.shrinkage * values.mean()
        variances = variances[: self.components]
        if not variances[-1] > len(values) * np.finfo(float).eps * variances[0]:
            raise MethodError(
                f"the covariance of the negatives is singular in {len(variances)} directions; "
                "raise shrinkage above 0, or keep fewer components"
            )
        self.mean_ = np.asarray(statistics["mean"])
        self.scale_ = variances ** (-0.5 if self.form == "whiten" else -1.0)
        self.map_ = np.asarray(statistics["directions"])[:, : len(variances)] * self.scale_

    def encode(self, X: Features, *, statistics: Statistics = None) -> Encoding:
        """Return unit rows (n, r)."""
        if statistics:
            return Encoding(unit_rows(np.asarray(statistics["rotated"])[:, : len(self.scale_)] * self.scale_))
        return Encoding(unit_rows(_mapped(X, self.mean_, self.map_)))

    def matrices(self) -> Arrays:
        """Return mean and map."""
        return {"mean": self.mean_, "map": self.map_}


def _mapped(X: Features, mean: np.ndarray, map_: np.ndarray) -> np.ndarray:
    mapped = np.empty((len(X), map_.shape[1]))
    for where, rows in checked_blocks(X, len(mean)):
        mapped[where] = (rows - mean) @ map_
    return mapped
