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

The compiled part of the sparse coder: one active-set solve per query, on the Gram matrix alone.

| paper   | here          | shape   | meaning                                                        |
|---------|---------------|---------|----------------------------------------------------------------|
| K(D, D) | K             | (N, N)  | Gram matrix of the atoms, symmetric positive semi-definite     |
| k(x, D) | k             | (N,)    | kernel between the query and the atoms                         |
| y       | y             | (N,)    | code                                                           |
| gamma   | 2 * lam       |         | weight of the l1 norm; lam is that of the half-form            |
|         | q             | (N,)    | k - K y, minus the gradient of the smooth half-form            |
|         | order         | (a,)    | active atoms A, in the order of the factor                     |
|         | R             | (a, a)  | upper triangular, R'R = K_AA                                   |
|         | z             | (a,)    | R' z = k_A - lam sign_A, kept up to date with R                |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases": problem (8), written with (K, k) so that
no square root of K is needed. Optimal: |q_j| <= lam everywhere, q_j = lam sign(y_j) where y_j is not 0.

Each pass adds the few atoms that violate this most, moves to the minimum over the active set without leaving the
orthant of its signs (an atom that reaches 0 is dropped, a new atom that would take the wrong sign is dropped before the
move), and computes q afresh. The objective falls strictly from pass to pass, so no active set returns. The factor grows
by one column per added atom and loses one by Givens rotations
(:mod:`~zslplat.families.coding.methods.active_set`): no pass factorises anything from scratch.
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


SOLVED, STEP_LIMIT, NOT_POSITIVE = 0, 1, 2

# A new pivot below this part of K_jj is a dependent atom: rounding decides its sign.
DEPENDENT = 1e-13
# A pivot below minus this part of K_jj cannot be rounding: K is not positive semi-definite.
NEGATIVE = 1e-7


@solver_loop
def _correlation(K: np.ndarray, k: np.ndarray, a: int, order: np.ndarray, y: np.ndarray, q: np.ndarray) -> None:
    """q = k - K_A y; four rows of K at a time, so that q is read and written a quarter as often."""
    n = len(q)
    q[:] = k
    i = 0
    while i + 4 <= a:
        r0, r1, r2, r3 = K[order[i]], K[order[i + 1]], K[order[i + 2]], K[order[i + 3]]
        y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
        for j in range(n):
            q[j] -= (y0 * r0[j] + y1 * r1[j]) + (y2 * r2[j] + y3 * r3[j])
        i += 4
    while i < a:
        r0, y0 = K[order[i]], y[i]
        for j in range(n):
            q[j] -= y0 * r0[j]
        i += 1


@solver_loop
def _largest(q: np.ndarray, tops: np.ndarray) -> float:
    """max |q|, with the maximum of every block of 32 in ``tops``."""
    n = len(q)
    top = 0.0
    for b in range(len(tops)):
        m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
        start = 32 * b
        if start + 32 <= n:
            for j in range(start, start + 32, 4):
                v0, v1, v2, v3 = abs(q[j]), abs(q[j + 1]), abs(q[j + 2]), abs(q[j + 3])
                m0 = v0 if v0 > m0 else m0
                m1 = v1 if v1 > m1 else m1
                m2 = v2 if v2 > m2 else m2
                m3 = v3 if v3 > m3 else m3
        else:
            for j in range(start, n):
                v0 = abs(q[j])
                m0 = v0 if v0 > m0 else m0
        tops[b] = max(max(m0, m1), max(m2, m3))
        top = max(top, tops[b])
    return top


@solver_loop
def _candidates(
    q: np.ndarray, tops: np.ndarray, bound: float, limit: int, places: np.ndarray, active: np.ndarray
) -> int:
    """Put the inactive atoms of largest |q| >= bound into ``places``, largest first, at most ``limit``."""
    count = 0
    for b in range(len(tops)):
        if tops[b] < bound:
            continue
        for j in range(32 * b, min(32 * b + 32, len(q))):
            size = abs(q[j])
            if size < bound or active[j]:
                continue
            if count == limit and size <= abs(q[places[count - 1]]):
                continue
            place = count if count < limit else limit - 1
            while place > 0 and abs(q[places[place - 1]]) < size:
                places[place] = places[place - 1]
                place -= 1
            places[place] = j
            if count < limit:
                count += 1
    return count


@solver_loop
def _descend(
    a: int,
    first_new: int,
    R: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    target: np.ndarray,
    active: np.ndarray,
) -> int:
    """Move to the minimum over the active set inside its orthant; returns the number of atoms left."""
    while a > 0:
        back_substitute(a, R, z, target)
        wrong = False
        for p in range(a - 1, first_new - 1, -1):
            if y[p] == 0.0 and target[p] * signs[p] <= 0.0:
                active[order[p]] = 0
                delete_atom(p, a, R, order, signs, y, z)
                a -= 1
                wrong = True
        if wrong:
            continue
        step, crossing = 1.0, -1
        for p in range(a):
            if target[p] * signs[p] <= 0.0:
                t = y[p] / (y[p] - target[p])
                if crossing < 0 or t < step:
                    step, crossing = t, p
        if crossing < 0:
            for p in range(a):
                y[p] = target[p]
            break
        for p in range(a):
            y[p] += step * (target[p] - y[p])
        active[order[crossing]] = 0
        delete_atom(crossing, a, R, order, signs, y, z)
        a -= 1
        first_new = min(first_new, a)
        # Rounding may leave another atom of the same crossing at 0 or just beyond it.
        for p in range(a - 1, -1, -1):
            if y[p] * signs[p] <= 0.0 and p < first_new:
                active[order[p]] = 0
                delete_atom(p, a, R, order, signs, y, z)
                a -= 1
                first_new = min(first_new, a)
    return a


