"""Gradients by a projection W, written out: the reference of the fast paths of zero-shot kernel learning.

k(W'x, s) has u = |W'x|^2 and v = |s|^2; k(x, W s) has u = |x|^2 and v = |W s|^2. With f_t, f_u, f_v the partials of
the kernel and G = dL/dK, the chain rule gives

    dL/dW = X' [(G * f_t) S + 2 diag(rowsum(G * f_u)) X W]            for k(W'x, s)
    dL/dW = X' (G * f_t) S + 2 W S' diag(colsum(G * f_v)) S           for k(x, W s)
"""

import numpy as np

from zslplat.families.zero_shot.methods.zskl.objective import kernel_arguments, projected_gram, sides


def projection_gradient(kernel, X, S, W, G, side):
    """Return dL/dW (d, a), where G (n, m) is dL/dK of the projected Gram matrix of that side."""
    f_t, f_u, f_v = kernel.partials(*kernel_arguments(X, S, W, side))
    inner = (G * f_t) @ S
    if side == "features":
        rows = np.sum(G * f_u, axis=1)
        return np.asarray(X.T @ (inner + 2 * rows[:, None] * (X @ W)))
    columns = np.sum(G * f_v, axis=0)
    return np.asarray(X.T @ inner + 2 * W @ (S.T @ (columns[:, None] * S)))


def objective_gradient(kernel, X, y, S, W, objective):
    """Return the gradient (d, a) of :func:`objective_value`."""
    total = np.zeros_like(W)
    for side in sides(objective):
        K = projected_gram(kernel, X, S, W, side)
        total += projection_gradient(kernel, X, S, W, _loss_slope(K, y, objective) / len(X), side)
    return np.asarray(total + objective.alpha * (4 * W @ (W.T @ W) - 2 * W))


def _loss_slope(K, y, objective):
    rows = np.arange(len(y))
    slope = objective.wrong * (2 * K if objective.squared else np.ones_like(K))
    right = objective.right_weights(K.shape[1])[y]
    slope[rows, y] = right * (2 * (K[rows, y] - 1) if objective.squared else -1.0)
    return np.asarray(slope)
