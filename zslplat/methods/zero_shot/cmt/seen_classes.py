"""The classifier of the seen classes that cross-modal transfer consults for rows that are not new: a softmax."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from zslplat.data.store.rows import float_type
from zslplat.errors import DataError
from zslplat.methods.row_order import row_keys
from zslplat.methods.zero_shot.cmt.network import units
from zslplat.methods.zero_shot.cmt.transfer import minus_squared_distances


def trained(X: np.ndarray, y: np.ndarray, S: np.ndarray, penalty: float) -> dict[str, np.ndarray]:
    """Return the ``coefficients`` (d, c) and ``offsets`` (c,) of a softmax over rows X (n, d) with labels y (n,).

    It minimises the mean of minus the log probability of y plus penalty/2 of the squared coefficients, for features of
    unit mean square; offsets are free. Of two classes it is the difference of their coefficients that is penalised.
    Rows are sorted first, so that their order does not matter.
    """
    X = X.astype(float_type(X.dtype), copy=False)
    unit, _ = units(X, y, S)
    d, c = X.shape[1], len(S)
    if c == 1:
        return {"coefficients": np.zeros((d, 1)), "offsets": np.zeros(1)}
    order = np.argsort(row_keys("X", X), kind="stable")
    model = LogisticRegression(C=1 / (penalty * len(X)), max_iter=300)
    with warnings.catch_warnings():
        # Three hundred iterations are enough for a classifier, if not always for its lowest point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[order] / X.dtype.type(unit), y[order])
    weights = np.asarray(model.coef_, dtype=np.float64).T / unit
    offsets = np.asarray(model.intercept_, dtype=np.float64)
    if c == 2:  # of two classes scikit-learn keeps one column
        weights, offsets = np.hstack([-weights, weights]) / 2, np.r_[-offsets, offsets] / 2
    return {"coefficients": weights, "offsets": offsets}


def log_probabilities(X: np.ndarray, coefficients: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the log probability (n, c) of each seen class for rows X (n, d), in float64."""
    scores = X @ np.asarray(coefficients).astype(float_type(X.dtype))
    return np.asarray(log_softmax(scores.astype(np.float64) + offsets, axis=1))


def matched(S: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Return which row of ``learned`` (c, a) each signature of S (m, a) is.

    Equal signatures are equal to within rounding, since both went through the same preprocessing. Raises
    :class:`DataError` for a signature that is not among them.
    """
    S, learned = np.asarray(S, dtype=np.float64), np.asarray(learned, dtype=np.float64)
    nearest = np.argmax(minus_squared_distances(S, learned), axis=1)
    apart = np.abs(S - learned[nearest]).max(axis=1)
    strange = np.flatnonzero(apart > 1e-5 * np.abs(learned).max())
    if len(strange):
        raise DataError(
            f"{len(strange)} candidates are marked as seen in fit, but no class of the fit has their signature, first "
            f"number {strange[0]} of those marked; give the signatures of the fit, or mark them as unseen"
        )
    return np.asarray(nearest)
