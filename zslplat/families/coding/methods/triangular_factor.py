"""The triangular factor of the active atoms, grown and shrunk one atom at a time: R'R = K_AA, R'z = k_A - lam sign_A.

| here    | shape  | meaning                                                      |
|---------|--------|--------------------------------------------------------------|
| order   | (a,)   | active atoms A, in the order of the factor                   |
| signs   | (a,)   | sign of each one's coefficient                               |
| R       | (a, a) | upper triangular, by rows, so that inner loops run along memory |
| z       | (a,)   | R^-T (k_A - lam sign_A), kept up to date with R              |

A column is added from one forward substitution; one is taken away by Givens rotations. Compiled with what calls it:
numba's cache of :mod:`~zslplat.families.coding.methods.active_set` does not see changes of this file, so empty
``__pycache__`` after editing it.
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.compiled import compiled

# Sums may be reordered and contracted; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
solver_loop = compiled(fastmath=_FAST, nogil=True, error_model="numpy")


@solver_loop
def new_column(K: np.ndarray, j: int, a: int, R: np.ndarray, order: np.ndarray, column: np.ndarray) -> float:
    """Put R^-T K_Aj into ``column`` and return the square of the new pivot; :func:`append_atom` completes the step."""
    for i in range(a):
        column[i] = K[j, order[i]]
    forward_substitute(a, R, column)
    pivot: float = K[j, j]
    for i in range(a):
        pivot -= column[i] * column[i]
    return pivot


@solver_loop
def append_atom(
    k: np.ndarray,
    lam: float,
    j: int,
    sign: float,
    pivot: float,
    a: int,
    R: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    z: np.ndarray,
    column: np.ndarray,
) -> None:
    """Make atom ``j`` position ``a`` of the factor, with the column and squared pivot of :func:`new_column`."""
    root = np.sqrt(pivot)
    right = k[j] - lam * sign
    for i in range(a):
        R[i, a] = column[i]
        right -= column[i] * z[i]
    R[a, a] = root
    z[a] = right / root
    order[a] = j
    signs[a] = sign


@solver_loop
def delete_atom(
    p: int, a: int, R: np.ndarray, order: np.ndarray, signs: np.ndarray, y: np.ndarray, z: np.ndarray
) -> None:
    """Remove position ``p`` of ``a`` from the factor: shift the columns, then rotate the rows back to a triangle."""
    for i in range(p + 1):
        row = R[i]
        for m in range(p, a - 1):
            row[m] = row[m + 1]
    for i in range(p + 1, a):
        row = R[i]
        for m in range(i - 1, a - 1):
            row[m] = row[m + 1]
    for i in range(p, a - 1):
        upper, lower = R[i], R[i + 1]
        f, g = upper[i], lower[i]
        length = np.sqrt(f * f + g * g)
        c, s = f / length, g / length
        upper[i] = length
        for m in range(i + 1, a - 1):
            u, v = upper[m], lower[m]
            upper[m] = c * u + s * v
            lower[m] = c * v - s * u
        u, v = z[i], z[i + 1]
        z[i] = c * u + s * v
        z[i + 1] = c * v - s * u
        order[i] = order[i + 1]
        signs[i] = signs[i + 1]
        y[i] = y[i + 1]


@solver_loop
def back_substitute(a: int, R: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """out = R^-1 right, four rows at a time."""
    i = a
    while i >= 4:
        i -= 4
        r0, r1, r2, r3 = R[i], R[i + 1], R[i + 2], R[i + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for m in range(i + 4, a):
            x = out[m]
            s0 += r0[m] * x
            s1 += r1[m] * x
            s2 += r2[m] * x
            s3 += r3[m] * x
        x3 = (right[i + 3] - s3) / r3[i + 3]
        x2 = (right[i + 2] - s2 - r2[i + 3] * x3) / r2[i + 2]
        x1 = (right[i + 1] - s1 - r1[i + 2] * x2 - r1[i + 3] * x3) / r1[i + 1]
        x0 = (right[i] - s0 - r0[i + 1] * x1 - r0[i + 2] * x2 - r0[i + 3] * x3) / r0[i]
        out[i], out[i + 1], out[i + 2], out[i + 3] = x0, x1, x2, x3
    while i > 0:
        i -= 1
        row = R[i]
        total = right[i]
        for m in range(i + 1, a):
            total -= row[m] * out[m]
        out[i] = total / row[i]


@solver_loop
def forward_substitute(a: int, R: np.ndarray, column: np.ndarray) -> None:
    """column = R^-T column, four rows at a time."""
    i = 0
    while i + 4 <= a:
        r0, r1, r2, r3 = R[i], R[i + 1], R[i + 2], R[i + 3]
        c0 = column[i] / r0[i]
        c1 = (column[i + 1] - c0 * r0[i + 1]) / r1[i + 1]
        c2 = (column[i + 2] - c0 * r0[i + 2] - c1 * r1[i + 2]) / r2[i + 2]
        c3 = (column[i + 3] - c0 * r0[i + 3] - c1 * r1[i + 3] - c2 * r2[i + 3]) / r3[i + 3]
        column[i], column[i + 1], column[i + 2], column[i + 3] = c0, c1, c2, c3
        for m in range(i + 4, a):
            column[m] -= (c0 * r0[m] + c1 * r1[m]) + (c2 * r2[m] + c3 * r3[m])
        i += 4
    while i < a:
        row = R[i]
        c = column[i] / row[i]
        column[i] = c
        for m in range(i + 1, a):
            column[m] -= c * row[m]
        i += 1


@solver_loop
def refine(
    lam: float,
    a: int,
    R: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    y: np.ndarray,
    q: np.ndarray,
    work: np.ndarray,
) -> None:
    """One step of iterative refinement: y += (R'R)^-1 (q_A - lam sign_A)."""
    for i in range(a):
        work[i] = q[order[i]] - lam * signs[i]
    forward_substitute(a, R, work)
    back_substitute(a, R, work, work)
    for i in range(a):
        if (y[i] + work[i]) * signs[i] > 0:
            y[i] += work[i]
