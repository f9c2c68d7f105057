"""The objectives of zero-shot kernel learning, written out: Eq. 9, 10 and 11, the slow reference of the values.

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

Incoherence of a projection: how far its normalised columns are from being orthogonal.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Table 4 (the number) and Tables 5 and 6 (the matrix).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from zslplat.figures import MatrixFigure
from zslplat.kernels.inner_product import InnerProductKernel, squared_norms

Side = Literal["features", "signatures"]


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


def objective_value(
    kernel: InnerProductKernel, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, objective: Objective
) -> float:
    """Return the mean over rows of f_i(W) (Eq. 9 or 10), plus the penalty of Eq. 11; to be minimised."""
    total = 0.0
    for side in sides(objective):
        K = projected_gram(kernel, X, S, W, side)
        total += float(np.sum(_loss(K, y, objective))) / len(X)
    M = W.T @ W
    # Eq. 11 subtracts alpha ||W'W||^2 - alpha tr(W'W) from what it maximises.
    return total + objective.alpha * float(np.sum(M * M) - np.trace(M))


def projected_gram(kernel: InnerProductKernel, X: np.ndarray, S: np.ndarray, W: np.ndarray, side: Side) -> np.ndarray:
    """Return k(W'x, s) (``side="features"``) or k(x, W s) (``side="signatures"``), shape (n, m)."""
    t, u, v = kernel_arguments(X, S, W, side)
    return kernel.f(t, u, v)


def kernel_arguments(
    X: np.ndarray, S: np.ndarray, W: np.ndarray, side: Side
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t, u and v of the kernel of that side, for all pairs of rows and signatures."""
    Z = X @ W
    if side == "features":
        return Z @ S.T, squared_norms(Z)[:, None], squared_norms(S)[None, :]
    return Z @ S.T, squared_norms(X)[:, None], squared_norms(S @ W.T)[None, :]


def sides(objective: Objective) -> tuple[Side, ...]:
    return ("features", "signatures") if objective.both else ("features",)


def _loss(K: np.ndarray, y: np.ndarray, objective: Objective) -> np.ndarray:
    rows = np.arange(len(y))
    loss = objective.wrong * (K * K if objective.squared else K)
    k = K[rows, y]
    loss[rows, y] = objective.right_weights(K.shape[1])[y] * ((1 - k) ** 2 if objective.squared else -k)
    return np.asarray(loss)


def column_cosines(W: np.ndarray) -> np.ndarray:
    """Return W'W (a, a) of the l2-normalised columns of W (d, a), in float64; columns of zeros stay zero."""
    W = np.asarray(W, dtype=np.float64)
    length = np.linalg.norm(W, axis=0)
    W = W / np.where(length > 0, length, 1.0)
    return np.asarray(W.T @ W)


def incoherence(W: np.ndarray) -> float:
    """Return ||W'W - I||_F^2 of the l2-normalised columns; 0 for orthogonal columns, lower is more incoherent."""
    cosines = column_cosines(W)
    return float(np.sum((cosines - np.eye(len(cosines))) ** 2))


def cosine_figure(W: np.ndarray, size: int = 10) -> MatrixFigure:
    """Return the first ``size`` x ``size`` cosines between columns of W as a figure."""
    cosines = column_cosines(W)[:size, :size]
    names = [str(j + 1) for j in range(len(cosines))]
    return MatrixFigure(cosines, names, names, "column of W", "column of W", "cosines between columns of W")
