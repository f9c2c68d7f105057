"""Indefinite kernels made usable: the negative part of the training Gram matrix is taken out, for new rows, too.

With K = U diag(w) U' and P the projection on the eigenvectors of positive w, training values become P K and new ones
k(x, X) P: the kernel of the training samples is the nearest positive semi-definite one, and new samples are treated
like training samples.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def positive_projection(K: np.ndarray) -> np.ndarray:
    """Return P (M, M), the projection on the eigenvectors of K with positive eigenvalues."""
    w, U = eigh(K)
    U = U[:, w > 0]
    return np.asarray(U @ U.T)


def clipped(K: np.ndarray) -> np.ndarray:
    """Return the positive semi-definite matrix nearest to the symmetric K (M, M)."""
    w, U = eigh(K)
    K = (U * np.maximum(w, 0)) @ U.T
    return np.asarray((K + K.T) / 2)
