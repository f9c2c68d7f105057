"""Logistic regressions that share their rows, one for each of several binary targets, solved together.

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

from zslplat.errors import OutcomeWarning
from zslplat.methods.zero_shot import spectral

# Of the gradient in the scaled variables, times the root of n: what remains moves log-odds by some 1e-4.
PRECISION = 1e-5
ITERATIONS = 500


def solve(X: np.ndarray, T: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
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
    options = {"maxiter": ITERATIONS, "gtol": PRECISION * np.sqrt(len(X)), "ftol": 1e-13, "maxcor": 10}
    result = minimize(loss, np.zeros(scale.size), jac=True, method="L-BFGS-B", options=options)
    if result.status == 1:
        text = f"logistic regression: not converged after {result.nit} iterations"
        warnings.warn(OutcomeWarning(text, "ZSP213"), stacklevel=2)
    scaled = scale * result.x.reshape(scale.shape)
    W = Q @ scaled[:-1]
    return W, scaled[-1] + start - mean @ W
