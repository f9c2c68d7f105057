"""Non-negative least squares with a graph regulariser, by multiplicative updates: one function for both of MFMR's.

With data and the other factors fixed, learning U (Eq. 9) and joint prediction of V (Eq. 13) in Xu et al., "Matrix
Tri-Factorization with Manifold Regularizations for Zero-shot Learning", are the same problem in F >= 0:

    O(F) = constant - 2 <linear, F> + <F gram, F> + weight tr(F'(Q - W) F)

=========  ============  ========================  =======================  =======================================
here       shape         for U (F = U, (d, a))     for V (F = V, (n, c))    meaning
=========  ============  ========================  =======================  =======================================
linear     (m, r)        X'Y S                     X U S'                   data against the other factors
gram       (r, r)        S'Y'Y S                   S U'U S'                 the other factors against themselves
W, Q       (m, m)        W^F, Q^F                  W^I, Q^I                 affinity and its row sums
weight     scalar        lambda                    gamma                    weight of the graph
constant   scalar        |X|^2                     |X|^2                    makes O a squared error
=========  ============  ========================  =======================  =======================================

The paper prints W^I, Q^I in Eq. 9 and W^F, Q^F in Eq. 13; the shapes (d, d) and (n, n) and the objectives of Eqs. 7
and 11 need them the other way round, as here.

**Why the objective never rises.** O is bounded above by a function that touches it at the current F and is separable
with, in every coordinate, a convex parabola whose minimum is F * numerator / denominator (all terms non-negative):
going there (``exponent=1``), or part of the way on the same side, as the paper's square root does
(``exponent=0.5``), lowers the bound and so O. With negative entries in ``linear`` or ``gram`` the bound of semi-NMF
applies (Ding, Li and Jordan, 2010) and the square root is needed. Normalising columns after each update, as printed,
voids the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from scipy import sparse

from zslplat.methods.neighbours import degrees

TINY = 1e-30


@dataclass
class Factorisation:
    """The factor F (m, r), the objective before the first and after every update, and whether it has converged."""

    factor: np.ndarray
    objective: list[float] = field(default_factory=list)
    converged: bool = False


def factorise(
    start: np.ndarray,
    linear: np.ndarray,
    gram: np.ndarray,
    W: sparse.csr_array,
    weight: float,
    constant: float,
    *,
    iterations: int,
    tolerance: float,
    normalise: bool = False,
) -> Factorisation:
    """Minimise O over F >= 0 from ``start`` (m, r), which must be positive: an entry of 0 stays 0.

    Stops after ``iterations`` updates or when one changes O by at most ``tolerance`` times the range of O so far,
    which no constant term can drown.
    ``normalise`` scales every column to sum 1 after each update (the printed algorithms), with the printed root.
    All in float64; an update costs one product with ``gram`` and one pass over the graph.
    """
    signed = float(linear.min()) < 0 or float(gram.min()) < 0
    root = signed or normalise
    linear = np.ascontiguousarray(linear, dtype=np.float64)
    gram_up = np.maximum(gram, 0) if signed else np.asarray(gram)
    gram_down = np.maximum(-gram, 0)
    values, degree = weight * W.data.astype(np.float64), weight * degrees(W).astype(np.float64)
    F = np.array(start, dtype=np.float64)
    if normalise:
        F /= F.sum(axis=0)
    result = Factorisation(F)
    for iteration in range(iterations + 1):
        down = F @ gram_up
        up = F @ gram_down if signed else down
        updated = np.empty_like(F)
        slope = _update(F, updated, linear, up, down, W.indptr, W.indices, values, degree, signed, root)
        result.objective.append(constant + slope)
        if iteration:
            change = abs(result.objective[-1] - result.objective[-2])
            result.converged = change <= tolerance * (max(result.objective) - min(result.objective))
        if result.converged or iteration == iterations:
            break
        F = updated
        if normalise:
            F /= F.sum(axis=0) + TINY
    result.factor = F
    return result


@njit(cache=True, error_model="numpy")  # Python's check for division by zero would keep the loops from vectorising
def _update(
    F: np.ndarray,
    updated: np.ndarray,
    linear: np.ndarray,
    gram_down: np.ndarray,
    gram_up: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    degree: np.ndarray,
    signed: bool,
    root: bool,
) -> float:
    """Write one update of every row of F to ``updated``; return O - constant at F.

    ``gram_up`` and ``gram_down`` are F times the positive and the negative part of the Gram matrix (the latter is
    read only where ``signed``). With N the numerator and D the denominator, <D - N, F> is the quadratic part of O
    less one <linear, F>, so that the objective costs no product of its own.
    """
    rows, columns = F.shape
    up = np.empty(columns)
    total = np.zeros(columns)
    for i in range(rows):
        up[:] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            value, row = values[position], F[indices[position]]
            for j in range(columns):
                up[j] += value * row[j]  # W F
        old, new, line, ascent, descent = F[i], updated[i], linear[i], gram_down[i], gram_up[i]
        if signed:
            for j in range(columns):
                down = descent[j] + degree[i] * old[j] + max(-line[j], 0.0)  # F G+ + Q F + linear-
                up[j] += ascent[j] + max(line[j], 0.0)  # W F + F G- + linear+
                total[j] += (down - up[j] - line[j]) * old[j]
                new[j] = up[j] / (down + TINY)
        else:
            for j in range(columns):
                down = descent[j] + degree[i] * old[j]
                up[j] += line[j]
                total[j] += (down - up[j] - line[j]) * old[j]
                new[j] = up[j] / (down + TINY)
        if root:
            for j in range(columns):
                new[j] = old[j] * np.sqrt(new[j])
        else:
            for j in range(columns):
                new[j] *= old[j]
    return total.sum()
