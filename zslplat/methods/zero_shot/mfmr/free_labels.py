"""The training problem of MFMR in its general form: V_s free, with the instance graph of the training rows.

Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", CVPR 2017, Eq. 6:

    O(U, V) = |X - V S U'|^2 + gamma tr(V'(Q^I - W^I)V) + lam tr(U'(Q^F - W^F)U),   U, V >= 0

| paper | here | shape  | meaning                                                         |
|-------|------|--------|-----------------------------------------------------------------|
| X_s'  | X    | (n, d) | features, non-negative                                          |
| A_s'  | S    | (c, a) | signatures, non-negative                                        |
| V_s   | V    | (n, c) | how much of each class a row is; Eq. 7 fixes it to the labels Y |
| U     | U    | (d, a) | projection                                                      |

The two blocks are updated in turn, each by
:func:`~zslplat.methods.zero_shot.mfmr.multiplicative_updates.factorise`, so O never rises (without column
normalisation). V starts near the labels. Eq. 7 is the special case in which V stays there: with ``blur=0`` and
``anchor`` -> infinity, or by learning U alone.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from zslplat.data.store.rows import blocks_of, float_type, rowwise
from zslplat.methods.base import Features
from zslplat.methods.neighbours import degrees
from zslplat.methods.zero_shot.mfmr.multiplicative_updates import Factorisation, factorise


def learn_both(
    X: Features,
    y: np.ndarray,
    S: np.ndarray,
    U: np.ndarray,
    W_features: sparse.csr_array,
    W_rows: sparse.csr_array,
    *,
    lam: float,
    ridge: float,
    gamma: float,
    anchor: float,
    rounds: int,
    updates: int,
    blur: float = 1e-2,
    normalise: bool = False,
) -> tuple[Factorisation, np.ndarray]:
    """Return the factorisation with U (d, a), and V (n, c), after ``rounds`` of ``updates`` updates of each block.

    ``U`` is the start, V starts at the labels plus ``blur``. ``anchor`` adds anchor |V - Y|^2 and ``ridge`` adds
    ridge |U|^2 to O (0: Eq. 6 as printed); lam, ridge, gamma and anchor are absolute. The objective listed is the
    whole of O, once per round. Products with X run in its precision.
    """
    Y = np.eye(len(S))[y]
    V = Y + blur
    squared = float(sum(np.einsum("ij,ij->", block, block, dtype=np.float64) for _, block in blocks_of(X)))
    degree_features = degrees(W_features)[:, None]
    result = Factorisation(U)
    for _ in range(rounds):
        B = S @ U.T
        gram = B @ B.T + anchor * np.eye(len(S))
        linear = _products(X, B.T) + anchor * Y
        constant = squared + anchor * len(X)
        V_step = factorise(
            V, linear, gram, W_rows, gamma, constant, iterations=updates, tolerance=0.0, normalise=normalise
        )
        V = V_step.factor
        smooth = np.vdot(degree_features * U, U) - np.vdot(U, W_features @ U)
        result.objective.append(V_step.objective[-1] + lam * float(smooth) + ridge * float(np.vdot(U, U)))
        linear = _sums(X, V) @ S
        gram = S.T @ (V.T @ V) @ S + ridge * np.eye(S.shape[1])
        U = factorise(
            U, linear, gram, W_features, lam, squared, iterations=updates, tolerance=0.0, normalise=normalise
        ).factor
    result.factor = U
    return result, V


def _products(X: Features, B: np.ndarray) -> np.ndarray:
    """Return X B (n, c) for B (d, c), in float64."""
    factor = B.astype(float_type(X.dtype))
    return rowwise(X, lambda rows: (rows @ factor).astype(np.float64))


def _sums(X: Features, V: np.ndarray) -> np.ndarray:
    """Return X'V (d, c) for V (n, c), added up in float64 over blocks of rows."""
    total = np.zeros((X.shape[1], V.shape[1]))
    for where, block in blocks_of(X):
        total += block.T @ V[where].astype(float_type(X.dtype))
    return total
