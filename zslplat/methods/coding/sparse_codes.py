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
from zslplat.methods.coding import active_set

# Optimality is driven to this part of max(gamma / 2, |k|): a hundredth of what is promised.
TOLERANCE = 1e-12
# Violators added per pass while the active set is small; a quarter of the active set later on. Measured: flat from 4
# to 16.
ADDITIONS = 8


def sparse_codes(
    K: np.ndarray,
    k: np.ndarray,
    gamma: float,
    *,
    start: np.ndarray | None = None,
    own: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Return the codes (n, N) in float64, exact: see :func:`optimality_gap`.

    ``K`` (N, N) symmetric positive semi-definite, also singular; ``k`` (n, N); ``gamma`` > 0; ``start`` (n, N)
    earlier codes to start from (their non-zeros; the result is the same where the minimum is unique); ``own`` (n,)
    an atom that each query must do without, -1 for none. ``threads`` share out the queries; each query is solved by
    itself, so the result does not depend on their number.

    Raises :class:`UsageError` for gamma <= 0, :class:`DataError` for shapes that do not fit or values that are not
    finite, :class:`MethodError` when K is found not to be positive semi-definite.
    """
    if not gamma > 0:
        raise UsageError(f"sparse coding: gamma={gamma} is out of range; expected > 0")
    K, k = _checked(K, k)
    codes = np.zeros(k.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    if codes.shape != k.shape:
        raise DataError(f"sparse coding: start has shape {codes.shape}, expected {k.shape}")
    statuses = np.zeros(len(k), dtype=np.int64)
    passes = np.zeros(len(k), dtype=np.int64)
    skips = np.full(len(k), -1, dtype=np.int64) if own is None else np.require(own, np.int64, ["C", "W"])
    limit = 100 + 20 * len(K)

    def solve(part: slice) -> None:
        active_set.solve_rows(
            K,
            k[part],
            gamma / 2,
            TOLERANCE,
            ADDITIONS,
            limit,
            skips[part],
            codes[part],
            statuses[part],
            passes[part],
        )

    if threads <= 1 or len(k) < 2 * threads:
        solve(slice(0, len(k)))
    else:
        # Several chunks per thread even out queries of different cost.
        step = max(1, len(k) // (8 * threads))
        parts = [slice(i, min(i + step, len(k))) for i in range(0, len(k), step)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, parts))
    if (statuses == active_set.NOT_POSITIVE).any():
        raise MethodError(
            "sparse coding: the Gram matrix of the atoms is not positive semi-definite; use a positive semi-definite "
            "kernel, or clip the negative eigenvalues"
        )
    if (statuses == active_set.STEP_LIMIT).any():
        slow = statuses == active_set.STEP_LIMIT
        gap = float(optimality_gap(K, k[slow], codes[slow], gamma).max())
        if gap > 1e-10:
            raise MethodError(
                f"sparse coding: {int(slow.sum())} of {len(k)} queries stopped at an optimality gap of {gap:.1e}; "
                "raise gamma, or drop atoms that are nearly equal"
            )
    return codes


def optimality_gap(K: np.ndarray, k: np.ndarray, codes: np.ndarray, gamma: float) -> np.ndarray:
    """Return the largest violation (n,) of the optimality conditions of the half-form.

    With q = k - K y: | |q_j| - gamma/2 | where it is positive, for zeros; |q_j - gamma/2 sign y_j| elsewhere.
    """
    q = k - codes @ K
    gap = np.where(codes != 0, np.abs(q - gamma / 2 * np.sign(codes)), np.maximum(np.abs(q) - gamma / 2, 0))
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
