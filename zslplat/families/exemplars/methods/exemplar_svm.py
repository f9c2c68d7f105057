"""Exemplar SVMs: one linear support vector machine per row against all negatives, by scikit-learn.

Malisiewicz, Gupta and Efros, "Ensemble of exemplar-SVMs for object detection and beyond", ICCV 2011; as encodings of
images, compared by cosine: Zepeda and Perez, "Exemplar SVMs as visual feature encoders", CVPR 2015.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.exemplars.methods.base import (
    Encoding,
    ExemplarMethod,
    Negatives,
    check_matrix,
    checked_blocks,
    count_rows,
)
from zslplat.families.exemplars.methods.landmarks import gather
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.methods.rows import unit_rows
from zslplat.space import POSITIVE, Choice, Integer, Optional, Real, parameter


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
    negatives = parameter(
        "number of negatives that are drawn from the pool; none: all", Optional(Integer(1)), default=None
    )
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
