"""One classifier of the seen classes, for the methods that start from its probabilities.

A multinomial logistic regression by scikit-learn. C is the inverse of its penalty for rows whose mean squared length
is 1: the features are brought to that length first and the weights back afterwards, so that C means the same whatever
the units of the features; for rows of length 1 it is scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.zero_shot.base import ZeroShotMethod, check_fit_inputs
from zslplat.space import POSITIVE, Parameter, Real, Space

PENALTY = Parameter(
    "inverse penalty of the classifier, for rows of mean squared length 1",
    POSITIVE,
    Real(1e-2, 1e2, log=True, steps=9),
    default=10.0,
)
# On the gradient of the mean loss.
PRECISION = 1e-6
ITERATIONS = 1000


def root_mean_square(X: np.ndarray) -> float:
    """Return the root of the mean squared length of the rows of X (n, d); 1 where all are zero."""
    return float(np.sqrt(np.einsum("ij,ij->", X, X) / len(X))) or 1.0


def solve(X: np.ndarray, y: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return weights W (d, c), offsets (c,) and the number of iterations; labels y (n,) in 0..c-1, all there.

    Raises :class:`DataError` for one class, from which nothing can be told apart.
    """
    X = np.asarray(X, dtype=np.float64)
    if y.max() == 0:
        raise DataError("one seen class; a classifier of the seen classes needs two or more")
    length = root_mean_square(X)
    found = LogisticRegression(C=C, tol=PRECISION, max_iter=ITERATIONS).fit(X / length, y)
    W, offset = found.coef_.T / length, found.intercept_
    if len(offset) == 1:  # of two classes scikit-learn keeps the difference alone
        W, offset = np.hstack([-W, W]) / 2, np.concatenate([-offset, offset]) / 2
    return W, offset, int(found.n_iter_[0])


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
    C: float

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
