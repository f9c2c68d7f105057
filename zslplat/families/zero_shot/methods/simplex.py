"""Points of the simplex: projections onto it, and signatures as mixtures of other signatures.

The code of a signature s over a basis B (k, a), of seen signatures say, is

    z(s) = argmin  gamma/2 |z|^2 + 1/2 |s - B'z|^2    over z >= 0, sum z = 1,

a strictly convex problem with the Hessian H = B B' + gamma I (k, k) and the linear term B s, both small. Because z sums
to 1, a vector may be subtracted from s and from all of B: their mean is, which shrinks the largest eigenvalue. All
signatures are coded at once by accelerated projected gradient steps 1 / L, L the largest eigenvalue of H, where each
row restarts its own momentum when it goes uphill (O'Donoghue and Candes, 2015). What stops a row is the Frank-Wolfe gap

    z'g - min_r g_r >= f(z) - f(z*),    g = H z - B s,

an upper bound of what is left to gain. Once the classes that take part are found, their shares follow from a linear
system, which is tried now and then: it ends the work at once, and at the precision of the numbers.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from zslplat.errors import DataError, MethodError

# Steps between two attempts at the linear system of the support, and steps at most.
_ATTEMPT = 25
_STEPS = 20_000


def project_on_simplex(V: np.ndarray) -> np.ndarray:
    """Return the nearest point of the simplex {z >= 0, sum z = 1} for each row of V (m, k), in float64.

    By sorting (Held, Wolfe and Crowder, 1974): z = max(v - theta, 0), with theta from the largest values of a row.
    """
    V = np.asarray(V, dtype=np.float64)
    # Differences of values of one row are all that matters: large common parts would cost digits.
    V = V - V.max(axis=1, keepdims=True)
    falling = -np.sort(-V, axis=1)
    surplus = np.cumsum(falling, axis=1) - 1
    count = np.arange(1, V.shape[1] + 1)
    taking_part = np.count_nonzero(falling * count > surplus, axis=1)
    theta = surplus[np.arange(len(V)), taking_part - 1] / taking_part
    return np.asarray(np.maximum(V - theta[:, None], 0))


def simplex_codes(S: np.ndarray, basis: np.ndarray, gamma: float, *, tolerance: float = 1e-10) -> np.ndarray:
    """Return the codes (c, k) of signatures S (c, a) over ``basis`` (k, a), in float64; rows sum to 1.

    ``gamma`` is in units of the mean eigenvalue of basis basis'. Each row is within ``tolerance`` of its optimum, in
    units of that mean eigenvalue, of the ridge, or of the row's largest product with the centred basis, whichever is
    largest. Raises :class:`DataError` for shapes that do not fit, NaN or infinity, and :class:`MethodError` where the
    tolerance is not reached.
    """
    S, basis = np.asarray(S, dtype=np.float64), np.asarray(basis, dtype=np.float64)
    if S.ndim != 2 or basis.ndim != 2 or S.shape[1] != basis.shape[1] or not len(basis):
        raise DataError(f"expected signatures (c, a) and a basis (k, a), k > 0; got {S.shape} and {basis.shape}")
    if not (np.isfinite(S).all() and np.isfinite(basis).all()):
        raise DataError("signatures or basis hold NaN or infinity")
    scale = float(np.einsum("ij,ij->", basis, basis)) / len(basis) or 1.0
    centre = basis.mean(axis=0)
    basis, S = basis - centre, S - centre
    H, linear = basis @ basis.T / scale, S @ basis.T / scale
    H[np.diag_indices_from(H)] += gamma
    allowed = tolerance * np.maximum(np.abs(linear).max(axis=1), max(1.0, gamma))
    codes, gaps = _minimised(H, linear, allowed)
    if (gaps > allowed).any():
        worst = int(np.argmax(gaps / allowed))
        raise MethodError(
            f"the code of signature {worst} is {gaps[worst]:.3g} from its optimum after {_STEPS} steps; "
            f"{allowed[worst]:.3g} was wanted: take a larger gamma or tolerance"
        )
    return codes


def frank_wolfe_gaps(Z: np.ndarray, H: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Return z'g - min_r g_r, g = H z - linear, for each row of Z (c, k); H (k, k), ``linear`` (c, k)."""
    g = Z @ H - linear
    return np.asarray(np.einsum("ij,ij->i", Z, g) - g.min(axis=1))


def _minimised(H: np.ndarray, linear: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes (c, k) that minimise z'Hz/2 - linear'z on the simplex, and their Frank-Wolfe gaps (c,)."""
    step = 1 / float(linalg.eigvalsh(H, subset_by_index=[len(H) - 1, len(H) - 1], check_finite=False)[0] or 1.0)
    solution = project_on_simplex(linear * step)
    gaps = frank_wolfe_gaps(solution, H, linear)
    rows = np.arange(len(linear))  # those that are not there yet
    Z, ahead, momentum = solution.copy(), solution.copy(), np.ones(len(linear))
    for done in range(_STEPS):
        if done % _ATTEMPT == 0:
            polished = _shares_of_support(H, linear[rows], Z)
            for tried in (Z, polished):
                gap = frank_wolfe_gaps(tried, H, linear[rows])
                better = gap < gaps[rows]
                solution[rows[better]], gaps[rows[better]] = tried[better], gap[better]
            left = gaps[rows] > allowed[rows]
            rows, Z, ahead, momentum = rows[left], Z[left], ahead[left], momentum[left]
            if not len(rows):
                break
        moved = project_on_simplex(ahead - step * (ahead @ H - linear[rows]))
        uphill = np.einsum("ij,ij->i", ahead - moved, moved - Z) > 0
        faster = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        weight = np.where(uphill, 0.0, (momentum - 1) / faster)
        ahead, Z, momentum = moved + weight[:, None] * (moved - Z), moved, faster
    return solution, gaps


def _shares_of_support(H: np.ndarray, linear: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return, by row, the minimiser over the entries of Z that are not 0 with their sum 1; Z where one is negative."""
    polished = Z.copy()
    for row, z in enumerate(Z):
        support = np.flatnonzero(z > 0)
        right = np.column_stack([linear[row, support], np.ones(len(support))])
        try:
            factor = linalg.cho_factor(H[np.ix_(support, support)], check_finite=False)
        except linalg.LinAlgError:  # not positive definite: gamma = 0 and signatures that depend on each other
            continue
        free, towards = linalg.cho_solve(factor, right, check_finite=False).T
        shares = free + towards * ((1 - free.sum()) / towards.sum())
        if (shares >= 0).all():
            polished[row, support] = shares
    return polished
