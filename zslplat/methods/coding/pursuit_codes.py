"""Orthogonal matching pursuit on the Gram matrix, for many queries at once.

| symbol | here  | shape  | meaning                                                       |
|--------|-------|--------|---------------------------------------------------------------|
| D'D    | K     | (N, N) | Gram matrix of atoms of unit length                           |
| D'x    | k     | (n, N) | inner products of queries and atoms                           |
| y      | codes | (n, N) | at most T non-zeros per row                                   |

Rubinstein, Zibulevsky, Elad, "Efficient Implementation of the K-SVD Algorithm using Batch Orthogonal Matching
Pursuit": the atom of largest correlation joins, all coefficients are fitted anew by a growing Cholesky factor.
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.compiled import compiled


def pursuit_codes(K: np.ndarray, k: np.ndarray, nonzeros: int) -> np.ndarray:
    """Return codes (n, N) with at most ``nonzeros`` non-zeros per row, in float64."""
    codes = np.zeros(k.shape)
    _pursue(np.require(K, np.float64, ["C", "W"]), np.require(k, np.float64, ["C", "W"]), min(nonzeros, len(K)), codes)
    return codes


@compiled(fastmath={"reassoc", "contract", "nsz"}, nogil=True, error_model="numpy")
def _pursue(K: np.ndarray, k: np.ndarray, nonzeros: int, codes: np.ndarray) -> None:
    n_atoms = len(K)
    L = np.empty((nonzeros, nonzeros))
    chosen = np.empty(nonzeros, np.int64)
    z, y, q = np.empty(nonzeros), np.empty(nonzeros), np.empty(n_atoms)
    for i in range(len(k)):
        q[:] = k[i]
        a = 0
        while a < nonzeros:
            best, size = -1, 1e-12
            for j in range(n_atoms):
                if abs(q[j]) > size:
                    best, size = j, abs(q[j])
            if best < 0:
                break
            pivot = K[best, best]
            for p in range(a):
                total = K[best, chosen[p]]
                for s in range(p):
                    total -= L[a, s] * L[p, s]
                L[a, p] = total / L[p, p]
                pivot -= L[a, p] ** 2
            if pivot <= 1e-12 * K[best, best]:
                break
            L[a, a] = np.sqrt(pivot)
            total = k[i, best]
            for s in range(a):
                total -= L[a, s] * z[s]
            z[a] = total / L[a, a]
            chosen[a] = best
            a += 1
            for p in range(a - 1, -1, -1):
                total = z[p]
                for s in range(p + 1, a):
                    total -= L[s, p] * y[s]
                y[p] = total / L[p, p]
            q[:] = k[i]
            for p in range(a):
                row, value = K[chosen[p]], y[p]
                for j in range(n_atoms):
                    q[j] -= value * row[j]
            for p in range(a):
                q[chosen[p]] = 0.0
        for p in range(a):
            codes[i, chosen[p]] = y[p]
