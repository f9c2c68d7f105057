"""The kernel learning criterion: reconstruction against the spread of the atoms, as linear functions of K(X, X).

| paper     | here   | shape  | meaning                                                           |
|-----------|--------|--------|-------------------------------------------------------------------|
| L_phi     | loss   |        | mean reconstruction error, tr(K B) with B = (I - Y A')'(I - Y A')/M |
| J_phi     | spread |        | mean squared distance between atoms, tr(K C)                      |
| A         | A      | (M, N) | phi(d_r) = sum_i a_ri phi(x_i)                                    |
| Y         | Y      | (M, N) | codes, one per row                                                |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (14) to (17). For codes and atom weights
that stay as they are, both terms are linear in the kernel matrix of the training samples, whatever the kernel; so is
their derivative by any kernel parameter.
"""

from __future__ import annotations

import numpy as np


def loss_weights(A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return B (M, M) with L = sum(B * K)."""
    residual = -Y @ A.T
    residual[np.diag_indices_from(residual)] += 1.0
    return np.asarray(residual.T @ residual / len(Y))


def spread_weights(A: np.ndarray) -> np.ndarray:
    """Return C (M, M) with J = (1/N^2) sum_rs |phi(d_r) - phi(d_s)|^2 = sum(C * K), equation (15)."""
    n_atoms = A.shape[1]
    total = A.sum(axis=1)
    return np.asarray((2 * n_atoms * (A @ A.T) - 2 * np.outer(total, total)) / n_atoms**2)
