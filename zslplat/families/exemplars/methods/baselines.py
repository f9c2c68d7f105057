"""What exemplar machines are compared with: cosine, whitening, discriminants and exemplar SVMs.

Whitening and linear discriminants: the same covariance as SLEM's, used the two usual ways.

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

Exemplar SVMs: one linear support vector machine per row against all negatives, by scikit-learn.

Malisiewicz, Gupta and Efros, "Ensemble of exemplar-SVMs for object detection and beyond", ICCV 2011; as encodings of
images, compared by cosine: Zepeda and Perez, "Exemplar SVMs as visual feature encoders", CVPR 2015.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import MethodError
from zslplat.families.exemplars.methods import moments
from zslplat.families.exemplars.methods.base import (
    Encoding,
    ExemplarMethod,
    Negatives,
    check_matrix,
    checked_blocks,
    count_rows,
    row_blocks,
)
from zslplat.families.exemplars.methods.moments import gather
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.methods.rows import unit_rows
from zslplat.space import BOOLEAN, POSITIVE, Choice, Integer, Optional, Real, Space, parameter


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


class ExemplarSVM(ExemplarMethod):
    r"""One linear SVM per row against the negatives; rows are compared by the cosine between their weight vectors.

    ``C`` is the penalty of a negative, ``C * positive_weight`` that of the positive; ``loss`` is ``hinge`` or
    ``squared_hinge``. ``negatives`` keeps a drawn part of the pool, as every row costs a fit on all of it. Rows are
    measured in units of the root of the negatives' mean squared length, so that a range of C serves features of any
    length. Learned: ``pool_`` (n, d), ``unit_``.

    Equations
    ---------
    A linear support vector machine for each row against all negatives:

    $$\min_{w, b} \frac{1}{2} \lVert w \rVert^2 + C \kappa\, \ell(1, \langle w, x_0 \rangle + b) + C \sum_i \ell(-1,
    \langle w, x_i \rangle + b)$$

    kappa is ``positive_weight``, and the loss a hinge or its square. Rows are compared by the cosine of their w.

    Symbols
    -------
    | symbol   | here                | shape  | meaning                                   |
    |----------|---------------------|--------|-------------------------------------------|
    | x_0, x_i | X, ``pool_``        | (n, d) | the row that becomes a machine, negatives |
    | w, b     |                     | (d,)   | the machine of a row                      |
    | C        | ``C``               | scalar | penalty of a negative                     |
    | kappa    | ``positive_weight`` | scalar | weight of the positive against it         |

    Related
    -------
    ``slem`` has a closed form in its place; ``whitening`` and ``cosine`` train nothing for a row.
    """

    summary = "one linear SVM per row against the negatives; the slow rival of slem"
    citation = "Malisiewicz, Gupta, Efros: Ensemble of exemplar-SVMs for object detection and beyond. ICCV 2011"
    tags = ("linear", "baseline", "slow")
    preprocessing = Preprocessing(features=("l2",))
    tolerance = 1e-2
    tolerance_reason = "the solver stops at its own tolerance and visits rows in a drawn order"
    takes_blocks = True
    C = parameter("penalty of margin violations", POSITIVE, Real(1e-2, 1e2, log=True), default=1.0)
    positive_weight = parameter("penalty of the positive in units of C", POSITIVE, Real(1, 100, log=True), default=10.0)
    loss = parameter("hinge or squared hinge", Choice(("hinge", "squared_hinge")), default="squared_hinge")
    negatives = parameter("negatives that are drawn from the pool; none: all", Optional(Integer(1)), default=None)
    iterations = parameter("passes of the solver at most", Integer(1), default=1000)
    seed = parameter("draws negatives and the solver's order", Integer(0), default=0)

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Keep the negatives (n, d), or as many of them as are wanted."""
        count = count_rows(negatives)
        number = min(count, self.negatives or count)
        drawn = np.sort(np.random.default_rng(self.seed).permutation(count)[:number])
        self.pool_ = check_matrix(gather(negatives, drawn, count))
        self.unit_ = float(np.sqrt(np.einsum("ij,ij->i", self.pool_, self.pool_).mean())) or 1.0

    def encode(self, X: Features, *, statistics: Statistics = None) -> Encoding:
        """Fit one machine per row of X (n, d) and return the unit weight vectors."""
        rows = np.vstack([np.zeros((1, self.pool_.shape[1])), self.pool_ / self.unit_])
        y = np.append(1, -np.ones(len(self.pool_), dtype=np.int64))
        weights = np.empty((len(X), self.pool_.shape[1]))
        numbers = np.arange(len(X))
        unfinished = 0
        blocks = checked_blocks(X, self.pool_.shape[1])
        for i, row in (pair for where, block in blocks for pair in zip(numbers[where], block, strict=True)):
            rows[0] = row / self.unit_
            solver = LinearSVC(
                C=self.C,
                loss=self.loss,
                class_weight={1: self.positive_weight},
                max_iter=self.iterations,
                random_state=self.seed,
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                weights[i] = solver.fit(rows, y).coef_[0]
            unfinished += bool(caught)
        self.diagnostics_ = Diagnostics(numbers={"negatives": len(self.pool_), "not_converged": unfinished})
        return Encoding(unit_rows(weights))

    def matrices(self) -> Arrays:
        """Return nothing: the pool is data, and no more is learned before a row is encoded."""
        return {}
