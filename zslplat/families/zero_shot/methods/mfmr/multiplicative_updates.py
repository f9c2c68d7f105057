"""Non-negative least squares with a graph regulariser, by multiplicative updates: one function for both of MFMR's.

With data and the other factors fixed, learning U (Eq. 9) and joint prediction of V (Eq. 13) in Xu et al., "Matrix
Tri-Factorization with Manifold Regularizations for Zero-shot Learning", are the same problem in F >= 0:

    O(F) = constant - 2 <linear, F> + <F gram, F> + weight tr(F'(Q - W) F)

| here     | shape  | for U (F = U, (d, a)) | for V (F = V, (n, c)) | meaning                              |
|----------|--------|-----------------------|-----------------------|--------------------------------------|
| linear   | (m, r) | X'Y S                 | X U S'                | data against the other factors       |
| gram     | (r, r) | S'Y'Y S               | S U'U S'              | the other factors against themselves |
| W, Q     | (m, m) | W^F, Q^F              | W^I, Q^I              | affinity and its row sums            |
| weight   | scalar | lambda                | gamma                 | weight of the graph                  |
| constant | scalar | |X|^2                 | |X|^2                 | makes O a squared error              |

The paper prints W^I, Q^I in Eq. 9 and W^F, Q^F in Eq. 13; the shapes (d, d) and (n, n) and the objectives of Eqs. 7
and 11 need them the other way round, as here.

**Why the objective never rises.** O is bounded above by a function that touches it at the current F and is separable
with, in every coordinate, a convex parabola whose minimum is F * numerator / denominator (all terms non-negative):
going there (``exponent=1``), or part of the way on the same side, as the paper's square root does
(``exponent=0.5``), lowers the bound and so O. With negative entries in ``linear`` or ``gram`` the bound of semi-NMF
applies (Ding, Li and Jordan, 2010) and the square root is needed. Normalising columns after each update, as printed,
voids the guarantee.

The training problem of MFMR in its general form: V_s free, with the instance graph of the training rows.

Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", CVPR 2017, Eq. 6:

    O(U, V) = |X - V S U'|^2 + gamma tr(V'(Q^I - W^I)V) + lam tr(U'(Q^F - W^F)U),   U, V >= 0

| paper | here | shape  | meaning                                                         |
|-------|------|--------|-----------------------------------------------------------------|
| X_s'  | X    | (n, d) | features, non-negative                                          |
| A_s'  | S    | (c, a) | signatures, non-negative                                        |
| V_s   | V    | (n, c) | how much of each class a row is; Eq. 7 fixes it to the labels Y |
| U     | U    | (d, a) | projection                                                      |

The two blocks are updated in turn, each by
:func:`~zslplat.families.zero_shot.methods.mfmr.multiplicative_updates.factorise`, so O never rises (without column
normalisation). V starts near the labels. Eq. 7 is the special case in which V stays there: with ``blur=0`` and
``anchor`` -> infinity, or by learning U alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from zslplat.data.store.rows import blocks_of, float_type, rowwise
from zslplat.methods.base import Features
from zslplat.methods.compiled import compiled
from zslplat.methods.neighbours import degrees

TINY = 1e-30

# Rows of F this long are worth arithmetic on several at once, and single precision; it saves nothing on shorter ones.
WIDE = 64
# Single precision is used from so many entries of F on, and as long as an update lowers O by this part of its scale.
# Its rounding, averaged over that many entries, moves O by a few 1e-9 of its scale.
SINGLE_FROM, SINGLE_UNTIL = 1 << 16, 1e-7
# Where entries of F stop falling in single precision, whose arithmetic is slow below 1e-38.
SINGLE_FLOOR = 1e-25


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
    Float64 in and out; an update costs one product with ``gram`` and one pass over the graph. Large factors with long
    rows are updated in float32, halving the cost, until an update gains so little that rounding could hide it; the
    rest is float64 again, so that the objective listed never rises either way; its first and last value are always
    float64. F then differs by some 1e-6 of its norm from what float64 throughout gives after as many updates.
    """
    signed = float(linear.min()) < 0 or float(gram.min()) < 0
    root = signed or normalise
    problem = _Problem.of(linear, gram, W, weight, signed)
    wide = start.shape[1] >= WIDE and start.size >= SINGLE_FROM
    single = problem.astype(np.float32) if wide and not root else None
    F = np.array(start, dtype=np.float64)
    if normalise:
        F /= F.sum(axis=0)
    slope, updated = problem.update(F, root)
    result = Factorisation(F, [constant + slope])
    scale = max(abs(constant), abs(result.objective[0]))
    for _ in range(iterations):
        F = updated
        if normalise:
            F /= F.sum(axis=0) + TINY
        if single is not None:
            slope, updated = single.update(F.astype(np.float32, copy=False), root)
            if not result.objective[-1] - (constant + slope) >= SINGLE_UNTIL * scale:
                single = None
        if single is None:
            F = F.astype(np.float64, copy=False)
            slope, updated = problem.update(F, root)
        result.objective.append(constant + slope)
        change = abs(result.objective[-1] - result.objective[-2])
        result.converged = change <= tolerance * (max(result.objective) - min(result.objective))
        if result.converged:
            break
    result.factor = F.astype(np.float64, copy=False)
    if single is not None and iterations:
        result.objective[-1] = constant + problem.update(result.factor, root)[0]
    return result


