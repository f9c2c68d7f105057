"""SemFS under |s|^2 <= k, solved as the convex problem that it is equivalent to.

For fixed U = diag(s) W the ridge gamma |W|^2 = gamma sum_i |U_i|^2 / s_i^2 is smallest at
s_i^2 = k |U_i| / sum_j |U_j|, where it equals (gamma / k) (sum_i |U_i|)^2. What is left is convex in U, has one optimal
value, and sets whole rows of U to zero:

    min_U  J(U) = t - 2 <H, U> + <U, G U> + beta tau(U)^2,     beta = gamma / k,   tau(U) = sum_i |U_i|.

With R = H - G U:

* one row at a time, r = R_i + G_ii U_i:   |U_i| = max(0, (|r| - beta (tau - |U_i|)) / (G_ii + beta)), along r;
* U is optimal when |R_i| <= beta tau for all i, with R_i = beta tau U_i / |U_i| where U_i is not zero;
* J(U) - min J  <=  beta tau^2 + max_i |R_i|^2 / beta - 2 <R, U>  (Fenchel: the conjugate of beta tau^2).

Only rows that violate the second line are worked on (a working set), so a solution with few features costs little
whatever d is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg

from zslplat.families.selection.methods.regression import Regression
from zslplat.methods.compiled import compiled

# Row updates are extrapolated from this many iterates, this many sweeps apart.
EXTRAPOLATED, SWEEPS = 5, 1
# The path: gamma falls by this factor, from solution to solution of this precision, to this share of where it began.
PATH_STEP, PATH_PRECISION, PATH_END = 0.7, 1e-6, 1e-4


@dataclass(frozen=True)
class GroupSolution:
    """A solution: ``active`` features (a,), their rows ``U`` (a, m), and |R_i| / (beta tau) for all (d,) features."""

    active: np.ndarray
    U: np.ndarray
    pull: np.ndarray
    objective: list[float]
    gap: float


@compiled()
def _row_updates(G: np.ndarray, R: np.ndarray, U: np.ndarray, lengths: np.ndarray, beta: float, sweeps: int) -> None:
    """Do ``sweeps`` rounds of exact row updates; R = H - G U is kept up to date. All arrays change in place."""
    a, m = U.shape
    tau = lengths.sum()
    step = np.empty(m)
    for _ in range(sweeps):
        for i in range(a):
            pull = 0.0
            for c in range(m):
                value = R[i, c] + G[i, i] * U[i, c]
                pull += value * value
            pull = np.sqrt(pull)
            length = max(0.0, (pull - beta * (tau - lengths[i])) / (G[i, i] + beta))
            if length == 0.0 and lengths[i] == 0.0:
                continue
            share = length / pull if length > 0.0 else 0.0
            for c in range(m):
                step[c] = share * (R[i, c] + G[i, i] * U[i, c]) - U[i, c]
                U[i, c] += step[c]
            tau += length - lengths[i]
            lengths[i] = length
            for j in range(a):
                g = G[j, i]
                for c in range(m):
                    R[j, c] -= g * step[c]
        # The running sum would drift over many updates.
        tau = lengths.sum()


def follow_path(
    regression: Regression, gamma: float, k: int, *, start: np.ndarray | None = None, precision: float = 1e-9
) -> tuple[GroupSolution, float]:
    """Minimise J, for the first gamma on a falling path from ``gamma`` at which ``k`` features are active.

    Return the solution and its gamma. Where the path ends before (no target, few rows), fewer are active.
    """
    columns, end = _Columns(regression), PATH_END * gamma
    number = min(k, len(regression.H))
    while True:
        rough = solve_convex(
            regression, gamma, k, start=start, precision=max(precision, PATH_PRECISION), columns=columns
        )
        start = np.zeros_like(regression.H)
        start[rough.active] = rough.U
        if len(rough.active) < number and gamma * PATH_STEP >= end and len(rough.active):
            gamma *= PATH_STEP
            continue
        solution = solve_convex(regression, gamma, k, start=start, precision=precision, columns=columns)
        if len(solution.active) >= number or gamma * PATH_STEP < end or not len(solution.active):
            return solution, gamma
        gamma *= PATH_STEP


def solve_convex(
    regression: Regression,
    gamma: float,
    k: float,
    *,
    start: np.ndarray | None = None,
    precision: float = 1e-9,
    max_rounds: int = 200,
    columns: _Columns | None = None,
) -> GroupSolution:
    """Minimise J to within ``precision`` times J(0); ``start`` (d, m) is a U to begin with (default: zero).

    ``objective`` lists J after each round of the working set, which never rises; ``gap`` bounds what is left.
    ``columns``: those of G that earlier solutions put together.
    """
    H, beta = regression.H, gamma / k
    allowed = precision * max(regression.t, np.finfo(np.float64).tiny)
    columns = columns or _Columns(regression)
    active = np.flatnonzero(np.any(start != 0, axis=1)) if start is not None else np.empty(0, dtype=np.int64)
    U = np.array(start[active], dtype=np.float64) if start is not None else np.empty((0, H.shape[1]))
    objective: list[float] = []
    while True:
        R = H - columns.product(active, U)
        lengths = np.linalg.norm(U, axis=1)
        pulls, tau = np.linalg.norm(R, axis=1), float(lengths.sum())
        gap = _gap(pulls, R[active], U, tau, beta)
        # <U, G U> = <H - R, U>
        objective.append(regression.t - float(np.vdot(H[active] + R[active], U)) + beta * tau**2)
        if gap <= allowed or len(objective) > max_rounds:
            break
        active, U = _widened(active, U, pulls, beta * tau)
        U = _solved_on(columns.block(active), H[active], U, R[active], beta, (allowed, gap, regression.t))
        nonzero = np.any(U != 0, axis=1)
        active, U = active[nonzero], U[nonzero]
    level = beta * tau
    return GroupSolution(active, U, pulls / level if level > 0 else np.zeros(len(H)), objective, gap)


class _Columns:
    """The columns of G that were needed so far, so that each is put together once."""

    def __init__(self, regression: Regression) -> None:
        self.regression = regression
        d = len(regression.H)
        self.place = np.full(d, -1, dtype=np.int64)
        self.values = np.empty((0, d))

    def product(self, active: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return G[:, active] U (d, m)."""
        self._fetch(active)
        spread = np.zeros((len(self.values), U.shape[1]))
        spread[self.place[active]] = U
        return self.values.T @ spread

    def block(self, active: np.ndarray) -> np.ndarray:
        """Return G[active, active], as a new array."""
        self._fetch(active)
        return np.ascontiguousarray(self.values[np.ix_(self.place[active], active)])

    def _fetch(self, features: np.ndarray) -> None:
        new = features[self.place[features] < 0]
        if len(new):
            self.place[new] = np.arange(len(new)) + len(self.values)
            self.values = np.vstack([self.values, self.regression.columns(new)])


