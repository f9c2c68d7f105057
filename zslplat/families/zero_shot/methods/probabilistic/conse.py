"""ConSE: a row is the mean of the signatures of its likeliest seen classes.

Norouzi, Mikolov, Bengio, Singer, Shlens, Frome, Corrado and Dean, "Zero-shot learning by convex combination of semantic
embeddings", ICLR 2014. Its abstract says that an image is placed by "convex combination of the class label embedding
vectors", without further training; the top T with their probabilities made to sum to 1 are as in
``docs/ch11/zero_shot/embedding_based.md`` of SungchulLee/deep_learning_book_writing. From memory: the comparison by
cosine, and T = 1, 10 and 1000 in the paper.

| paper           | here   | shape  | meaning                                                  |
|-----------------|--------|--------|----------------------------------------------------------|
| p_0(y | x)      | P      | (n, c) | probabilities of the seen classes                        |
| s(y)            | S      | (c, a) | signatures of the seen classes                           |
| T               | T      | scalar | classes that are combined, at most c                     |
| f(x)            | F      | (n, a) | sum_t p_t s_t / sum_t p_t over the T likeliest           |

The score of a class is the cosine of f(x) with its signature. Of classes that are equally likely the ones with lower
numbers are taken first.

One classifier of the seen classes, for the methods that start from its probabilities.

A multinomial logistic regression by scikit-learn. C is the inverse of its penalty for rows whose mean squared length
is 1: the features are brought to that length first and the weights back afterwards, so that C means the same whatever
the units of the features; for rows of length 1 it is scikit-learn's. It works in the precision of the features, which
halves the time where that is single.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import DataError
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.rows import unit_rows
from zslplat.space import POSITIVE, Integer, Real, Space, parameter

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

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the probabilities (n, c) of the seen classes; nothing where there is no classifier yet."""
        return {"P": probabilities(X, statistics["W"], statistics["offset"])} if statistics else {}

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        self.W_, self.offset_ = np.asarray(statistics["W"]), np.asarray(statistics["offset"])
        self.signatures_ = np.array(S, dtype=np.float64)
        self.diagnostics_ = Diagnostics(numbers={"iterations": float(statistics["iterations"])})

    def seen_probabilities(self, X: np.ndarray, statistics: Statistics) -> np.ndarray:
        """Return the probabilities (n, c) of the seen classes, prepared or computed here."""
        return np.asarray(statistics["P"]) if statistics else probabilities(X, self.W_, self.offset_)

    def matrices(self) -> Arrays:
        """Return the classifier, W (d, c) and its offset (c,)."""
        return {"W": self.W_, "offset": self.offset_}


def combined(P: np.ndarray, S: np.ndarray, T: int) -> np.ndarray:
    """Return f(x) (n, a): the mean of the signatures S (c, a) of the T likeliest classes by P (n, c), weighed by it."""
    if P.shape[1] > T:
        likeliest = np.argsort(-P, axis=1, kind="stable")[:, :T]
        weights = np.zeros_like(P)
        np.put_along_axis(weights, likeliest, np.take_along_axis(P, likeliest, axis=1), axis=1)
    else:
        weights = P
    return np.asarray((weights / weights.sum(axis=1, keepdims=True)) @ S)


class ConSE(SeenClassMethod):
    r"""Convex combination of the signatures of the likeliest seen classes (Norouzi et al., 2014).

    ``C`` is the inverse penalty of the classifier (:mod:`.conse`); ``T`` the number of classes that are
    combined, at most all. The paper takes a network's softmax for the classifier and T up to 1000 of 1000 classes; T is
    searched on validation here. Learned: ``W_`` (d, c), ``offset_`` (c,), ``signatures_`` (c, a). In float64.

    Equations
    ---------
    A row is placed at the mean of the signatures of its T likeliest seen classes, and takes the class nearest in angle:

    $$f(x) = \frac{\sum_{t=1}^{T} p(y_t \mid x)\, s_{y_t}}{\sum_{t=1}^{T} p(y_t \mid x)}, \qquad \hat c = \arg\max_c
    \cos(f(x), s_c)$$

    Related
    -------
    ``iap`` goes from the same probabilities to attributes; ``cmt`` maps the row itself.
    """

    summary = "convex combination of the signatures of the likeliest seen classes"
    citation = "Norouzi et al.: Zero-shot learning by convex combination of semantic embeddings. ICLR 2014"
    tags = ("inductive", "probabilistic", "from memory")
    preprocessing = Preprocessing(features=("standardise", "l2"), signatures=("center", "l2"))
    T = parameter("likeliest classes that are combined", Integer(1), Integer(1, 100, log=True), default=10)

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosine of every row's combination with every signature of S (c, a); X is (n, d)."""
        rows = combined(self.seen_probabilities(X, statistics), self.signatures_, self.T)
        return np.asarray(unit_rows(rows) @ unit_rows(np.asarray(S, dtype=np.float64)).T)
