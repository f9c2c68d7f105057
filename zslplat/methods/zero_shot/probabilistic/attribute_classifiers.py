"""One calibrated binary classifier per attribute, all linear: the log-odds of attribute m are x w_m + b_m.

| here | shape  | meaning                                                  |
|------|--------|----------------------------------------------------------|
| X    | (n, d) | training rows, brought to mean squared length 1          |
| B    | (c, a) | binary signatures; the label of a row is that of its class |
| W, b | (d, a), (a,) | weights and offsets of the log-odds                |

``logistic``: logistic regression, which is calibrated by itself. ``svm``: a linear support vector machine (squared
hinge) and Platt's sigmoid, fitted to decision values of rows that were held out in turns; the sigmoid of a linear
decision value is again a linear function in the log-odds. Both by scikit-learn; C as in :mod:`.seen_classifier`.

Attributes that are alike, or opposite, in all seen classes share one classifier. Those that all seen classes have, or
none, have no classifier and log-odds of 0.
"""

from __future__ import annotations

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from zslplat.errors import DataError
from zslplat.methods.row_order import row_keys
from zslplat.methods.zero_shot.probabilistic.seen_classifier import ITERATIONS, PRECISION, root_mean_square

# Parts of the rows that Platt's sigmoid holds out in turns.
HELD_OUT = 3


def solve(X: np.ndarray, y: np.ndarray, B: np.ndarray, C: float, classifier: str) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, a) and b (a,) for rows X (n, d), labels y (n,) and binary signatures B (c, a)."""
    X, B = np.asarray(X, dtype=np.float64), np.asarray(B, dtype=bool)
    length = root_mean_square(X)
    X = X / length
    if classifier == "svm":
        # Which rows are held out together goes by their place.
        order = np.argsort(row_keys("X", X), kind="stable")
        X, y = X[order], y[order]
    # Of opposite attributes: the one that the first class does not have. p(not a) = 1 - p(a).
    sign = np.where(B[0], -1.0, 1.0)
    patterns, which = np.unique(B ^ B[0], axis=1, return_inverse=True)
    W, b = np.zeros((X.shape[1], patterns.shape[1])), np.zeros(patterns.shape[1])
    for m, pattern in enumerate(patterns.T):
        if pattern.any():
            W[:, m], b[m] = _of_one(X, pattern[y], C, classifier)
    return W[:, which.ravel()] * sign / length, b[which.ravel()] * sign


def _of_one(X: np.ndarray, labels: np.ndarray, C: float, classifier: str) -> tuple[np.ndarray, float]:
    """Return weights (d,) and offset of the log-odds of binary labels (n,)."""
    if classifier == "logistic":
        found = LogisticRegression(C=C, tol=PRECISION, max_iter=ITERATIONS).fit(X, labels)
        return found.coef_[0], float(found.intercept_[0])
    fewest = int(min(labels.sum(), (~labels).sum()))
    if fewest < 2:
        raise DataError(
            f"an attribute is told by {fewest} training row, and Platt's sigmoid holds rows out; "
            "use classifier=logistic, or more rows"
        )
    folds = StratifiedKFold(min(HELD_OUT, fewest))
    machine = LinearSVC(C=C, tol=PRECISION, max_iter=10 * ITERATIONS)
    found = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(X, labels)
    calibrated = found.calibrated_classifiers_[0]
    (platt,) = calibrated.calibrators  # p = 1 / (1 + exp(a f + b)) of the decision value f
    inner = calibrated.estimator
    return -platt.a_ * inner.coef_[0], float(-platt.a_ * inner.intercept_[0] - platt.b_)