@solver_loop
def _slide(
    j: int,
    sign: float,
    excess: float,
    pivot: float,
    diagonal: float,
    a: int,
    R: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    column: np.ndarray,
    work: np.ndarray,
    active: np.ndarray,
) -> tuple[int, float]:
    """Bring in a dependent atom: move along the flat direction until an active atom reaches 0, and drop that one.

    Returns the number of atoms left and the coefficient that the new atom has by then.
    """
    back_substitute(a, R, column, work)  # phi(d_j) = sum of work_i phi(d_i), but for rounding
    length = excess / max(pivot, 1e-16 * diagonal)
    crossing = -1
    for p in range(a):
        rate = -sign * work[p]
        if rate * signs[p] < 0.0 and -y[p] / rate < length:
            length, crossing = -y[p] / rate, p
    for p in range(a):
        y[p] -= length * sign * work[p]
    if crossing >= 0:
        active[order[crossing]] = 0
        delete_atom(crossing, a, R, order, signs, y, z)
        a -= 1
    return a, sign * length


@solver_loop
def solve_one(
    K: np.ndarray,
    k: np.ndarray,
    lam: float,
    tolerance: float,
    additions: int,
    limit: int,
    skip: int,
    code: np.ndarray,
    R: np.ndarray,
    integers: np.ndarray,
    floats: np.ndarray,
    tops: np.ndarray,
) -> tuple[int, int]:
    """Solve one query in place, from the start in ``code``, without atom ``skip`` if that is >= 0.

    Returns (status, passes). ``integers`` (3, N), ``floats`` (6, N) and ``tops`` are room to work in.
    """
    n = len(k)
    a = 0
    order, candidates, active = integers[0], integers[1], integers[2]
    signs, y, z, column, target, q = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    active[:] = 0
    scale = lam
    for j in range(n):
        scale = max(scale, abs(k[j]))
    tolerance = tolerance * scale
    if skip >= 0:
        code[skip] = 0.0
    for j in range(n):
        if code[j] != 0.0:
            sign = 1.0 if code[j] > 0.0 else -1.0
            pivot = new_column(K, j, a, R, order, column)
            if pivot > DEPENDENT * K[j, j]:
                append_atom(k, lam, j, sign, pivot, a, R, order, signs, z, column)
                y[a] = code[j]
                active[j] = 1
                a += 1
            elif pivot < -NEGATIVE * K[j, j]:
                return NOT_POSITIVE, 0
            code[j] = 0.0
    a = _descend(a, a, R, order, signs, y, z, target, active)
    status, refined, passes = STEP_LIMIT, 0, 0
    while passes < limit:
        passes += 1
        _correlation(K, k, a, order, y, q)
        if skip >= 0:
            q[skip] = 0.0
        top = _largest(q, tops)
        gap = 0.0
        for p in range(a):
            gap = max(gap, abs(q[order[p]] - lam * signs[p]))
        if gap > tolerance and refined < 4:
            refined += 1
            refine(lam, a, R, order, signs, y, q, target)
            continue
        refined = 0
        excess = top - lam
        if excess <= tolerance:
            status = SOLVED
            break
        room = min(max(additions, a // 4), n - a)
        count = _candidates(q, tops, lam + max(0.5 * excess, tolerance), room, candidates, active)
        if count == 0:
            status = SOLVED
            break
        first_new = a
        for c in range(count):
            j = candidates[c]
            sign = 1.0 if q[j] > 0.0 else -1.0
            pivot = new_column(K, j, a, R, order, column)
            if pivot < -NEGATIVE * K[j, j]:
                return NOT_POSITIVE, passes
            if pivot > DEPENDENT * K[j, j]:
                append_atom(k, lam, j, sign, pivot, a, R, order, signs, z, column)
                y[a] = 0.0
                active[j] = 1
                a += 1
            elif c == 0:
                a, moved = _slide(
                    j, sign, abs(q[j]) - lam, pivot, K[j, j], a, R, order, signs, y, z, column, target, active
                )
                pivot = new_column(K, j, a, R, order, column)
                append_atom(k, lam, j, sign, max(pivot, 1e-16 * K[j, j]), a, R, order, signs, z, column)
                y[a] = moved
                active[j] = 1
                a += 1
                first_new = a
                break
        a = _descend(a, first_new, R, order, signs, y, z, target, active)
    for p in range(a):
        code[order[p]] = y[p]
    return status, passes


@solver_loop
def solve_rows(
    K: np.ndarray,
    queries: np.ndarray,
    lam: float,
    tolerance: float,
    additions: int,
    limit: int,
    skips: np.ndarray,
    codes: np.ndarray,
    statuses: np.ndarray,
    passes: np.ndarray,
) -> None:
    """Solve every row of ``queries`` (m, N) in place in ``codes`` (m, N), whose values are the starts."""
    n = K.shape[0]
    R = np.empty((n, n + 8))  # the margin keeps columns of R off one cache set where n is a power of two
    integers, floats, tops = np.zeros((3, n), np.int64), np.empty((6, n)), np.empty((n + 31) // 32)
    for i in range(queries.shape[0]):
        statuses[i], passes[i] = solve_one(
            K, queries[i], lam, tolerance, additions, limit, skips[i], codes[i], R, integers, floats, tops
        )
