"""Weighted intersections of rows with reference points, and their slopes, without ever holding one per pair.

A pass touches n k d numbers: rows X (n, d), references V (k, d), weights w (d,), A (n, k). Some rows and V at a time
fit into a processor's caches, and nothing of size (n, k, d) is made. Four rows meet two references at a time, or eight
rows one, so that what was read is used several times. Where fewer are left, the last is there again and does not count.

The max-margin objective of semantic similarity embedding, with its slopes by the weights and the references.

| here    | shape  | meaning                                                                                    |
|---------|--------|--------------------------------------------------------------------------------------------|
| X, y    | (n, d) | rows, non-negative; their classes                                                          |
| Z       | (c, c) | z_y, the code of each seen signature over the seen signatures                              |
| V       | (c, d) | references v_r, one per seen class                                                         |
| w       | (d,)   | weights                                                                                    |
| sign    | +1, -1 | intersection, or rectified linear unit                                                     |
| f       | (n, c) | f_r(x) = <w, psi_r(x)>, less <w, x> for the rectified linear unit: it is in no difference  |
| Delta   | (c, c) | 1 - z_y'z_c, the margin between two classes                                                |

    J(w, V) = mean_{i, c != y_i} h(Delta_{y_i c} - F(x_i, y_i) + F(x_i, c))
              + align mean_{y, r != y} h(Delta_yr - mean_{i in y} [f_y(x_i) - f_r(x_i)])
              + ridge/2 |w|^2 + shrink/2 |V|^2,          F(x, c) = sum_r z_cr f_r(x)

J is minimised by turns: the weights to a stated gap, then some steps of the references.

With the references fixed, J is convex and its ridge makes it strongly so: J(w) - min J <= |dJ/dw|^2 / (2 ridge). That
bound says when the weights are done, and is reported. With the weights fixed J is neither convex nor smooth by the
references, but its corners lie where a row coincides with a reference: quasi-Newton steps go down, along what is its
gradient almost everywhere. Neither half is ever accepted where J would rise. Steps are taken in units of w in which the
ridge is 1, and of the length of V, so that the units of rows do not matter.

Of many rows a part, evenly of each class, leads the weights in place of all: J of the part, with a linear term by which
its slope is that of all rows at the start. All rows then say whether J fell and what other weights may still gain.
Where the part leads no further down, all rows go on. References go by all rows: a part soon fits itself alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize, sparse

from zslplat.methods.compiled import compiled

# Sums may be taken in any order, so that they are vectorised; numbers are finite (they are checked before).
_LOOSE = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@compiled(fastmath=_LOOSE)
def intersections(X: np.ndarray, V: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return P (n, k), P_ir = sum_j w_j min(x_ij, v_rj), in the precision of X, which V and w share."""
    n, d = X.shape
    k, last = len(V), n - 1
    P = np.empty((n, k), dtype=X.dtype)
    zero = w[0] - w[0]  # in the precision of w: a literal would make the sums float64, and half as fast
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
        x0, x1, x2, x3 = X[i], X[i1], X[i2], X[i3]
        for r in range(0, k, 2):
            second = min(r + 1, k - 1)
            u, v = V[r], V[second]
            u0, u1, u2, u3, v0, v1, v2, v3 = zero, zero, zero, zero, zero, zero, zero, zero
            for j in range(d):
                u0 += w[j] * min(x0[j], u[j])
                u1 += w[j] * min(x1[j], u[j])
                u2 += w[j] * min(x2[j], u[j])
                u3 += w[j] * min(x3[j], u[j])
                v0 += w[j] * min(x0[j], v[j])
                v1 += w[j] * min(x1[j], v[j])
                v2 += w[j] * min(x2[j], v[j])
                v3 += w[j] * min(x3[j], v[j])
            P[i, r], P[i1, r], P[i2, r], P[i3, r] = u0, u1, u2, u3
            P[i, second], P[i1, second], P[i2, second], P[i3, second] = v0, v1, v2, v3
    return P


