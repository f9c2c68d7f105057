"""The objectives of zero-shot kernel learning, written out: the slow reference of the fast engine.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018.

| paper | here | shape | meaning |
|---|---|---|---|
| x_i | X[i] | (n, d) | features |
| y_i | S[y[i]] | (c, a) | signature of the class of row i |
| l | y | (n,) | labels |
| W | W | (d, a) | projection |
| lambda | lam | | weight of the wrong classes |
| N_l | | | weight of the right class; here the objective is divided by its mean, N / C |
| alpha | alpha | | weight of the penalty of Eq. 11, in units of one right-class term |
| L_lambda | L | (n, n) | 1 for equal labels, -lambda otherwise (Eq. 7) |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from zslplat.kernels.composition import InnerProductComposite, Normalised
from zslplat.kernels.gradients import Side, projected_gram, projection_gradient
from zslplat.kernels.inner_product import DotProductKernel, InnerProductKernel


@dataclass(frozen=True)
class Objective:
    """Which of Eq. 9, 10 and 11 is minimised, per row and divided by the mean weight of the right class.

    ``both``: Eq. 9 (k(W'x, y) and k(x, W y)), else Eq. 10 (the first alone). ``squared``: (1 - k)^2 and k^2, else the
    plain -k and k. ``wrong``: weight of one wrong class, lambda / N_l. ``alpha``: penalty of Eq. 11. ``right``: (c,)
    weight of the right class relative to the mean, ones unless N_l is taken class by class.
    """

    both: bool
    wrong: float
    squared: bool = True
    alpha: float = 0.0
    right: np.ndarray = field(default_factory=lambda: np.ones(1))

    def right_weights(self, classes: int) -> np.ndarray:
        """Return the weights (c,) of the right-class terms."""
        return np.broadcast_to(self.right, (classes,))


def is_dot_product(kernel: InnerProductKernel) -> bool:
    """Tell whether k depends on <a, b> alone, so that K = K' and only the penalty of Eq. 11 can promote incoherence."""
    if isinstance(kernel, InnerProductComposite) and not isinstance(kernel, Normalised):
        return all(is_dot_product(part) for part in kernel.parts)
    return isinstance(kernel, DotProductKernel)


def label_matrix(y: np.ndarray, lam: float) -> np.ndarray:
    """Return L_lambda (n, n) of Eq. 7."""
    return np.where(y[:, None] == y[None, :], 1.0, -lam)


def alignment(
    kernel: InnerProductKernel, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, lam: float
) -> float:
    """Return <K(W) + K'(W), L_lambda> of Eq. 6, the full objective over all pairs of rows; to be maximised."""
    replicated = S[y]
    K = projected_gram(kernel, X, replicated, W, "features")
    K_prime = projected_gram(kernel, X, replicated, W, "signatures")
    return float(np.sum((K + K_prime) * label_matrix(y, lam)))


def expanded_alignment(
    kernel: InnerProductKernel, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, lam: float
) -> float:
    """Return the same by Eq. 8: N_l times the right class less lambda N_c times each wrong one, over classes."""
    size = np.bincount(y, minlength=len(S)).astype(np.float64)
    K = projected_gram(kernel, X, S, W, "features") + projected_gram(kernel, X, S, W, "signatures")
    rows = np.arange(len(y))
    right = K[rows, y]
    return float(np.sum(size[y] * right) - lam * (np.sum(K @ size) - np.sum(size[y] * right)))


def objective_value(
    kernel: InnerProductKernel, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, objective: Objective
) -> float:
    """Return the mean over rows of f_i(W) (Eq. 9 or 10), plus the penalty of Eq. 11; to be minimised."""
    total = 0.0
    for side in _sides(objective):
        K = projected_gram(kernel, X, S, W, side)
        total += float(np.sum(_loss(K, y, objective))) / len(X)
    M = W.T @ W
    # Eq. 11 subtracts alpha ||W'W||^2 - alpha tr(W'W) from what it maximises.
    return total + objective.alpha * float(np.sum(M * M) - np.trace(M))


def objective_gradient(
    kernel: InnerProductKernel, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, objective: Objective
) -> np.ndarray:
    """Return the gradient (d, a) of :func:`objective_value`."""
    total = np.zeros_like(W)
    for side in _sides(objective):
        K = projected_gram(kernel, X, S, W, side)
        total += projection_gradient(kernel, X, S, W, _loss_slope(K, y, objective) / len(X), side)
    return total + objective.alpha * (4 * W @ (W.T @ W) - 2 * W)


def _sides(objective: Objective) -> tuple[Side, ...]:
    return ("features", "signatures") if objective.both else ("features",)


def _loss(K: np.ndarray, y: np.ndarray, objective: Objective) -> np.ndarray:
    rows = np.arange(len(y))
    loss = objective.wrong * (K * K if objective.squared else K)
    k = K[rows, y]
    loss[rows, y] = objective.right_weights(K.shape[1])[y] * ((1 - k) ** 2 if objective.squared else -k)
    return np.asarray(loss)


def _loss_slope(K: np.ndarray, y: np.ndarray, objective: Objective) -> np.ndarray:
    rows = np.arange(len(y))
    slope = objective.wrong * (2 * K if objective.squared else np.ones_like(K))
    right = objective.right_weights(K.shape[1])[y]
    slope[rows, y] = right * (2 * (K[rows, y] - 1) if objective.squared else -1.0)
    return np.asarray(slope)