def importance(U: np.ndarray, k: float) -> np.ndarray:
    """Return s_i = sqrt(k |U_i| / sum_j |U_j|), the scores that belong to U, with |s|^2 = k."""
    lengths = np.linalg.norm(U, axis=1)
    total = float(lengths.sum())
    return np.sqrt(k * lengths / total) if total > 0 else np.zeros(len(U))


def _gap(pulls: np.ndarray, R: np.ndarray, U: np.ndarray, tau: float, beta: float) -> float:
    highest = float(pulls.max(initial=0.0))
    return beta * tau**2 + highest**2 / beta - 2 * float(np.vdot(R, U))


def _widened(active: np.ndarray, U: np.ndarray, pulls: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Add the features that pull hardest above the level, at most half as many as there are (64 at least)."""
    outside = np.ones(len(pulls), dtype=bool)
    outside[active] = False
    new = np.flatnonzero(outside & (pulls > level))
    new = new[np.argsort(-pulls[new], kind="stable")[: max(64, len(active) // 2)]]
    return np.r_[active, new], np.vstack([U, np.zeros((len(new), U.shape[1]))])


def _solved_on(
    G: np.ndarray, H: np.ndarray, U: np.ndarray, R: np.ndarray, beta: float, precision: tuple[float, float, float]
) -> np.ndarray:
    """Minimise over the rows of the working set, as far as the gap in hand is worth it, or rounding lets J fall.

    ``precision``: the gap that is allowed in the end, the gap of the whole problem now, and J(0).
    """
    allowed = max(0.5 * precision[0], 0.1 * precision[1])
    U, R = np.ascontiguousarray(U), np.ascontiguousarray(R)
    lengths = np.linalg.norm(U, axis=1)
    value = _value(U, R, H, beta)
    for _ in range(500):
        iterates = [U.copy()]
        for _ in range(EXTRAPOLATED):
            _row_updates(G, R, U, lengths, beta, SWEEPS)
            iterates.append(U.copy())
        before, value = value, _value(U, R, H, beta)
        further = _extrapolated(iterates)
        # Afresh, and not by the same combination of residuals: its large weights of both signs would lose digits.
        residual = H - G @ further
        further_value = _value(further, residual, H, beta)
        if further_value < value:
            U, R, value = further, residual, further_value
            lengths = np.linalg.norm(U, axis=1)
        gap = _gap(np.linalg.norm(R, axis=1), R, U, float(lengths.sum()), beta)
        if gap <= allowed or before - value <= 1e-15 * precision[2]:
            break
    return U


def _extrapolated(iterates: list[np.ndarray]) -> np.ndarray:
    """Return the affine combination of the iterates whose steps cancel best (Anderson); the last one if none does."""
    steps = np.stack([(after - before).ravel() for before, after in pairwise(iterates)])
    products = steps @ steps.T
    products[np.diag_indices_from(products)] += 1e-10 * max(float(np.trace(products)), np.finfo(np.float64).tiny)
    weights = linalg.lstsq(products, np.ones(len(products)))[0]
    total = float(weights.sum())
    if not np.isfinite(total) or total == 0:
        return iterates[-1]
    return np.asarray(np.tensordot(weights / total, np.stack(iterates[1:]), axes=1))


def _value(U: np.ndarray, R: np.ndarray, H: np.ndarray, beta: float) -> float:
    """J(U) - t, by <U, G U> = <H - R, U>."""
    return beta * float(np.linalg.norm(U, axis=1).sum()) ** 2 - float(np.vdot(H + R, U))
