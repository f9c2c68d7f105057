"""WkNN-FS: feature weights that make a soft nearest-neighbour rule predict the labels, leaving each row out.

Bugata, Drotar, "Weighted nearest neighbors feature selection", Knowledge-Based Systems 2019.

| paper | here   | shape  | meaning                                   |
|-------|--------|--------|-------------------------------------------|
| w     | w      | (d,)   | feature weights, >= 0                     |
| D     |        | (n, n) | D_ij = sum_f w_f (x_if - x_jf)^2          |
| S     | S      | (n, n) | exp(-D), zero diagonal                    |
|       | P      | (n, n) | S with rows of sum 1; predictions are P Y |
| e     | errors | (n, m) | Y - P Y                                   |

With C_ij = P_ij <e_i, y_j - yhat_i>, r and c its row and column sums, the gradient of |e|^2 / n is

    (2 / n) [ r'x_f^2 + c'x_f^2 - 2 x_f'C x_f ]     for feature f: one product C X, and no (n, n, d) array.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit

from zslplat.families.selection.methods.base import (
    SEED_DRAWS_ROWS,
    SampleSelector,
    SelectionData,
    row_targets,
    target_parameter,
)
from zslplat.methods.base import Diagnostics, Prepared
from zslplat.space import NON_NEGATIVE, POSITIVE, Integer, Real, parameter

# Steepness of the smooth count of features, as in the authors' code.
STEEPNESS = 100.0


def loss_and_gradient(
    w: np.ndarray, X: np.ndarray, Y: np.ndarray, penalties: tuple[float, float, float]
) -> tuple[float, np.ndarray]:
    """Return |Y - P Y|^2 / n + l0 * 2 sum(sigma(100 w) - 1/2) + l1 sum(w) + l2 |w|^2, and its gradient (d,)."""
    n = len(X)
    P = _neighbour_shares(w, X)
    predicted = P @ Y
    errors = Y - predicted
    C = P * (errors @ Y.T - np.einsum("ij,ij->i", errors, predicted)[:, None])
    sums = C.sum(axis=1) + C.sum(axis=0)
    gradient = (2 / n) * (sums @ X**2 - 2 * np.einsum("if,if->f", X, C @ X))
    l0, l1, l2 = penalties
    smooth = expit(STEEPNESS * w)
    loss = (
        float(np.vdot(errors, errors)) / n
        + l0 * 2 * float((smooth - 0.5).sum())
        + l1 * float(w.sum())
        + l2 * float(w @ w)
    )
    return loss, gradient + l0 * 2 * STEEPNESS * smooth * (1 - smooth) + l1 + 2 * l2 * w


def _neighbour_shares(w: np.ndarray, X: np.ndarray) -> np.ndarray:
    weighted = X * w
    squares = np.einsum("ij,ij->i", weighted, X)
    D = squares[:, None] + squares - 2 * (weighted @ X.T)
    np.fill_diagonal(D, np.inf)
    # Distances from the nearest: the shares are the same, and cannot all underflow.
    D -= D.min(axis=1, keepdims=True)
    S = np.exp(-D)
    return np.asarray(S / S.sum(axis=1, keepdims=True))


class WkNN(SampleSelector):
    r"""Weighted nearest-neighbour feature selection (Bugata, Drotar, 2019), on the squared error of one-hot labels.

    Gradient steps of length ``step`` (l1 norm of the change, halved until the loss falls), projected to w >= 0, from
    w = 1 / d. ``l0``, ``l1``, ``l2`` weigh the penalties. Pairs of rows make the cost, so at most ``rows`` are used.
    Not tagged ``stationary``: at most ``iterations`` steps are taken, and weights that are 0 are held there.

    Equations
    ---------
    Weights of the features make a soft nearest-neighbour rule predict labels, leaving each row out:

    $$\min_{w \ge 0} \frac{1}{n} \lVert Y - P Y \rVert^2 + \text{penalties}, \qquad P_{ij} \propto \exp\left( - \sum_f
    w_f (x_{if} - x_{jf})^2 \right), \quad P_{ii} = 0$$

    Related
    -------
    ``mutual-information`` uses neighbours feature by feature; ``l20alm`` regresses labels.
    """

    summary = "weighted nearest-neighbour feature selection"
    citation = "Bugata, Drotar: Weighted nearest neighbors feature selection. Knowledge-Based Systems 2019"
    tags = ("baseline", "supervised", "monotone")
    random = True
    expected_failures = SEED_DRAWS_ROWS
    tolerance: ClassVar[float] = 1e-6
    tolerance_reason: ClassVar[str] = "hundreds of gradient steps carry rounding along"
    l0 = parameter("weight of the smooth count of features", NON_NEGATIVE, default=0.0)
    l1 = parameter("weight of the l1 norm", NON_NEGATIVE, Real(1e-5, 1e-1, log=True), default=1e-3)
    l2 = parameter("weight of the squared length", NON_NEGATIVE, default=0.0)
    step = parameter("l1 length of the first step", POSITIVE, Real(1e-2, 1, log=True), default=0.1)
    iterations = parameter("gradient steps at most", Integer(1), default=100)
    target = target_parameter("labels")
    rows = 500

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features by their weights."""
        drawn, Z = self._drawn(data, statistics)
        w, losses = self._descend(Z.astype(np.float64), row_targets(self.target, data, drawn))
        self.diagnostics_ = Diagnostics({"objective": losses})
        return w

    def _descend(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, list[float]]:
        penalties = (self.l0, self.l1, self.l2)
        w = np.full(X.shape[1], 1 / X.shape[1])
        loss, gradient = loss_and_gradient(w, X, Y, penalties)
        losses, step = [loss], self.step
        for _ in range(self.iterations):
            direction = gradient / max(float(np.abs(gradient).sum()), np.finfo(np.float64).tiny)
            while True:
                moved = np.maximum(0.0, w - step * direction)
                new_loss, new_gradient = loss_and_gradient(moved, X, Y, penalties)
                if new_loss <= loss or step < 1e-6 * self.step:
                    break
                step /= 2
            if new_loss > loss:
                break
            w, loss, gradient = moved, new_loss, new_gradient
            losses.append(loss)
            step *= 1.5
        return w, losses
