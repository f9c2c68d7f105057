"""One calibrated binary classifier per attribute, all linear: the log-odds of attribute m are x w_m + b_m.

| here | shape        | meaning                                                    |
|------|--------------|------------------------------------------------------------|
| X    | (n, d)       | training rows, brought to mean squared length 1            |
| B    | (c, a)       | binary signatures; the label of a row is that of its class |
| W, b | (d, a), (a,) | weights and offsets of the log-odds                        |

``logistic``: logistic regression, which is calibrated by itself, all attributes at once. ``svm``: a
linear support vector machine (squared hinge) and Platt's sigmoid, fitted to decision values of rows that were held out
in turns; the sigmoid of a linear decision value is again linear in the log-odds. Machines and sigmoids are
scikit-learn's, one attribute after the other, which on tens of thousands of rows takes minutes for each. C as in
:mod:`.conse`.

Attributes that are alike, or opposite, in all seen classes share one classifier. Those that all seen classes have, or
none, have no classifier and log-odds of 0.

Logistic regressions that share their rows, one for each of several binary targets, solved together.

| here | shape  | meaning                                                      |
|------|--------|--------------------------------------------------------------|
| X    | (n, d) | training rows, less their mean; X'X = Q diag(f) Q', Q (d, r) |
| T    | (n, k) | targets, 0 or 1                                              |
| q    | (k,)   | mean of each target                                          |
| V    | (r, k) | weights along the directions Q, W = Q V                      |
| b    | (k,)   | offsets, without penalty                                     |

The losses summed over rows, plus |w|^2 / 2C, are what scikit-learn's ``LogisticRegression`` minimises for one target;
there is one minimum, and the tests compare. Here every pass over the rows is a product of X with the weights of all
targets, and the variables are divided by the root of the curvature at V = 0 with offsets logit(q), which is
q (1 - q) f + 1 / C. In these variables L-BFGS needs some tens of passes, whatever the spread of f. Of 40000 rows, 1280
features and 100 targets a pass is 20 GFlop, X'X with its eigendecomposition some 70, and all of it half a minute of one
core. One target after the other it would be products with single vectors, and more passes.

Products run in the precision of X, sums over rows in float64.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from zslplat.errors import DataError, OutcomeWarning
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.probabilistic.conse import PRECISION, rows_of_unit_size
from zslplat.methods.rows import row_keys

# Of the gradient in the scaled variables, times the root of n: what remains moves log-odds by some 1e-4.
LOGISTIC_PRECISION = 1e-5
LOGISTIC_ITERATIONS = 500


def fit_logistic(X: np.ndarray, T: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, k) and b (k,) for rows X (n, d) and boolean targets T (n, k).

    The mean of every target lies strictly between 0 and 1. Warns where the iterations did not suffice.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    X = X - mean.astype(X.dtype)
    Q, f = spectral.row_space(X)
    q = T.mean(axis=0, dtype=np.float64)
    curvature = q * (1 - q)
    start = np.log(q) - np.log1p(-q)
    # The last row is for the offsets.
    scale = 1 / np.sqrt(np.vstack([f[:, None] * curvature + 1 / C, len(X) * curvature]))
    directions = Q.astype(X.dtype)

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = scale * u.reshape(scale.shape)
        V, b = scaled[:-1], scaled[-1] + start
        Z = (X @ (directions @ V.astype(X.dtype))).astype(np.float64) + b
        value = float(np.logaddexp(0, Z).sum() - Z[T].sum())
        P = expit(Z)
        P -= T
        slope = directions.T @ (X.T @ P.astype(X.dtype)) + V / C
        return value + float((V * V).sum()) / (2 * C), (scale * np.vstack([slope, P.sum(axis=0)])).ravel()

    # Rounding of single-precision products ends the search before the gradient does, at worst.
    options = {
        "maxiter": LOGISTIC_ITERATIONS,
        "gtol": LOGISTIC_PRECISION * np.sqrt(len(X)),
        "ftol": 1e-13,
        "maxcor": 10,
    }
    result = minimize(loss, np.zeros(scale.size), jac=True, method="L-BFGS-B", options=options)
    if result.status == 1:
        text = f"logistic regression: not converged after {result.nit} iterations"
        warnings.warn(OutcomeWarning(text, "ZSP213"), stacklevel=2)
    scaled = scale * result.x.reshape(scale.shape)
    W = Q @ scaled[:-1]
    return W, scaled[-1] + start - mean @ W


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
        W[:, vary], b[vary] = fit_logistic(X, targets, C) if classifier == "logistic" else _platt(X, targets, C)
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
