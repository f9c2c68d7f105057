"""Weighted intersections of rows with reference points, and their slopes, without ever holding one per pair.

A pass touches n k d numbers: rows X (n, d), references V (k, d), weights w (d,), A (n, k). Some rows and V at a time
fit into a processor's caches, and nothing of size (n, k, d) is made. Two rows and two references, or four rows, that
meet at a time halve what is read; where their number leaves fewer, the last is there again and does not count.
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.compiled import compiled

# Sums may be taken in any order, so that they are vectorised; numbers are finite (they are checked before).
_LOOSE = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@compiled(fastmath=_LOOSE)
def intersections(X: np.ndarray, V: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return P (n, k), P_ir = sum_j w_j min(x_ij, v_rj), in the precision of X, which V and w share."""
    n, d = X.shape
    k = len(V)
    P = np.empty((n, k), dtype=X.dtype)
    zero = w[0] - w[0]  # in the precision of w: a literal would make the sums float64, and half as fast
    for i in range(0, n, 2):
        other = min(i + 1, n - 1)
        x, y = X[i], X[other]
        for r in range(0, k, 2):
            second = min(r + 1, k - 1)
            u, v = V[r], V[second]
            xu, xv, yu, yv = zero, zero, zero, zero
            for j in range(d):
                xu += w[j] * min(x[j], u[j])
                xv += w[j] * min(x[j], v[j])
                yu += w[j] * min(y[j], u[j])
                yv += w[j] * min(y[j], v[j])
            P[i, r], P[i, second], P[other, r], P[other, second] = xu, xv, yu, yv
    return P


@compiled(fastmath=_LOOSE)
def slope_by_weights(X: np.ndarray, V: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the gradient (d,) of sum_ir A_ir P_ir by w: sum_ir A_ir min(x_ij, v_rj)."""
    n, d = X.shape
    k = len(V)
    slope = np.zeros(d, dtype=X.dtype)
    zero = slope[0]
    for i in range(0, n, 2):
        other = min(i + 1, n - 1)
        x, y = X[i], X[other]
        for r in range(0, k, 2):
            second = min(r + 1, k - 1)
            u, v = V[r], V[second]
            # What is there twice counts once.
            xu, xv = A[i, r], A[i, second] if second > r else zero
            yu, yv = (A[other, r], A[other, second] if second > r else zero) if other > i else (zero, zero)
            if xu == 0 and xv == 0 and yu == 0 and yv == 0:
                continue
            for j in range(d):
                slope[j] += xu * min(x[j], u[j]) + xv * min(x[j], v[j]) + yu * min(y[j], u[j]) + yv * min(y[j], v[j])
    return slope


@compiled(fastmath=_LOOSE)
def slope_by_references(X: np.ndarray, V: np.ndarray, w: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return a subgradient (k, d) of sum_ir A_ir P_ir by V: w_j sum_i A_ir [v_rj < x_ij]."""
    n, d = X.shape
    k = len(V)
    slope = np.zeros((k, d), dtype=X.dtype)
    zero = w[0] - w[0]  # in the precision of w
    last = n - 1
    for i in range(0, n, 4):
        x0, x1, x2, x3 = X[i], X[min(i + 1, last)], X[min(i + 2, last)], X[min(i + 3, last)]
        for r in range(k):
            a0 = A[i, r]
            a1 = A[i + 1, r] if i + 1 < n else zero
            a2 = A[i + 2, r] if i + 2 < n else zero
            a3 = A[i + 3, r] if i + 3 < n else zero
            if a0 == 0 and a1 == 0 and a2 == 0 and a3 == 0:
                continue
            v, g = V[r], slope[r]
            for j in range(d):
                first = (a0 if v[j] < x0[j] else zero) + (a1 if v[j] < x1[j] else zero)
                g[j] += first + (a2 if v[j] < x2[j] else zero) + (a3 if v[j] < x3[j] else zero)
    for r in range(k):
        for j in range(d):
            slope[r, j] *= w[j]
    return slope
