"""Solvers of SemFS: forward selection, and alternation over weights and scores.

SemFS with s in {0, 1}^d and sum(s) = k, as Eq. 1 and 4 have it before any relaxation, by forward selection.

For a set A of features and its best weights, with G and H of ``regression``:

    J(A) = t - <H_A, (G_AA + gamma I)^-1 H_A>

With R = H - G[:, A] (G_AA + gamma I)^-1 H_A and D_i = G_ii + gamma - G_iA (G_AA + gamma I)^-1 G_Ai, a feature i
outside A lowers J by |R_i|^2 / D_i. Each step takes the feature that lowers J most. The features of every smaller k
are the first ones of a larger k, so the ranking serves all numbers of features up to k.

The weights of chosen features are not shrunk by what bounds s, so what they explain is gone from R: a second feature
that says the same gains nothing. Relaxed forms, which shrink all weights, leave some of it, and take the copy.

One column of G per feature: k d (k + m) operations for m targets.

SemFS by alternating exact steps for W and closed or gradient steps for s.

With U = diag(s) W held, the ridge gamma sum_i |U_i|^2 / s_i^2 is minimised over s in closed form:

    sum_i s_i = k      s_i  = k |U_i|^(2/3) / sum_j |U_j|^(2/3)          (``sum``, the constraint of Eq. 4; not convex)
    |s|^2 <= k         s_i^2 = k |U_i| / sum_j |U_j|                     (``square``; the convex form)

Both steps are exact, so J never rises, without a step size. s_i = 0 is absorbing: W_i is then zero, and stays so.

As printed (Eq. 5 with s >= 0 only) the problem has no minimiser: s -> c s, W -> W / c keeps the fit and sends the
ridge to zero. After an exact W-step dJ/ds_i = -2 gamma |W_i|^2 / s_i <= 0 for every i, so that one gradient step from
s = 1 makes every score grow, and the ranking is that of the row norms |W_i| of a single ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from zslplat.families.selection.methods.regression import Regression

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
