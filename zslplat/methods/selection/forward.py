"""SemFS with s in {0, 1}^d and sum(s) = k, as Eq. 1 and 4 have it before any relaxation, by forward selection.

For a set A of features and its best weights, with G and H of ``regression``:

    J(A) = t - <H_A, (G_AA + gamma I)^-1 H_A>

With R = H - G[:, A] (G_AA + gamma I)^-1 H_A and D_i = G_ii + gamma - G_iA (G_AA + gamma I)^-1 G_Ai, a feature i
outside A lowers J by |R_i|^2 / D_i. Each step takes the feature that lowers J most. The features of every smaller k
are the first ones of a larger k, so the ranking serves all numbers of features up to k.

The weights of chosen features are not shrunk by what bounds s, so what they explain is gone from R: a second feature
that says the same gains nothing. Relaxed forms, which shrink all weights, leave some of it, and take the copy.

One column of G per feature: k d (k + m) operations for m targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.methods.selection.regression import Regression

# Gains below this share of J(0), and what is left of a feature below this share of it, are rounding.
NEGLIGIBLE = 1e-12


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
    smallest = NEGLIGIBLE * left
    Q = np.zeros((min(k, d), d))  # rows of the Cholesky factor of G_AA + gamma I, for all columns of G
    free = np.ones(d, dtype=bool)
    order: list[int] = []
    objective = [regression.t]
    for step in range(len(Q)):
        usable = free & (left > smallest)
        gains = np.where(usable, np.einsum("ij,ij->i", R, R) / np.where(usable, left, 1.0), 0.0)
        i = int(np.argmax(gains))
        if not gains[i] > NEGLIGIBLE * regression.t:
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
