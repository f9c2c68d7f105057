"""The multi-class hinge with any margins, by coordinate ascent in the dual: one row's variables at a time, exactly.

| here  | shape  | meaning                                                                            |
|-------|--------|------------------------------------------------------------------------------------|
| X     | (n, d) | rows x                                                                             |
| D     | (c, c) | margins D[y, c] that class c keeps from a row of class y; 0 on the diagonal        |
| W     | (c, d) | a classifier per class, without offset                                             |
| F     | (n, c) | X W'                                                                               |
| P     | (n, c) | dual variables: each row p in the simplex                                          |
| lam   | scalar | ridge                                                                              |

    minimise  1 / n sum_i max_c (F_ic + D[y_i, c] - F_iy) + lam / 2 |W|^2

has the dual maximise 1 / n sum_i D[y_i] p_i - lam / 2 |W|^2 with W = 1 / (lam n) sum_i (e_y - p_i) x_i'. With all other
rows fixed, the best p_i is the projection of p_i + (F_i + D[y_i]) / q onto the simplex, q = |x_i|^2 / (lam n). The
duality gap is 1 / n sum_i [max_c (F_ic + D[y_i, c]) - p_i (F_i + D[y_i])], a sum over rows none of which is negative.

Rows are visited in blocks: F of a block is one matrix product, and what a row's step changes in the F of those after it
in the block goes through the Gram matrix of the block, so that every step sees the W of that moment. A pass over all
rows is followed by passes over those that are not settled, whose p is no corner of the simplex or whose part of the gap
is large. The order of visits is drawn anew for each pass, from rows in an order of their own (``row_order``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_blas_funcs

from zslplat.families.zero_shot.methods.sync.squared_hinge import product, transposed_product
from zslplat.methods.compiled import compiled
from zslplat.methods.rows import row_keys

BLOCK = 64
PASSES_OVER_UNSETTLED = 5
# A row is not settled while its part of the gap is more than this share of the mean part.
LARGE = 0.1


@dataclass(frozen=True)
class Fitted:
    """Classifiers W (c, d), the primal value there, the relative duality gap after each round, and the passes made."""

    W: np.ndarray
    value: float
    gaps: list[float]
    passes: float


def solve(X: np.ndarray, y: np.ndarray, margins: np.ndarray, lam: float, gap: float, passes: float) -> Fitted:
    """Return the minimiser for rows X (n, d), labels y (n,) and margins (c, c) with 0 on the diagonal, W in float64.

    Stops when the duality gap is below ``gap`` times the primal value, or after ``passes`` over the rows, counted in
    rows visited. What is returned is the value and gap of the W returned, computed anew from the dual variables.
    """
    n = len(y)
    P = np.zeros((n, len(margins)))
    P[np.arange(n), y] = 1
    W = np.zeros((len(margins), X.shape[1]))
    unit = lam * n
    q = np.einsum("ij,ij->i", X, X, dtype=np.float64) / unit
    order = np.argsort(row_keys("X", X), kind="stable")
    random = np.random.default_rng(0)
    gaps, made = [], 0.0
    while True:
        value, parts = certificate(X, y, margins, P, W, lam)
        gaps.append(float(parts.mean()) / value if value > 0 else 0.0)
        if gaps[-1] <= gap or made >= passes:
            return Fitted(W, value, gaps, made)
        rounded = W.astype(X.dtype)  # what the steps of a round see and move; W is made anew of P at its end
        _visit(X, y, margins, P, rounded, q, unit, order[random.permutation(n)])
        made += 1
        unsettled = order[((P.max(axis=1) < 1) | (parts > LARGE * parts.mean()))[order]]
        for _ in range(PASSES_OVER_UNSETTLED):
            _visit(X, y, margins, P, rounded, q, unit, unsettled[random.permutation(len(unsettled))])
            made += len(unsettled) / n
        W = weights(X, y, P, lam)


def weights(X: np.ndarray, y: np.ndarray, P: np.ndarray, lam: float) -> np.ndarray:
    """Return W (c, d) = 1 / (lam n) sum_i (e_y - p_i) x_i' of the dual variables."""
    moved = -P
    moved[np.arange(len(y)), y] += 1
    return transposed_product(X, moved) / (lam * len(y))


def certificate(
    X: np.ndarray, y: np.ndarray, margins: np.ndarray, P: np.ndarray, W: np.ndarray, lam: float
) -> tuple[float, np.ndarray]:
    """Return the primal value at W = ``weights(P)``, and the part of every row in the duality gap, their mean (n,)."""
    A = product(X, W) + margins[y]
    top = A.max(axis=1)
    value = float((top - A[np.arange(len(y)), y]).mean()) + lam / 2 * float((W**2).sum())
    return value, np.maximum(top - np.einsum("ij,ij->i", P, A), 0)


def _visit(
    X: np.ndarray,
    y: np.ndarray,
    margins: np.ndarray,
    P: np.ndarray,
    W: np.ndarray,
    q: np.ndarray,
    unit: float,
    order: np.ndarray,
) -> None:
    """Take the steps of the rows ``order``, changing P and W in place; W in the precision of X."""
    gemm = get_blas_funcs("gemm", (W,))
    for start in range(0, len(order), BLOCK):
        rows = order[start : start + BLOCK]
        block = X[rows]
        A = block @ W.T + margins[y[rows]]
        before = P[rows]
        after = before.copy()
        _steps(A, (block @ block.T).astype(np.float64) / unit, after, q[rows])
        change = (before - after) / unit
        columns = change.any(axis=0)
        P[rows] = after
        if 2 * np.count_nonzero(columns) > len(columns):
            # W += change' block, where W is: its transpose is what BLAS calls a matrix in column order.
            gemm(1.0, block.T, change.T.astype(X.dtype), beta=1.0, c=W.T, trans_b=True, overwrite_c=True)
        elif columns.any():
            W[columns] += change[:, columns].T.astype(X.dtype) @ block


@compiled(error_model="numpy")
def _steps(A: np.ndarray, K: np.ndarray, P: np.ndarray, q: np.ndarray) -> None:
    """Take the steps of a block: P (b, c) and A = F + D (b, c) are changed; K (b, b) is the Gram over lam n."""
    rows, classes = A.shape
    v = np.empty(classes)
    for i in range(rows):
        if q[i] > 0:
            for k in range(classes):
                v[k] = P[i, k] + A[i, k] / q[i]
            _project(v)
        else:
            # A row of zeros has the same part in the value whatever W is.
            v[:] = 0.0
            v[np.argmax(A[i])] = 1.0
        for k in range(classes):
            change = P[i, k] - v[k]
            if change != 0.0:
                P[i, k] = v[k]
                for j in range(i + 1, rows):
                    A[j, k] += K[i, j] * change


@compiled(error_model="numpy")
def _project(v: np.ndarray) -> None:
    """Put the nearest point of the simplex in place of v: max(v - t, 0), whose t rises to where the sum is 1.

    Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex", 1986.
    """
    threshold = v.max() - 1.0
    while True:
        count, total = 0, 0.0
        for k in range(len(v)):
            if v[k] > threshold:
                count += 1
                total += v[k]
        higher = (total - 1.0) / count
        if higher <= threshold:
            break
        threshold = higher
    for k in range(len(v)):
        v[k] = max(v[k] - threshold, 0.0)