@dataclass
class _Problem:
    """What every update needs, in one precision, and room for it.

    The Gram matrix is split into its positive and its negative part, the latter empty where there is none; ``values``
    and ``degree`` are those of the graph times its weight.
    """

    linear: np.ndarray
    gram_up: np.ndarray
    gram_down: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    degree: np.ndarray
    signed: bool
    room: list[np.ndarray]

    @classmethod
    def of(cls, linear: np.ndarray, gram: np.ndarray, W: sparse.csr_array, weight: float, signed: bool) -> _Problem:
        """Return the problem in double precision."""
        return cls(
            np.ascontiguousarray(linear, dtype=np.float64),
            np.maximum(gram, 0),
            np.maximum(-gram, 0),
            W.indptr,
            W.indices,
            weight * W.data.astype(np.float64),
            weight * degrees(W).astype(np.float64),
            signed,
            [],
        )

    def astype(self, dtype: type) -> _Problem:
        """Return the problem in another precision."""
        names = ("linear", "gram_up", "gram_down", "values", "degree")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names}, room=[])

    def update(self, F: np.ndarray, root: bool) -> tuple[float, np.ndarray]:
        """Return O - constant at F (m, r), and the next F, which the second call from here overwrites."""
        if not self.room:
            self.room = [np.empty_like(self.linear) for _ in range(4 if self.signed else 3)]
        down, *others = self.room
        np.matmul(F, self.gram_up, out=down)
        up = np.matmul(F, self.gram_down, out=others.pop()) if self.signed else down
        updated = others[1] if F is others[0] else others[0]
        floor = self.linear.dtype.type(SINGLE_FLOOR if self.linear.dtype == np.float32 else 0)
        arrays = (self.linear, up, down, self.indptr, self.indices, self.values, self.degree)
        return _update(F, updated, *arrays, self.signed, root, floor), updated


@compiled(error_model="numpy")  # Python's check for division by zero would keep the loops from vectorising
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
    floor: float,
) -> float:
    """Write one update of every row of F to ``updated``; return O - constant at F.

    ``gram_up`` and ``gram_down`` are F times the positive and the negative part of the Gram matrix (the latter is
    read only where ``signed``). With N the numerator and D the denominator, <D - N, F> is the quadratic part of O
    less one <linear, F>, so that the objective costs no product of its own. An entry that would fall below ``floor``
    stays where it is.
    """
    rows, columns = F.shape
    zero, tiny = F.dtype.type(0), F.dtype.type(TINY)
    up = np.empty(columns, F.dtype)
    # Sums of a few rows in the precision of F, then in double precision.
    few, total = np.zeros(columns, F.dtype), np.zeros(columns)
    for i in range(rows):
        up[:] = 0
        position, end = indptr[i], indptr[i + 1]
        while columns >= WIDE and position + 4 <= end:
            # Four rows at a time: what is summed up is read and written once for all. Does not pay for short rows.
            v, w, x, y = values[position], values[position + 1], values[position + 2], values[position + 3]
            p, q = F[indices[position]], F[indices[position + 1]]
            r, s = F[indices[position + 2]], F[indices[position + 3]]
            for j in range(columns):
                up[j] += v * p[j] + w * q[j] + x * r[j] + y * s[j]  # W F
            position += 4
        while position < end:
            value, row = values[position], F[indices[position]]
            for j in range(columns):
                up[j] += value * row[j]
            position += 1
        old, new, line, ascent, descent = F[i], updated[i], linear[i], gram_down[i], gram_up[i]
        weight = degree[i]
        if signed:
            for j in range(columns):
                down = descent[j] + weight * old[j] + max(-line[j], zero)  # F G+ + Q F + linear-
                up[j] += ascent[j] + max(line[j], zero)  # W F + F G- + linear+
                few[j] += (down - up[j] - line[j]) * old[j]
                new[j] = up[j] / (down + tiny)
        else:
            for j in range(columns):
                down = descent[j] + weight * old[j]
                up[j] += line[j]
                few[j] += (down - up[j] - line[j]) * old[j]
                new[j] = up[j] / (down + tiny)
        if root:
            for j in range(columns):
                new[j] = old[j] * np.sqrt(new[j])
        elif floor > 0:
            for j in range(columns):
                moved = new[j] * old[j]
                new[j] = old[j] if moved < floor else moved
        else:
            for j in range(columns):
                new[j] *= old[j]
        if i % 16 == 15 or i == rows - 1:
            for j in range(columns):
                total[j] += few[j]
            few[:] = 0
    objective: float = total.sum()
    return objective


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
