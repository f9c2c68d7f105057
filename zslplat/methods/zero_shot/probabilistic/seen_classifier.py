"""One classifier of the seen classes, for the methods that start from its probabilities.

A multinomial logistic regression by scikit-learn. C is the inverse of its penalty for rows whose mean squared length
is 1: the features are brought to that length first and the weights back afterwards, so that C means the same whatever
the units of the features; for rows of length 1 it is scikit-learn's. It works in the precision of the features, which
halves the time where that is single.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.zero_shot.base import ZeroShotMethod, check_fit_inputs
from zslplat.space import POSITIVE, Real, Space, parameter

PENALTY = parameter(
    "inverse penalty of the classifier, for rows of mean squared length 1",
    POSITIVE,
    Real(1e-2, 1e2, log=True, steps=9),
    default=10.0,
)
# On the gradient of the mean loss.
PRECISION = 1e-5
ITERATIONS = 1000


def rows_of_unit_size(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the rows X (n, d) divided by the root of their mean squared length, and that root; 1 for zeros."""
    X = X if X.dtype in (np.float32, np.float64) else np.asarray(X, dtype=np.float64)
    length = float(np.sqrt(np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X))) or 1.0
    return X / X.dtype.type(length), length


def solve(X: np.ndarray, y: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return weights W (d, c), offsets (c,) and the number of iterations; labels y (n,) in 0..c-1, all there.

    Raises :class:`DataError` for one class, from which nothing can be told apart.
    """
    if y.max() == 0:
        raise DataError("one seen class; a classifier of the seen classes needs two or more")
    rows, length = rows_of_unit_size(X)
    regression = LogisticRegression(C=C, tol=PRECISION, max_iter=ITERATIONS).fit(rows, y)
    W, offset = regression.coef_.T.astype(np.float64) / length, regression.intercept_.astype(np.float64)
    if len(offset) == 1:  # of two classes scikit-learn keeps the difference alone
        W, offset = np.hstack([-W, W]) / 2, np.concatenate([-offset, offset]) / 2
    return W, offset, int(regression.n_iter_[0])


def probabilities(X: np.ndarray, W: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the probabilities (n, c) of the seen classes for rows X (n, d), in float64."""
    return np.asarray(softmax(np.asarray(X, dtype=np.float64) @ W + offset, axis=1))


class SeenClassMethod(ZeroShotMethod):
    """Base of the methods that score by the probabilities of the seen classes.

    The classifier and its probabilities are prepared once per value of ``C``, whatever else is searched. Learned:
    ``W_`` (d, c), ``offset_`` (c,), ``signatures_`` (c, a), the signatures that it was trained with.
    """

    tolerance = 1e-3
    tolerance_reason = "the solver stops at a small gradient, which depends on the order of the rows"
    costly = ("C",)
    C = PENALTY

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the classifier for this C."""
        check_fit_inputs(X, y, S)
        W, offset, iterations = solve(X, y, self.C)
        return {"W": W, "offset": offset, "iterations": np.asarray(iterations)}

    def prepare_score(
        self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Mapping[str, np.ndarray] | None = None
    ) -> Arrays:
        """Return the probabilities (n, c) of the seen classes; nothing where there is no classifier yet."""
        return {"P": probabilities(X, statistics["W"], statistics["offset"])} if statistics else {}

    def fit(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None
    ) -> SeenClassMethod:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        if not statistics:
            statistics = self.prepare_fit(X, y, S, space={})
        self.W_, self.offset_ = np.asarray(statistics["W"]), np.asarray(statistics["offset"])
        self.signatures_ = np.array(S, dtype=np.float64)
        self.diagnostics_ = Diagnostics(numbers={"iterations": float(statistics["iterations"])})
        return self

    def seen_probabilities(self, X: np.ndarray, statistics: Mapping[str, np.ndarray] | None) -> np.ndarray:
        """Return the probabilities (n, c) of the seen classes, prepared or computed here."""
        return np.asarray(statistics["P"]) if statistics else probabilities(X, self.W_, self.offset_)

    def matrices(self) -> Arrays:
        """Return the classifier, W (d, c) and its offset (c,)."""
        return {"W": self.W_, "offset": self.offset_}
