"""Class sums and eigendecompositions that closed forms share, so that a trial costs diagonal scalings only.

| here               | shape  | meaning                                                        |
|--------------------|--------|----------------------------------------------------------------|
| feature_directions | (d, r) | eigenvectors Q of X'X with non-zero eigenvalue, r <= min(n, d) |
| feature_values     | (r,)   | their eigenvalues                                              |
| feature_scale      | ()     | mean eigenvalue of X'X over all d, trace / d                   |
| class_sums         | (c, d) | Y'X, the sum of the rows of each class                         |
| class_counts       | (c,)   | rows of each class, the diagonal of Y'Y                        |

Products run in the precision of X, over blocks of rows whose sums are added up in float64: the error is that of one
block, not of n rows.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

BLOCK = 2048


def scatter(X: np.ndarray) -> np.ndarray:
    """Return X'X (d, d) in float64."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        total += rows.T @ rows
    return total


def gram(X: np.ndarray) -> np.ndarray:
    """Return XX' (n, n) in float64, summed over blocks of columns."""
    total = np.zeros((len(X), len(X)))
    for start in range(0, X.shape[1], BLOCK):
        columns = X[:, start : start + BLOCK]
        total += columns @ columns.T
    return total


def class_sums(X: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Return Y'X (c, d) in float64."""
    sums = np.zeros((classes, X.shape[1]))
    for label in range(classes):
        sums[label] = X[y == label].sum(axis=0, dtype=np.float64)
    return sums


def class_counts(y: np.ndarray, classes: int) -> np.ndarray:
    """Return the number of rows of each class (c,) as float64."""
    return np.bincount(y, minlength=classes).astype(np.float64)


def row_space(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Q (d, r), values (r,) with X'X = Q diag(values) Q', from whichever of X'X and XX' is smaller.

    Eigenvalues below 1e-10 of the largest are left out in the dual form (n < d), where dividing by their root would
    blow up rounding errors; the primal form keeps all d directions.
    """
    n, d = X.shape
    if n >= d:
        values, Q = linalg.eigh(scatter(X), check_finite=False, driver="evd")
        return Q, np.maximum(values, 0)
    values, P = linalg.eigh(gram(X), check_finite=False, driver="evd")
    keep = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    values, P = values[keep], P[:, keep]
    return (X.T.astype(np.float64) @ P) / np.sqrt(values), values


def prepare(X: np.ndarray, y: np.ndarray, classes: int) -> dict[str, np.ndarray]:
    """Return the arrays of the table above, by name."""
    Q, values = row_space(X)
    return {
        "feature_directions": Q,
        "feature_values": values,
        "feature_scale": np.asarray(values.sum() / X.shape[1]),
        "class_sums": class_sums(X, y, classes),
        "class_counts": class_counts(y, classes),
    }
