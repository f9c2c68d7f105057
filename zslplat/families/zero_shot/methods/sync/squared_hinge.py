"""The squared hinge of each class against the others, by truncated Newton steps for all classes at once.

| here  | shape  | meaning                                                    |
|-------|--------|------------------------------------------------------------|
| X     | (n, d) | rows                                                       |
| T     | (n, c) | 1 in the column of a row's class, -1 elsewhere             |
| W     | (c, d) | a classifier per class, without offset                     |
| F     | (n, c) | X W'                                                       |
| R     | (n, c) | max(0, 1 - T o F), the violations of the margin            |
| lam   | scalar | ridge                                                      |

    minimise  1 / (n c) sum R^2 + lam / 2 |W|^2

is strongly convex and falls apart into c problems. With the dual variables 2 R / (n c) the duality gap of a class is
|gradient|^2 / (2 lam), exactly, which is what a fit stops by. A Newton step solves, with D the rows of a class that
violate its margin,

    (2 / (n c) X'DX + lam I) step = -gradient

by conjugate gradients, whose products for all classes are two matrix products with X. They are preconditioned with
share 2 / (n c) X'X + lam I, ``share`` being the part of the rows in D, for which X'X is decomposed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCK = 8192  # rows whose products run in the precision of X before they are added up in float64
CG_STEPS = 60
CG_TOLERANCE = 0.05
HALVINGS = 30


@dataclass(frozen=True)
class Fitted:
    """Classifiers W (c, d), the primal value and the duality gap there, and the products with X that were made."""

    W: np.ndarray
    value: float
    gap: float
    steps: int
    products: int


def solve(
    X: np.ndarray, y: np.ndarray, classes: int, lam: float, basis: tuple[np.ndarray, np.ndarray], gap: float, steps: int
) -> Fitted:
    """Return the minimiser for rows X (n, d) with labels y (n,), in float64.

    ``basis``: Q (d, r) and values (r,) with X'X = Q diag(values) Q'. A class is done when its duality gap is below
    ``gap`` times its value, where rounding is all that a step changes, and after ``steps`` Newton steps at the latest.
    """
    T = -np.ones((len(y), classes), dtype=X.dtype)
    T[np.arange(len(y)), y] = 1
    weight = 1 / (len(y) * classes)
    W = np.zeros((classes, X.shape[1]))
    values, gaps = np.full(classes, np.inf), np.zeros(classes)
    active, step, products = np.arange(classes), 0, 0
    rounding = float(np.finfo(X.dtype).eps)
    while True:
        w, t = W[active], T[:, active]
        F = product(X, w)
        R = np.maximum(0, 1 - t * F)
        g = lam * w - 2 * weight * transposed_product(X, t * R)
        before = values[active]
        values[active] = weight * np.einsum("ij,ij->j", R, R, dtype=np.float64) + lam / 2 * (w**2).sum(axis=1)
        gaps[active] = (g**2).sum(axis=1) / (2 * lam)
        products += 2
        # A step that gains no more than rounding takes away is the last one.
        left = (gaps[active] > gap * values[active]) & (before - values[active] > rounding * values[active])
        if step == steps or not left.any():
            break
        active, w, g, t, F, R = active[left], w[left], g[left], t[:, left], F[:, left], R[:, left]
        direction, used = _newton_direction(X, R > 0, g, lam, 2 * weight, basis)
        change = product(X, direction)
        length = _line_search(t, F, change, w, g, direction, values[active], lam, weight)
        W[active] += length[:, None] * direction
        step, products = step + 1, products + used + 1
    return Fitted(W, float(values.sum()), float(gaps.sum()), step, products)


def product(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return X W' (n, c) in the precision of X."""
    return np.asarray(X @ W.T.astype(X.dtype))


def transposed_product(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return A'X (c, d) in float64, added up over blocks of rows whose products are in the precision of X."""
    total = np.zeros((A.shape[1], X.shape[1]))
    for start in range(0, len(X), BLOCK):
        total += A[start : start + BLOCK].T.astype(X.dtype) @ X[start : start + BLOCK]
    return total


def _newton_direction(
    X: np.ndarray, violated: np.ndarray, g: np.ndarray, lam: float, weight: float, basis: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, int]:
    """Return -H^-1 g (c, d) by preconditioned conjugate gradients of every class, and the products with X."""
    Q, values = basis
    scaled = violated.mean(axis=0)[:, None] * weight * values + lam

    def preconditioned(residual: np.ndarray, classes: np.ndarray) -> np.ndarray:
        inner = residual @ Q
        solution = (inner / scaled[classes]) @ Q.T
        return np.asarray(solution if Q.shape[0] == Q.shape[1] else solution + (residual - inner @ Q.T) / lam)

    going = np.arange(len(g))
    s, r = np.zeros_like(g), -g
    p = preconditioned(r, going)
    left = (r * p).sum(axis=1)
    enough = CG_TOLERANCE**2 * left
    for step in range(CG_STEPS):  # noqa: B007
        going = going[left[going] > enough[going]]
        if not len(going):
            break
        directions = p[going]
        Hp = lam * directions + weight * transposed_product(X, violated[:, going] * product(X, directions))
        length = left[going] / (directions * Hp).sum(axis=1)
        s[going] += length[:, None] * directions
        r[going] -= length[:, None] * Hp
        z = preconditioned(r[going], going)
        before, left[going] = left[going], (r[going] * z).sum(axis=1)
        p[going] = z + (left[going] / before)[:, None] * directions
    return s, 2 * step


def _line_search(
    T: np.ndarray,
    F: np.ndarray,
    change: np.ndarray,
    W: np.ndarray,
    g: np.ndarray,
    direction: np.ndarray,
    values: np.ndarray,
    lam: float,
    weight: float,
) -> np.ndarray:
    """Return for every class the first of 1, 1/2, 1/4, ... that lowers its value enough (Armijo), 0 where none does."""
    slopes = (g * direction).sum(axis=1)
    length = np.ones(len(W))
    for _ in range(HALVINGS):
        R = np.maximum(0, 1 - T * (F + (length * change).astype(F.dtype)))
        reached = weight * np.einsum("ij,ij->j", R, R, dtype=np.float64)
        reached += lam / 2 * ((W + length[:, None] * direction) ** 2).sum(axis=1)
        short = reached > values + 1e-4 * length * slopes
        if not short.any():
            return length
        length[short] /= 2
    return np.where(short, 0.0, length)
