"""Solvers of SemFS: forward selection, alternation over weights and scores, and a convex form.

Forward selection
-----------------
SemFS with s in {0, 1}^d and sum(s) = k, as Eq. 1 and 4 have it before any relaxation.

For a set A of features and its best weights, with G and H of ``regression``:

    J(A) = t - <H_A, (G_AA + gamma I)^-1 H_A>

With R = H - G[:, A] (G_AA + gamma I)^-1 H_A and D_i = G_ii + gamma - G_iA (G_AA + gamma I)^-1 G_Ai, a feature i
outside A lowers J by |R_i|^2 / D_i. Each step takes the feature that lowers J most. The features of every smaller k
are the first ones of a larger k, so the ranking serves all numbers of features up to k.

The weights of chosen features are not shrunk by what bounds s, so what they explain is gone from R: a second feature
that says the same gains nothing. Relaxed forms, which shrink all weights, leave some of it, and take the copy.

One column of G per feature: k d (k + m) operations for m targets.

Alternation
-----------
Exact steps for W and closed or gradient steps for s, in turn.

With U = diag(s) W held, the ridge gamma sum_i |U_i|^2 / s_i^2 is minimised over s in closed form:

    sum_i s_i = k      s_i  = k |U_i|^(2/3) / sum_j |U_j|^(2/3)          (``sum``, the constraint of Eq. 4; not convex)
    |s|^2 <= k         s_i^2 = k |U_i| / sum_j |U_j|                     (``square``; the convex form)

Both steps are exact, so J never rises, without a step size. s_i = 0 is absorbing: W_i is then zero, and stays so.

As printed (Eq. 5 with s >= 0 only) the problem has no minimiser: s -> c s, W -> W / c keeps the fit and sends the
ridge to zero. After an exact W-step dJ/ds_i = -2 gamma |W_i|^2 / s_i <= 0 for every i, so that one gradient step from
s = 1 makes every score grow, and the ranking is that of the row norms |W_i| of a single ridge regression.

The convex form
---------------
SemFS under |s|^2 <= k is equivalent to a convex problem, which is solved.

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
from scipy.sparse.linalg import LinearOperator, eigsh

from zslplat.families.selection.methods.regression import Regression
from zslplat.methods.compiled import compiled

# Gains below this share of J(0), and what is left of a feature below this share of it, are rounding.
LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class Selection:
    """Features in the order of entry (a,), J after none, one, ... of them, and R (d, m) at the end."""

    order: np.ndarray
    objective: list[float]
    R: np.ndarray


def select_forward(regression: Regression, gamma: float, k: int) -> Selection:
    """Choose up to ``k`` features one by one; fewer where nothing is left that a feature could explain."""
    d = len(regression.H)
    R = np.array(regression.H, dtype=np.float64)
    left = regression.diagonal + gamma  # D
    smallest = LEAST_GAIN * left
    Q = np.zeros((min(k, d), d))  # rows of the Cholesky factor of G_AA + gamma I, for all columns of G
    free = np.ones(d, dtype=bool)
    order: list[int] = []
    objective = [regression.t]
    for step in range(len(Q)):
        usable = free & (left > smallest)
        gains = np.where(usable, np.einsum("ij,ij->i", R, R) / np.where(usable, left, 1.0), 0.0)
        i = int(np.argmax(gains))
        if not gains[i] > LEAST_GAIN * regression.t:
            break
        root = np.sqrt(left[i])
        column = regression.columns(np.array([i]))[0]
        column[i] += gamma
        Q[step] = (column - Q[:step].T @ Q[:step, i]) / root
        R -= Q[step][:, None] * (R[i] / root)
        left = left - Q[step] ** 2
        free[i] = False
        order.append(i)
        objective.append(objective[-1] - float(gains[i]))
    return Selection(np.array(order, dtype=np.int64), objective, R)


# A score this far below the largest is zero: its share of J is below the rounding of J.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Alternation:
    """The last scores s (d,), the active features with their W (a, m), and J after each step for W."""

    s: np.ndarray
    active: np.ndarray
    W: np.ndarray
    objective: list[float]


def alternate(
    regression: Regression,
    gamma: float,
    k: float,
    *,
    constraint: str,
    start: np.ndarray,
    iterations: int,
    precision: float = 1e-9,
) -> Alternation:
    """Alternate from the scores ``start`` (d,) until J falls by less than ``precision`` of itself, or ``iterations``.

    ``constraint``: ``sum`` or ``square``. Raises :class:`~zslplat.errors.MethodError` for a singular W-step.
    """
    s = np.array(start, dtype=np.float64)
    objective: list[float] = []
    while True:
        active, W = regression.weights(s, gamma)
        # At the optimal W, <U, G U> + gamma |W|^2 = <H, U>.
        U = s[active, None] * W
        objective.append(regression.t - float(np.vdot(regression.H[active], U)))
        small_fall = len(objective) > 1 and objective[-2] - objective[-1] <= precision * abs(objective[-1])
        if small_fall or len(objective) >= iterations:
            return Alternation(s, active, W, objective)
        lengths = np.linalg.norm(U, axis=1)
        s = np.zeros_like(s)
        s[active] = _closed_step(lengths, k, constraint)
        s[s < NEGLIGIBLE * s.max()] = 0.0


def _closed_step(lengths: np.ndarray, k: float, constraint: str) -> np.ndarray:
    if not lengths.any():
        return np.zeros_like(lengths)
    # Relative lengths: the powers of very small numbers would underflow.
    relative = lengths / lengths.max()
    if constraint == "sum":
        share = relative ** (2 / 3)
        return np.asarray(k * share / share.sum())
    return np.asarray(np.sqrt(k * relative / relative.sum()))


def projected_gradient(regression: Regression, gamma: float, *, iterations: int, inner_steps: int) -> Alternation:
    """Run Algorithm 1 from s = 1: an exact W-step (Eq. 8), then ``inner_steps`` gradient steps for s (Eq. 10, 11).

    The paper leaves start, step and number of inner steps open. The step here is 1 / L with L = 2 lambda_max(Q) and
    Q = G o (W W'), the largest that surely lowers J; with one inner step the ranking does not depend on it.
    """
    d = len(regression.H)
    everything = np.arange(d)
    s = np.ones(d)
    objective: list[float] = []
    for _ in range(iterations):
        active, W_active = regression.weights(s, gamma)
        W = np.zeros_like(regression.H)
        W[active] = W_active
        objective.append(regression.t - float(np.vdot(regression.H, s[:, None] * W)))
        step = 1.0 / _lipschitz(regression, W)
        for _ in range(inner_steps):
            residual = regression.product(everything, s[:, None] * W) - regression.H
            gradient = 2 * np.einsum("ij,ij->i", residual, W)  # Eq. 10
            s = np.maximum(0.0, s - step * gradient)  # Eq. 11
    active, W_active = regression.weights(s, gamma)
    objective.append(regression.t - float(np.vdot(regression.H[active], s[active, None] * W_active)))
    return Alternation(s, active, W_active, objective)


def _lipschitz(regression: Regression, W: np.ndarray) -> float:
    """Return 2 lambda_max(G o (W W')) by the Lanczos method, without forming that matrix; 1 where it is zero."""
    everything = np.arange(len(W))

    def product(v: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("ij,ij->i", regression.product(everything, v.reshape(-1, 1) * W), W))

    if not W.any():
        return 1.0
    if len(W) < 3:
        return 2 * float(np.max(regression.diagonal) * np.linalg.norm(W, 2) ** 2)
    operator = LinearOperator((len(W), len(W)), matvec=product, dtype=np.float64)
    largest = eigsh(operator, k=1, which="LA", v0=np.ones(len(W)), tol=1e-3, return_eigenvectors=False)[0]
    # The Lanczos value approaches from below; a little more makes 1 / L a step that cannot raise J.
    return 2.02 * float(largest)


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
