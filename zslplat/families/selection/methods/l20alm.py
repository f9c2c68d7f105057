"""L20ALM: exactly k features under a robust loss, by an augmented Lagrangian.

Cai, Nie, Huang, "Exact Top-k Feature Selection via l2,0-Norm Constraint", IJCAI 2013:

    min_W,b  |X W + 1 b' - Y|_{2,1}   with at most k non-zero rows of W

| paper   | here            | shape   | meaning                                                 |
|---------|-----------------|---------|---------------------------------------------------------|
| X', Y   | X, Y            | (n, ..) | features; one-hot labels (or signatures)                |
| W, b    | W, b            | (d, m)  | regression and its bias                                 |
| V       | V               | (d, m)  | copy of W with at most k non-zero rows                  |
| E       | E               | (n, m)  | residual X W + 1 b' - Y                                 |
| Lambda  | row_price       | (d, m)  | multiplier of W = V                                     |
| Sigma   | error_price     | (n, m)  | multiplier of E = X W + 1 b' - Y                        |
| mu, rho | penalty, growth |         | penalty of the Lagrangian, and its growth per iteration |

Each iteration is exact in W and b together, in V and in E, then a step in the multipliers. The matrix of the W-step
is constant, and is factorised once: (d, d), or (n, n) where there are fewer rows.

Two things differ from the paper. One penalty for both constraints is out of scale: with Xc the centred features, W
comes nearer to V by a factor Xc'Xc / (Xc'Xc + 1) per iteration, that is, hardly at all where there are many rows. So
the penalty of W = V is ``unit`` times that of the residuals, with unit the mean diagonal entry of Xc'Xc. (With its
largest eigenvalue in place of the mean, the features of the start would stay.) And the problem is not convex: the
features at the end are compared with those of the longest rows of ridge regressions, each set by the least value of
the objective on it, and the best is kept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from zslplat.errors import OutcomeWarning
from zslplat.families.selection.methods.base import (
    FEATURES,
    SEED_DRAWS_ROWS,
    SampleSelector,
    SelectionData,
    relative_pull,
    row_targets,
    target_parameter,
    with_pull,
)
from zslplat.methods.base import Diagnostics, Prepared
from zslplat.space import POSITIVE, Integer, Real, parameter

TINY = float(np.finfo(np.float64).tiny)
# Ridge regressions whose longest rows a solution must not be worse than, by the mean diagonal entry of Xc'Xc.
RIDGES = (1e-1, 1e-2, 1e-3)


@dataclass(frozen=True)
class ExactSelection:
    """k features and their regression, and how the iterations went.

    ``V`` (d, m): the best weights found, k rows not zero; ``W`` (d, m): the weights before any row is cut;
    ``objective``: |X V + 1 b' - Y|_{2,1}; ``distances``: |W - V| / |W| after each iteration; ``feasible``: whether it
    and the residuals' own came below the tolerance; ``from_ridge``: whether the features are those of a ridge
    regression.
    """

    V: np.ndarray
    W: np.ndarray
    objective: float
    distances: list[float]
    feasible: bool
    from_ridge: bool


def solve_l20alm(
    X: np.ndarray, Y: np.ndarray, k: int, *, penalty: float, growth: float, iterations: int, precision: float = 1e-4
) -> ExactSelection:
    """Choose ``k`` features of X (n, d) for the targets Y (n, m); starts from the longest rows of a ridge regression.

    Stops where W = V and the residuals hold to ``precision``, relative to |W| and |Y|, or after ``iterations``.
    ``penalty`` is relative to the mean length of the centred targets.
    """
    k = min(k, X.shape[1])
    centred, targets = X - X.mean(axis=0), Y - Y.mean(axis=0)
    size = max(float(np.linalg.norm(targets)), TINY)
    penalty /= max(float(np.linalg.norm(targets, axis=1).mean()), TINY)
    highest = 1e8 * penalty
    spectrum = _Spectrum(centred)
    ridges = [spectrum.solve(share * spectrum.mean, centred.T @ targets) for share in RIDGES]
    unit = max(spectrum.mean, TINY)
    W = ridges[0]
    V, row_price = _largest_rows(W, k), np.zeros_like(W)
    E, error_price = centred @ V - targets, np.zeros_like(targets)
    distances: list[float] = []
    feasible = False
    for _ in range(iterations):
        # Without b: its best value centres what is wanted.
        right = targets + E - error_price / penalty
        W = spectrum.solve(unit, unit * (V - row_price / penalty) + centred.T @ right)
        fitted = centred @ W + right.mean(axis=0) - targets
        V = _largest_rows(W + row_price / penalty, k)
        E = _shrunk_rows(fitted + error_price / penalty, 1 / penalty)
        row_price += penalty * (W - V)
        error_price += penalty * (fitted - E)
        penalty = min(highest, penalty * growth)
        distances.append(float(np.linalg.norm(W - V)) / max(float(np.linalg.norm(W)), TINY))
        if distances[-1] <= precision and float(np.linalg.norm(fitted - E)) <= precision * size:
            feasible = True
            break
    candidates = [_longest(V, k), *(_longest(ridge, k) for ridge in ridges)]
    fits = [robust_regression(X[:, features], Y) for features in candidates]
    best = int(np.argmin([value for _, _, value in fits]))
    result = np.zeros_like(W)
    result[candidates[best]] = fits[best][0]
    return ExactSelection(result, W, fits[best][2], distances, feasible, best > 0)


def robust_regression(
    X: np.ndarray, Y: np.ndarray, *, iterations: int = 200, precision: float = 1e-7
) -> tuple[np.ndarray, np.ndarray, float]:
    """Minimise |X W + 1 b' - Y|_{2,1} by weighted least squares; return W (a, m), b (m,) and the value.

    Rows that fit to within 1e-6 of the typical length count as if they were that far, so that no weight is infinite.
    """
    design = np.hstack([X, np.ones((len(X), 1))])
    floor = 1e-6 * max(float(np.linalg.norm(Y - Y.mean(axis=0), axis=1).mean()), TINY)
    weights = np.ones(len(X))
    value, best = np.inf, (np.zeros((X.shape[1], Y.shape[1])), Y.mean(axis=0), np.inf)
    for _ in range(iterations):
        root = np.sqrt(weights)[:, None]
        B = linalg.lstsq(root * design, root * Y, lapack_driver="gelsy", check_finite=False)[0]
        lengths = np.linalg.norm(design @ B - Y, axis=1)
        before, value = value, float(lengths.sum())
        if value < best[2]:
            best = (B[:-1], B[-1], value)
        if before - value <= precision * value:
            break
        weights = floor / np.maximum(lengths, floor)
    return best


class _Spectrum:
    """Xc'Xc, ready for (Xc'Xc + c I)^-1 with any c: one eigendecomposition of the smaller Gram matrix."""

    def __init__(self, centred: np.ndarray) -> None:
        n, d = centred.shape
        self.mean = float(np.vdot(centred, centred)) / d
        self._rows = centred if n < d else None
        values, self._vectors = linalg.eigh(centred.T @ centred if n >= d else centred @ centred.T)
        self._values = np.maximum(values, 0.0)

    def solve(self, c: float, B: np.ndarray) -> np.ndarray:
        """Return (Xc'Xc + c I)^-1 B."""
        c = max(c, TINY)
        if self._rows is None:
            return np.asarray(self._vectors @ ((self._vectors.T @ B) / (self._values + c)[:, None]))
        inner = self._vectors @ ((self._vectors.T @ (self._rows @ B)) / (self._values + c)[:, None])
        return np.asarray((B - self._rows.T @ inner) / c)


def _longest(matrix: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k longest rows, ascending."""
    return np.sort(np.argsort(-np.linalg.norm(matrix, axis=1), kind="stable")[:k])


def _largest_rows(matrix: np.ndarray, k: int) -> np.ndarray:
    longest = _longest(matrix, k)
    result = np.zeros_like(matrix)
    result[longest] = matrix[longest]
    return result


def _shrunk_rows(matrix: np.ndarray, by: float) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix * (np.maximum(lengths - by, 0) / np.maximum(lengths, 1e-300)))


class L20ALM(SampleSelector):
    r"""Exactly ``k`` features under an l2,1 loss (Cai, Nie, Huang, 2013); by default as many as are taken.

    Not convex: the features depend on ``penalty`` (relative to the mean length of the centred targets) and ``growth``;
    they are never worse, by the objective, than the longest rows of a ridge regression, from which the iterations
    start (the authors' code draws a start). They end where W and V agree to 1e-4; if they do not within
    ``iterations``, a warning tells.
    Each feature counts by the length of its row of V; those outside the k follow below zero by their rows of W.
    At most ``rows`` rows are used, drawn evenly from the classes. ``target``: labels (the paper) or attributes.

    Equations
    ---------
    Labels are regressed on exactly k features, with a loss that outliers do not rule:

    $$\min_{W, b} \lVert X W + 1 b^\top - Y \rVert_{2,1} \quad \text{with } \lVert W \rVert_{2,0} \le k$$

    Related
    -------
    ``lasso-labels`` has a price on weights in place of a number; ``semfs`` chooses k features by signatures.
    """

    summary = "robust regression on labels with exactly k features"
    citation = "Cai, Nie, Huang: Exact Top-k Feature Selection via l2,0-Norm Constraint. IJCAI 2013"
    tags = ("baseline", "supervised", "linear")
    random = True
    expected_failures = SEED_DRAWS_ROWS
    tolerance: ClassVar[float] = 1e-6
    tolerance_reason: ClassVar[str] = "hundreds of iterations carry rounding along"
    k = FEATURES
    penalty = parameter("first penalty of the Lagrangian", POSITIVE, Real(1e-3, 1, log=True), default=1e-2)
    growth = parameter("growth of the penalty per iteration", Real(1, 2), default=1.05)
    iterations = parameter("iterations at most", Integer(1), default=500)
    target = target_parameter("labels")
    rows = 2000

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features by their rows of V."""
        drawn, Z = self._drawn(data, statistics)
        solution = solve_l20alm(
            Z.astype(np.float64),
            row_targets(self.target, data, drawn),
            self.features_taken if self.k is None else self.k,
            penalty=self.penalty,
            growth=self.growth,
            iterations=self.iterations,
        )
        self.diagnostics_ = Diagnostics(
            {"distance": solution.distances},
            {
                "objective": solution.objective,
                "feasible": float(solution.feasible),
                "features_of_ridge": float(solution.from_ridge),
            },
        )
        if not solution.feasible:
            warnings.warn(
                OutcomeWarning(
                    f"L20ALM: W and V differ by {solution.distances[-1]:.2g} of |W| after {self.iterations} iterations"
                    "; give more iterations or a larger growth",
                    "ZSP213",
                ),
                stacklevel=2,
            )
        scores = np.linalg.norm(solution.V, axis=1)
        return with_pull(scores, relative_pull(np.linalg.norm(solution.W, axis=1), scores > 0))
