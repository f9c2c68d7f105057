"""Indefinite kernels made usable: the negative part of the training Gram matrix is taken out, for new rows, too.

With K = U diag(w) U' and P the projection on the eigenvectors of positive w, training values become P K and new ones
k(x, X) P: the kernel of the training samples is the nearest positive semi-definite one, and new samples are treated
like training samples.

Rounding makes eigenvalues negative, too, of a kernel that has none: a smooth kernel on rows of few dimensions has
eigenvalues far below the precision of its values. What is within rounding gets a shift, what is beyond it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, eigvalsh

from zslplat.errors import MethodError
from zslplat.kernels.base import rounding_of_eigenvalues

EPS = float(np.finfo(np.float64).eps)


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


def positive_shift(K: np.ndarray, coder: str, dtype: np.dtype[Any] | type = np.float64) -> float:
    """Return what makes the symmetric K (N, N) safely positive definite when it is added to the diagonal.

    ``dtype``: that in which its values were computed. Raises :class:`MethodError`, which names the ``coder``, where
    the negative eigenvalues of K are no rounding.
    """
    eigenvalues = eigvalsh(K)
    smallest, largest = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    if smallest < -rounding_of_eigenvalues(len(K), largest, dtype):
        raise MethodError(
            f"{coder}: the Gram matrix of the atoms is not positive semi-definite (eigenvalues from {smallest:.2g} to "
            f"{largest:.2g}); use a positive semi-definite kernel, or clip the negative eigenvalues; the values of one "
            "that is may be lost to rounding: centre the features, or widen the kernel"
        )
    # A Cholesky factor of N columns is that of a matrix within N eps times the largest eigenvalue of K.
    return 2 * max(10 * len(K) * EPS * largest, -smallest)


def ridge_solution(G: np.ndarray, right: np.ndarray, classifier: str) -> np.ndarray:
    """Return G^-1 right (N, ...) for G (N, N), a sum of squares and a ridge, which may be lost beside it.

    Raises :class:`MethodError`, which names the ``classifier``, where G is none beyond rounding.
    """
    try:
        factor = cho_factor(G, lower=True)
    except np.linalg.LinAlgError:
        factor = cho_factor(G + positive_shift(G, classifier) * np.eye(len(G)), lower=True)
    return np.asarray(cho_solve(factor, right))
