"""L20ALM: exactly k features under a robust loss, by an augmented Lagrangian.

Cai, Nie, Huang, "Exact Top-k Feature Selection via l2,0-Norm Constraint", IJCAI 2013:

    min_W,b  |X W + 1 b' - Y|_{2,1}   with at most k non-zero rows of W

=========  ==================  ========  ==============================================================================
paper      here                shape     meaning
=========  ==================  ========  ==============================================================================
X', Y      X, Y                (n, ..)   features; one-hot labels (or signatures)
W, b       W, b                (d, m)    regression and its bias
V          V                   (d, m)    copy of W with at most k non-zero rows
E          E                   (n, m)    residual X W + 1 b' - Y
Lambda     row_price           (d, m)    multiplier of W = V
Sigma      error_price         (n, m)    multiplier of E = X W + 1 b' - Y
mu, rho    penalty, growth               penalty of the Lagrangian, and its growth per iteration
=========  ==================  ========  ==============================================================================

Each iteration is exact in W and b together, in V and in E, then a step in the multipliers. The matrix of the W-step
is constant, and is factorised once: (d, d), or (n, n) where there are fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import numpy as np
from scipy import linalg

from zslplat.methods.base import Diagnostics
from zslplat.selection.base import (
    ROWS,
    SEED,
    SEED_DRAWS_ROWS,
    TARGET,
    FeatureSelector,
    check_selection_inputs,
    class_targets,
    drawn_rows,
    relative_pull,
    with_pull,
)
from zslplat.space import POSITIVE, Integer, Parameter, Real


def solve_l20alm(
    X: np.ndarray, Y: np.ndarray, k: int, *, penalty: float, growth: float, iterations: int, precision: float = 1e-6
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return W and V (d, m), and |W - V| / |W| after each iteration; starts from zero."""
    d = X.shape[1]
    centred = X - X.mean(axis=0)
    solve = _ridge_solver(centred)
    V, row_price = np.zeros((d, Y.shape[1])), np.zeros((d, Y.shape[1]))
    E, error_price = np.zeros_like(Y), np.zeros_like(Y)
    distances: list[float] = []
    W = V
    size = max(float(np.linalg.norm(Y)), 1e-300)
    for _ in range(iterations):
        wanted = Y + E - error_price / penalty
        W = solve(V - row_price / penalty + centred.T @ wanted)
        b = (wanted - X @ W).mean(axis=0)
        fitted = X @ W + b - Y
        V = _largest_rows(W + row_price / penalty, k)
        E = _shrunk_rows(fitted + error_price / penalty, 1 / penalty)
        row_price += penalty * (W - V)
        error_price += penalty * (fitted - E)
        penalty = min(1e8, penalty * growth)
        distances.append(float(np.linalg.norm(W - V)) / max(float(np.linalg.norm(W)), 1e-300))
        if distances[-1] < precision and float(np.linalg.norm(fitted - E)) < precision * size:
            break
    return W, V, distances


def _ridge_solver(centred: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function B -> (X_c'X_c + I)^-1 B."""
    n, d = centred.shape
    if d <= n:
        factor = linalg.cho_factor(centred.T @ centred + np.eye(d), overwrite_a=True)
        return lambda B: linalg.cho_solve(factor, B)
    factor = linalg.cho_factor(centred @ centred.T + np.eye(n), overwrite_a=True)
    return lambda B: B - centred.T @ linalg.cho_solve(factor, centred @ B)


def _largest_rows(matrix: np.ndarray, k: int) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1)
    kept = np.argsort(-lengths, kind="stable")[:k]
    result = np.zeros_like(matrix)
    result[kept] = matrix[kept]
    return result


def _shrunk_rows(matrix: np.ndarray, by: float) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix * (np.maximum(lengths - by, 0) / np.maximum(lengths, 1e-300)))


class L20ALM(FeatureSelector):
    """Exactly ``k`` features under an l2,1 loss (Cai, Nie, Huang, 2013).

    Not convex: the result depends on ``penalty`` and ``growth``; the start is zero (the authors' code draws one).
    Each feature counts by the length of its row of V; those outside the k follow below zero by their rows of W.
    At most ``rows`` rows are used, drawn evenly from the classes. ``target``: labels (the paper) or attributes.
    """

    summary = "robust regression on labels with exactly k features"
    citation = "Cai, Nie, Huang: Exact Top-k Feature Selection via l2,0-Norm Constraint. IJCAI 2013"
    tags = ("baseline", "supervised", "linear")
    random = True
    expected_failures = SEED_DRAWS_ROWS
    tolerance: ClassVar[float] = 1e-6
    tolerance_reason: ClassVar[str] = "hundreds of iterations carry rounding along"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "k": Parameter("number of features", Integer(1), Integer(10, 100)),
        "penalty": Parameter("first penalty of the Lagrangian", POSITIVE, Real(1e-3, 1, log=True)),
        "growth": Parameter("growth of the penalty per iteration", Real(1, 2)),
        "iterations": Parameter("iterations at most", Integer(1)),
        "target": TARGET,
        "rows": ROWS,
        "seed": SEED,
    }

    def __init__(
        self,
        *,
        k: int = 50,
        penalty: float = 1e-2,
        growth: float = 1.05,
        iterations: int = 200,
        target: str = "labels",
        rows: int | None = 2000,
        seed: int = 0,
    ) -> None:
        self.k = k
        self.penalty = penalty
        self.growth = growth
        self.iterations = iterations
        self.target = target
        self.rows = rows
        self.seed = seed

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        """Score the features by their rows of V."""
        check_selection_inputs(X, y, S, row_signatures)
        drawn = drawn_rows(y, self.rows, self.seed)
        if row_signatures is not None and self.target == "attributes":
            Y = np.asarray(row_signatures[drawn], dtype=np.float64)
        else:
            Y = class_targets(self.target, S)[y[drawn]]
        W, V, distances = solve_l20alm(
            X[drawn].astype(np.float64), Y, self.k, penalty=self.penalty, growth=self.growth, iterations=self.iterations
        )
        self.diagnostics_ = Diagnostics({"distance": distances})
        scores = np.linalg.norm(V, axis=1)
        return self._rank(with_pull(scores, relative_pull(np.linalg.norm(W, axis=1), scores > 0)))
