"""One calibrated binary classifier per attribute, all linear: the log-odds of attribute m are x w_m + b_m.

| here | shape        | meaning                                                    |
|------|--------------|------------------------------------------------------------|
| X    | (n, d)       | training rows, brought to mean squared length 1            |
| B    | (c, a)       | binary signatures; the label of a row is that of its class |
| W, b | (d, a), (a,) | weights and offsets of the log-odds                        |

``logistic``: logistic regression, which is calibrated by itself, all attributes at once (:mod:`.logistic`). ``svm``: a
linear support vector machine (squared hinge) and Platt's sigmoid, fitted to decision values of rows that were held out
in turns; the sigmoid of a linear decision value is again linear in the log-odds. Machines and sigmoids are
scikit-learn's, one attribute after the other, which on tens of thousands of rows takes minutes for each. C as in
:mod:`.seen_classifier`.

Attributes that are alike, or opposite, in all seen classes share one classifier. Those that all seen classes have, or
none, have no classifier and log-odds of 0.
"""

from __future__ import annotations

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from zslplat.errors import DataError
from zslplat.methods.row_order import row_keys
from zslplat.methods.zero_shot.probabilistic import logistic
from zslplat.methods.zero_shot.probabilistic.seen_classifier import PRECISION, rows_of_unit_size

# Parts of the rows that Platt's sigmoid holds out in turns.
HELD_OUT = 3
ITERATIONS = 10_000


def solve(X: np.ndarray, y: np.ndarray, B: np.ndarray, C: float, classifier: str) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, a) and b (a,) for rows X (n, d), labels y (n,) and binary signatures B (c, a)."""
    B = np.asarray(B, dtype=bool)
    X, length = rows_of_unit_size(X)
    if classifier == "svm":
        # Which rows are held out together goes by their place.
        order = np.argsort(row_keys("X", X), kind="stable")
        X, y = X[order], y[order]
    # Of opposite attributes: the one that the first class does not have. p(not a) = 1 - p(a).
    sign = np.where(B[0], -1.0, 1.0)
    patterns, which = np.unique(B ^ B[0], axis=1, return_inverse=True)
    W, b = np.zeros((X.shape[1], patterns.shape[1])), np.zeros(patterns.shape[1])
    vary = patterns.any(axis=0)
    if vary.any():
        targets = patterns[:, vary][y]
        W[:, vary], b[vary] = logistic.solve(X, targets, C) if classifier == "logistic" else _platt(X, targets, C)
    return W[:, which.ravel()] * sign / length, b[which.ravel()] * sign


def _platt(X: np.ndarray, targets: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (d, k) and offsets (k,) of the log-odds of boolean targets (n, k)."""
    X = np.asarray(X, dtype=np.float64)
    machines = [_platt_of_one(X, labels, C) for labels in targets.T]
    return np.transpose([w for w, _ in machines]), np.array([b for _, b in machines])


def _platt_of_one(X: np.ndarray, labels: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    fewest = int(min(labels.sum(), (~labels).sum()))
    if fewest < 2:
        raise DataError(
            f"an attribute is told by {fewest} training row, and Platt's sigmoid holds rows out; "
            "use classifier=logistic, or more rows"
        )
    folds = StratifiedKFold(min(HELD_OUT, fewest))
    # Its solver of the dual draws coordinates.
    machine = LinearSVC(C=C, tol=PRECISION, max_iter=ITERATIONS, random_state=0)
    calibration = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(X, labels)
    calibrated = calibration.calibrated_classifiers_[0]
    (platt,) = calibrated.calibrators  # p = 1 / (1 + exp(a f + b)) of the decision value f
    inner = calibrated.estimator
    return -platt.a_ * inner.coef_[0], float(-platt.a_ * inner.intercept_[0] - platt.b_)
