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

    Stops after ``iterations`` updates or when one changes O by at most ``tolerance`` times |O - constant|.
    ``normalise`` scales every column to sum 1 after each update (the printed algorithms), with the printed root.
    """
    signed = float(linear.min()) < 0 or float(gram.min()) < 0
    root = signed or normalise
    linear_up, linear_down = (np.maximum(linear, 0), np.maximum(-linear, 0)) if signed else (linear, None)
    gram_up, gram_down = (np.maximum(gram, 0), np.maximum(-gram, 0)) if signed else (gram, None)
    Q = weight * degrees(W)[:, None].astype(start.dtype)
    W = W * start.dtype.type(weight)
    F = start / start.sum(axis=0) if normalise else start
    result = Factorisation(F)
    for iteration in range(iterations + 1):
        up = W @ F if weight > 0 else np.zeros_like(F)
        down = Q * F
        down += F @ gram_up
        if gram_down is not None:
            up += F @ gram_down
        # <down - up, F> is <F gram, F> + weight tr(F'(Q - W) F), so that the objective costs no product of its own.
        value = constant - 2 * _inner(linear, F) + (_inner(down, F) - _inner(up, F))
        result.objective.append(value)
        # Measured against what F contributes: with columns of sum 1, |X|^2 would drown every change.
        if iteration and abs(result.objective[-2] - value) <= tolerance * abs(value - constant):
            result.converged = True
            break
        if iteration == iterations:
            break
        up += linear_up
        if linear_down is not None:
            down += linear_down
        down += TINY
        up /= down
        F = F * (np.sqrt(up, out=up) if root else up)
        if normalise:
            F /= F.sum(axis=0) + TINY
    result.factor = F
    return result


def _inner(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))