@compiled()
def _padded(A: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return A (n, k) with zeros after it, so that both numbers are multiples of these."""
    n, k = A.shape
    padded = np.zeros((n + -n % rows, k + -k % columns), dtype=A.dtype)
    padded[:n, :k] = A
    return padded


@compiled(fastmath=_LOOSE)
def slope_by_weights(X: np.ndarray, V: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the gradient (d,) of sum_ir A_ir P_ir by w: sum_ir A_ir min(x_ij, v_rj)."""
    n, d = X.shape
    k, last = len(V), n - 1
    slope = np.zeros(d, dtype=X.dtype)
    A = _padded(A, 4, 2)
    for i in range(0, n, 4):
        x0, x1, x2, x3 = X[i], X[min(i + 1, last)], X[min(i + 2, last)], X[min(i + 3, last)]
        for r in range(0, k, 2):
            u, v = V[r], V[min(r + 1, k - 1)]
            u0, u1, u2, u3 = A[i, r], A[i + 1, r], A[i + 2, r], A[i + 3, r]
            v0, v1, v2, v3 = A[i, r + 1], A[i + 1, r + 1], A[i + 2, r + 1], A[i + 3, r + 1]
            if not (u0 or u1 or u2 or u3 or v0 or v1 or v2 or v3):
                continue
            for j in range(d):
                first = u0 * min(x0[j], u[j]) + u1 * min(x1[j], u[j]) + u2 * min(x2[j], u[j]) + u3 * min(x3[j], u[j])
                other = v0 * min(x0[j], v[j]) + v1 * min(x1[j], v[j]) + v2 * min(x2[j], v[j]) + v3 * min(x3[j], v[j])
                slope[j] += first + other
    return slope


@compiled(fastmath=_LOOSE)
def slope_by_references(X: np.ndarray, V: np.ndarray, w: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return a subgradient (k, d) of sum_ir A_ir P_ir by V: w_j sum_i A_ir [v_rj < x_ij]."""
    n, d = X.shape
    k, last = len(V), n - 1
    slope = np.zeros((k, d), dtype=X.dtype)
    zero = w[0] - w[0]  # in the precision of w
    A = _padded(A, 8, 1)
    for i in range(0, n, 8):
        x0, x1, x2, x3 = X[i], X[min(i + 1, last)], X[min(i + 2, last)], X[min(i + 3, last)]
        x4, x5, x6, x7 = X[min(i + 4, last)], X[min(i + 5, last)], X[min(i + 6, last)], X[min(i + 7, last)]
        for r in range(k):
            a0, a1, a2, a3 = A[i, r], A[i + 1, r], A[i + 2, r], A[i + 3, r]
            a4, a5, a6, a7 = A[i + 4, r], A[i + 5, r], A[i + 6, r], A[i + 7, r]
            if not (a0 or a1 or a2 or a3 or a4 or a5 or a6 or a7):
                continue
            v, g = V[r], slope[r]
            for j in range(d):
                first = (a0 if v[j] < x0[j] else zero) + (a1 if v[j] < x1[j] else zero)
                first += (a2 if v[j] < x2[j] else zero) + (a3 if v[j] < x3[j] else zero)
                other = (a4 if v[j] < x4[j] else zero) + (a5 if v[j] < x5[j] else zero)
                other += (a6 if v[j] < x6[j] else zero) + (a7 if v[j] < x7[j] else zero)
                g[j] += first + other
    for r in range(k):
        for j in range(d):
            slope[r, j] *= w[j]
    return slope


# The hinge is rounded over this share of a margin of 1; it is below the hinge by half of it at most.
ROUNDED = 0.1
SHARP = 1e-12
# About so many rows lead the weights in place of all, where there are at least four times as many.
PART_ROWS = 1024


@dataclass(frozen=True)
class Objective:
    """J for given rows, codes and penalties, the latter absolute; symbols as in the module's table."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    sign: int
    align: float
    ridge: float
    shrink: float
    corner: float = ROUNDED

    @cached_property
    def part(self) -> Objective:
        """J over every k-th row of each class, k = n // PART_ROWS; J itself where k is below 4."""
        stride = len(self.X) // PART_ROWS
        if stride < 4:
            return self
        order = np.argsort(self.y, kind="stable")
        sizes = np.bincount(self.y)
        place_in_class = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = np.sort(order[place_in_class % stride == 0])
        return replace(self, X=self.X[rows], y=self.y[rows])

    def by_weights(self, w: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and its gradient (d,) by w, in float64."""
        loss, A = self._loss(w, V)
        slope = slope_by_weights(self.X, self._cast(V), self._cast(A)).astype(np.float64)
        return loss + self._penalties(w, V), slope + self.ridge * w

    def by_references(self, V: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and a subgradient (c, d) by V, in float64; where no row lies on a reference it is the gradient."""
        loss, A = self._loss(w, V)
        slope = slope_by_references(self.X, self._cast(V), self._cast(w), self._cast(A)).astype(np.float64)
        return loss + self._penalties(w, V), slope + self.shrink * V

    def value(self, w: np.ndarray, V: np.ndarray) -> float:
        """Return J."""
        return self._loss(w, V)[0] + self._penalties(w, V)

    def _penalties(self, w: np.ndarray, V: np.ndarray) -> float:
        return self.ridge * float(w @ w) / 2 + self.shrink * float(np.vdot(V, V)) / 2

    def _cast(self, A: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(A, dtype=self.X.dtype)

    @cached_property
    def _margins(self) -> np.ndarray:
        """Delta (c, c)."""
        return np.asarray(1 - self.Z @ self.Z.T)

    @cached_property
    def _shares(self) -> sparse.csr_array:
        """(c, n): 1 / the size of the class where a row is of it, so that a product with it gives class means."""
        n = len(self.y)
        return sparse.csr_array((1 / np.bincount(self.y)[self.y], (self.y, np.arange(n))), shape=(len(self.Z), n))

    def _loss(self, w: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        """Return both mean losses together, and their gradient (n, c) by the intersections P."""
        f = self.sign * intersections(self.X, self._cast(V), self._cast(w)).astype(np.float64)
        loss, G = _mean_hinge(f @ self.Z.T, self._margins, self.y, self.corner)
        A = G @ self.Z
        if self.align > 0:
            of_means, G = _mean_hinge(self._shares @ f, self._margins, np.arange(len(self.Z)), self.corner)
            loss += self.align * of_means
            A += self.align * (self._shares.T @ G)
        return loss, self.sign * A


@compiled()
def _mean_hinge(F: np.ndarray, margins: np.ndarray, labels: np.ndarray, corner: float) -> tuple[float, np.ndarray]:
    """Return the mean of h(margin - F_own + F) over scores F (n, c) but the entries ``labels`` (n,), and its gradient.

    The hinge is rounded over ``corner``.
    """
    n, c = F.shape
    G = np.empty_like(F)
    count = n * max(1, c - 1)
    total = 0.0
    for i in range(n):
        y = labels[i]
        slopes = 0.0
        for r in range(c):
            t = margins[y, r] - F[i, y] + F[i, r] if r != y else 0.0
            g = min(max(t / corner, 0.0), 1.0)
            total += g * (t - corner * g / 2)
            G[i, r] = g / count
            slopes += G[i, r]
        G[i, y] = -slopes
    return total / count, G


_WEIGHT_STEPS = 500

Differentiable = Callable[[np.ndarray], tuple[float, np.ndarray]]


def fit_weights(objective: Objective, w: np.ndarray, V: np.ndarray, gap: float) -> tuple[np.ndarray, float, float]:
    """Return weights (d,), J and a bound of J - min J over the weights, from ``w`` on until the bound is ``gap`` J.

    Less precise only where the precision of the rows leads no further down, or after 500 steps over all rows. A part
    of the rows leads as long as each of its rounds halves the bound.
    """

    unit = 1 / np.sqrt(objective.ridge)

    def in_units(objective: Objective) -> Differentiable:
        def function(q: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = objective.by_weights(q * unit, V)
            return value, slope * unit

        return function

    def bound(slope: np.ndarray) -> float:
        return float(slope @ slope) / 2

    whole, part, q = in_units(objective), in_units(objective.part), w / unit
    value, slope = whole(q)
    falls = objective.part is not objective
    while falls and bound(slope) > gap * value:
        # The bound of all rows will be larger than that of the part.
        lower = _descend_by_part(part, q, slope, gap * value / 4)
        lower_value, lower_slope = whole(lower)
        falls = lower_value < value and bound(lower_slope) < bound(slope) / 2
        if lower_value < value:
            q, value, slope = lower, lower_value, lower_slope
    q, value, slope = descend(whole, (q, value, slope), _WEIGHT_STEPS, lambda value, slope: bound(slope) <= gap * value)
    return q * unit, value, bound(slope)


def _descend_by_part(part: Differentiable, start: np.ndarray, slope: np.ndarray, most: float) -> np.ndarray:
    """Return where the part's J is ``most`` above its least, with a linear term that makes its slope ``slope``."""
    part_value, part_slope = part(start)
    missing = slope - part_slope

    def corrected(q: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = part(q)
        return value + float(missing @ q), slope + missing

    lowest = (start, part_value + float(missing @ start), slope)
    return descend(corrected, lowest, _WEIGHT_STEPS, lambda _, slope: float(slope @ slope) / 2 <= most)[0]


def fit_references(objective: Objective, w: np.ndarray, V: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Return references (c, d) after at most so many quasi-Newton steps from V, and J there."""

    unit = float(np.linalg.norm(V)) or 1.0

    def in_units(q: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = objective.by_references(q.reshape(V.shape) * unit, w)
        return value, slope.ravel() * unit

    start = V.ravel() / unit
    references, value, _ = descend(in_units, (start, *in_units(start)), steps, lambda value, slope: False)
    return references.reshape(V.shape) * unit, value


Point = tuple[np.ndarray, float, np.ndarray]


def descend(function: Differentiable, start: Point, steps: int, done: Callable[[float, np.ndarray], bool]) -> Point:
    """Return the lowest point of L-BFGS with the value and the slope there, from such a point on.

    ``done`` looks at the last two.
    """
    lowest = start
    if done(*start[1:]):
        return start

    def followed(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest
        # L-BFGS begins by asking for the start again.
        value, slope = start[1:] if np.array_equal(q, start[0]) else function(q)
        if value < lowest[1]:
            lowest = (q.copy(), value, slope)
        return value, slope

    def stop(intermediate_result: optimize.OptimizeResult) -> None:
        if done(*lowest[1:]):
            raise StopIteration

    options = {"maxiter": steps, "maxfun": 2 * steps + 10, "ftol": 0.0, "gtol": 0.0}
    optimize.minimize(followed, start[0], jac=True, method="L-BFGS-B", callback=stop, options=options)
    return lowest
