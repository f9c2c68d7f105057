"""Sparse codes from kernel values: min_y k(x,x) - 2 y'k + y'K y + gamma |y|_1 for many queries at once.

| paper   | here    | shape  | meaning                                               |
|---------|---------|--------|-------------------------------------------------------|
| K(D, D) | K       | (N, N) | Gram matrix of the atoms                              |
| k(x, D) | k       | (n, N) | kernel between queries and atoms, one query per row   |
| y       | codes   | (n, N) | one code per row                                      |
| gamma   | gamma   |        | weight of the l1 norm                                 |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", problem (8). The paper goes through a
square root of K, whose printed form does not give K back; the solver needs no root. Other packages use the half-form,
whose weight is gamma / 2.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from zslplat.errors import DataError, MethodError, UsageError
from zslplat.families.coding.methods import active_set
from zslplat.families.coding.methods.indefinite import positive_shift

# Optimality is driven to this part of max(gamma / 2, |k|): a hundredth of what is promised.
TOLERANCE = 1e-12
GAP = 100 * TOLERANCE
# For queries whose active atoms depend on each other; most take one or two.
PROXIMAL_STEPS = 30
# Violators added per pass while the active set is small; a quarter of the active set later on. Measured: flat from 4
# to 16.
ADDITIONS = 8


def sparse_codes(
    K: np.ndarray,
    k: np.ndarray,
    gamma: float,
    *,
    start: np.ndarray | None = None,
    excluded: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Return the codes (n, N) in float64, exact: see :func:`optimality_gap`.

    ``K`` (N, N) symmetric positive semi-definite, also singular; ``k`` (n, N); ``gamma`` > 0; ``start`` (n, N)
    earlier codes to start from (their non-zeros; the result is the same where the minimum is unique); ``excluded`` (n,)
    an atom that each query must do without, -1 for none. ``threads`` share out the queries; each query is solved by
    itself, so the result does not depend on their number.

    Raises :class:`UsageError` for gamma <= 0, :class:`DataError` for shapes that do not fit or values that are not
    finite, :class:`MethodError` when K is found not to be positive semi-definite beyond rounding.
    """
    if not gamma > 0:
        raise UsageError(f"sparse coding: gamma={gamma} is out of range; expected > 0")
    dtype = np.result_type(K, np.float32)
    K, k = _checked(K, k)
    codes = np.zeros(k.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    if codes.shape != k.shape:
        raise DataError(f"sparse coding: start has shape {codes.shape}, expected {k.shape}")
    statuses = np.zeros(len(k), dtype=np.int64)
    passes = np.zeros(len(k), dtype=np.int64)
    skips = np.full(len(k), -1, dtype=np.int64) if excluded is None else np.require(excluded, np.int64, ["C", "W"])
    limit = _pass_limit(K)

    def solve(part: slice) -> None:
        active_set.solve_rows(
            K, k[part], gamma / 2, TOLERANCE, ADDITIONS, limit, skips[part], codes[part], statuses[part], passes[part]
        )

    if threads <= 1 or len(k) < 2 * threads:
        solve(slice(0, len(k)))
    else:
        # Several chunks per thread even out queries of different cost.
        step = max(1, len(k) // (8 * threads))
        parts = [slice(i, min(i + step, len(k))) for i in range(0, len(k), step)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, parts))
    lost = np.flatnonzero(statuses != active_set.SOLVED)
    if len(lost):
        lost = lost[(statuses[lost] == active_set.NOT_POSITIVE) | _too_far(K, k[lost], codes[lost], gamma, skips[lost])]
    if len(lost):
        shift = positive_shift(K, "sparse coding", dtype)
        for i in lost:
            codes[i] = _proximal_code(K, shift, k[i : i + 1], gamma, skips[i : i + 1])
    return codes


def _proximal_code(K: np.ndarray, shift: float, k: np.ndarray, gamma: float, skip: np.ndarray) -> np.ndarray:
    """Return the code (1, N) of a query on whose way the factor of the active atoms was lost to rounding.

    Each step minimises the objective plus shift |y - y'|^2, y' being the code of the step before: K + shift I is
    positive definite beyond rounding, and the optimality gap in K itself is shift |y - y'|, which the steps drive to 0.
    """
    code, status, passes = np.zeros(k.shape), np.zeros(1, np.int64), np.zeros(1, np.int64)
    allowed = max(gamma / 2, float(np.abs(k).max()))
    for _ in range(PROXIMAL_STEPS):
        towards, shifted = k + shift * code, K + shift * np.eye(len(K))
        active_set.solve_rows(
            shifted, towards, gamma / 2, TOLERANCE, ADDITIONS, _pass_limit(K), skip, code, status, passes
        )
        gap = float(optimality_gap(K, k, code, gamma, skip)[0])
        if gap <= 10 * TOLERANCE * allowed:
            return code
        if status[0] == active_set.NOT_POSITIVE:
            shift *= 10
    if gap <= GAP * allowed:
        return code
    raise MethodError(
        f"sparse coding: a query stopped at an optimality gap of {gap:.1e}; raise gamma, or drop atoms that are nearly "
        "equal"
    )


def _pass_limit(K: np.ndarray) -> int:
    return 100 + 20 * len(K)


def _too_far(K: np.ndarray, k: np.ndarray, codes: np.ndarray, gamma: float, skips: np.ndarray) -> np.ndarray:
    """Tell which codes (n,) have an optimality gap beyond what is promised."""
    return np.asarray(optimality_gap(K, k, codes, gamma, skips) > GAP * np.maximum(gamma / 2, np.abs(k).max(axis=1)))


def optimality_gap(
    K: np.ndarray, k: np.ndarray, codes: np.ndarray, gamma: float, excluded: np.ndarray | None = None
) -> np.ndarray:
    """Return the largest violation (n,) of the optimality conditions of the half-form.

    With q = k - K y: | |q_j| - gamma/2 | where it is positive, for zeros; |q_j - gamma/2 sign y_j| elsewhere.
    ``excluded`` (n,): an atom that each query does without, -1 for none.
    """
    q = k - codes @ K
    gap = np.where(codes != 0, np.abs(q - gamma / 2 * np.sign(codes)), np.maximum(np.abs(q) - gamma / 2, 0))
    if excluded is not None:
        gap[excluded >= 0, excluded[excluded >= 0]] = 0.0
    return np.asarray(gap.max(axis=1, initial=0.0))


def reconstruction(K: np.ndarray, k: np.ndarray, kappa: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return |phi(x) - sum_j y_j phi(d_j)|^2 (n,), equation (3)."""
    return np.asarray(kappa - 2 * np.einsum("ij,ij->i", codes, k) + np.einsum("ij,ij->i", codes @ K, codes))


def vanishing_gamma(k: np.ndarray) -> float:
    """Return the smallest gamma at which every code is zero: 2 max |k|."""
    return float(2 * np.abs(k).max(initial=0.0))


def _checked(K: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Writeable, too: a read-only array is another type to the compiler, which would compile everything again.
    K = np.require(K, np.float64, ["C", "W"])
    k = np.require(k, np.float64, ["C", "W"])
    if K.ndim != 2 or K.shape[0] != K.shape[1] or k.ndim != 2 or k.shape[1] != K.shape[0]:
        raise DataError(f"coding: expected K (N, N) and k (n, N), got {K.shape} and {k.shape}")
    if not (np.isfinite(K).all() and np.isfinite(k).all()):
        raise DataError("coding: the kernel gave NaN or infinity")
    return K, k
