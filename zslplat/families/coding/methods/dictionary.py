"""Dictionaries in the Hilbert space: atoms as weighted sums of training samples, chosen or learned without labels.

| paper      | here    | shape  | meaning                                                           |
|------------|---------|--------|-------------------------------------------------------------------|
| K(X, X)    | K_X     | (M, M) | Gram matrix of the training samples                               |
| A, a_r     | A       | (M, N) | phi(d_r) = sum_i a_ri phi(x_i), one atom per column               |
| Y          | Y       | (M, N) | codes, one per row (the paper's are columns)                      |
|            | G       | (N, N) | Y'Y                                                               |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (19) to (22). With the codes fixed the
reconstruction tr(K_X (I - Y A')'(I - Y A')) is smallest at A = Y (Y'Y)^-1, the pseudo-inverse of the paper's Y; (22)
prints its transpose. Sparse codes need atoms of bounded norm: a longer atom would earn a smaller code for nothing.

Learning the parameter of a kernel from the codes: reconstruction error over spread of the atoms.

| paper | here      | shape  | meaning                                                                            |
|-------|-----------|--------|------------------------------------------------------------------------------------|
| beta  | beta      |        | Gaussian: exp(-beta |x - x'|^2), beta = 1 / (2 sigma^2); polynomial: (1 + beta x'x)^p |
|       | family    |        | beta -> K(X, X) and its derivative by beta, (M, M) each                            |
|       | distances | (M, M) | squared distances between training samples                                         |
|       | inner     | (M, M) | inner products between training samples                                            |
|       | B, C      | (M, M) | L = sum(B * K), J = sum(C * K)                                                     |
|       | prior     |        | mean of gamma r(y), added to L where it is asked for                               |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (16): minimise L / J over beta with a
gradient and a trust region. Two things to know. The prior does not depend on beta but the ratio does on it: leaving it
out, as the paper does, gives another optimum. And where codes sum to 1 (bag of words, LLC), L and J both vanish in
proportion to beta: the ratio has a finite limit at 0, which is its minimum, so that the kernel silently becomes the
linear one. For such codes the search therefore stays inside a narrow box around 1 / median squared distance (Gaussian)
or 1 / mean squared length (polynomial), for others inside a wide one; it says when it ends at the box's edge.

The polynomial kernel (x'x + c)^p here is (1 + beta x'x)^p with beta = 1 / c, but for the factor c^p, which L / J does
not see. Unlike the Gaussian one it has no fixed k(x, x): where weights and prices are relative to the mean of k(x, x),
the family is divided by it, its derivative along with it, so that a prior means the same for every beta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from zslplat.errors import UsageError
from zslplat.families.coding.methods.schemes import soft_codes, soft_codes_slope

# Atoms whose codes carry less than this part of the mean energy count as unused.
UNUSED = 1e-10


def selection(rows: np.ndarray, M: int) -> np.ndarray:
    """Return A (M, N) of atoms that are the samples ``rows``."""
    A = np.zeros((M, len(rows)))
    A[rows, np.arange(len(rows))] = 1.0
    return A


def choose_rows(kind: str, K_X: np.ndarray, y: np.ndarray, count: int | None, seed: int) -> np.ndarray:
    """Return the ascending rows of the samples that become atoms.

    ``kind``: ``samples`` takes all (or ``count`` at random), ``class-samples`` the same number per class at random,
    ``k-means`` the samples nearest to the centres of kernel k-means, ``class-k-means`` the same within every class.
    Classes share the atoms evenly; what is left over goes to the classes that spread most. Only the first two use the
    seed. Raises :class:`UsageError` for more atoms than there are samples.
    """
    M = len(y)
    if count is None or count == M:
        return np.arange(M)
    if count > M:
        raise UsageError(f"atoms={count}, but there are {M} training samples; ask for at most {M}")
    rng = np.random.default_rng([seed, 11])
    if kind == "samples":
        return np.sort(rng.choice(M, count, replace=False))
    if kind == "k-means":
        return np.sort(_medoids(K_X, count))
    members = [np.flatnonzero(y == s) for s in np.unique(y)]
    grams = [K_X[np.ix_(rows, rows)] for rows in members]
    spreads = np.array([float(np.diagonal(K).mean() - K.mean()) for K in grams])
    chosen = []
    for rows, K, share in zip(members, grams, _shares([len(rows) for rows in members], spreads, count), strict=True):
        chosen.append(rng.choice(rows, share, replace=False) if kind == "class-samples" else rows[_medoids(K, share)])
    return np.sort(np.concatenate(chosen))


def is_drawn(kind: str, count: int | None) -> bool:
    """Tell whether :func:`choose_rows` uses the seed."""
    return count is not None and kind in ("samples", "class-samples")


def _shares(sizes: list[int], spreads: np.ndarray, count: int) -> np.ndarray:
    shares = np.zeros(len(sizes), dtype=np.int64)
    order = np.argsort(-spreads, kind="stable")
    left = count
    while left:
        room = order[(shares < sizes)[order]][:left]
        shares[room] += 1
        left -= len(room)
    return shares


def _medoids(K: np.ndarray, count: int, rounds: int = 20) -> np.ndarray:
    """Return the rows nearest to the centres of kernel k-means; all different, nothing drawn.

    The start is greedy: each centre is the sample that lowers the sum of squared distances to the nearest centre most.
    """
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    diagonal = np.diagonal(K)
    distances = np.maximum(diagonal[:, None] + diagonal[None, :] - 2 * K, 0)
    # Both samples of a pair are as near to their mean: the one nearer to everything wins, not the one that comes first.
    central = 1e-6 * distances.mean(axis=1)
    centres = np.empty(count, dtype=np.int64)
    nearest = np.full(len(K), np.inf)
    for i in range(count):
        total = np.minimum(distances, nearest[None, :]).sum(axis=1) + central
        total[centres[:i]] = np.inf
        centres[i] = int(np.argmin(total))
        nearest = np.minimum(nearest, distances[centres[i]])
    for _ in range(rounds):
        labels = distances[:, centres].argmin(axis=1)
        labels[centres] = np.arange(count)
        member = np.zeros((len(K), count))
        member[np.arange(len(K)), labels] = 1.0 / np.bincount(labels, minlength=count)[labels]
        # |phi(x) - mean|^2 = k(x, x) - 2 mean_i k(x, x_i) + const; only members of the cluster compete.
        distance = central + diagonal - 2 * np.take_along_axis(K @ member, labels[:, None], axis=1)[:, 0]
        order = np.lexsort((distance, labels))
        moved = order[np.searchsorted(labels[order], np.arange(count))]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def atom_norms(A: np.ndarray, K_X: np.ndarray) -> np.ndarray:
    """Return |phi(d_r)| (N,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->j", A, K_X @ A), 0)))


def least_squares_atoms(Y: np.ndarray, ridge: float = 1e-10) -> np.ndarray:
    """Return A = Y (Y'Y + ridge m I)^-1 (M, N), m the mean diagonal of Y'Y; equation (22), transposed as it must be."""
    G = Y.T @ Y
    G[np.diag_indices_from(G)] += ridge * max(float(np.trace(G)) / len(G), np.finfo(np.float64).tiny)
    return np.asarray(cho_solve(cho_factor(G, lower=True), Y.T).T)


def bounded_atoms(A: np.ndarray, Y: np.ndarray, K_X: np.ndarray, radius: float, sweeps: int = 2) -> np.ndarray:
    """Return A after block coordinate descent on the reconstruction under |phi(d_r)| <= radius; never worse.

    One atom at a time: a_j <- a_j + (Y_j - (A G)_j) / G_jj, scaled back into the ball. The exact form of the
    constrained dictionary step.
    """
    A = A.copy(order="F")
    G = Y.T @ Y
    energy = np.diagonal(G)
    # From the most used on, so that the result does not hang on the order of the atoms.
    used = np.argsort(-energy, kind="stable")
    used = used[energy[used] > UNUSED * max(float(energy.mean()), np.finfo(np.float64).tiny)]
    for _ in range(sweeps):
        for j in used:
            a = A[:, j] + (Y[:, j] - A @ G[:, j]) / energy[j]
            norm = np.sqrt(max(float(a @ (K_X @ a)), 0.0))
            A[:, j] = a if norm <= radius else a * (radius / norm)
    return np.ascontiguousarray(A)


def unused_atoms(Y: np.ndarray) -> np.ndarray:
    """Return the atoms that no code uses."""
    energy = np.einsum("ij,ij->j", Y, Y)
    return np.flatnonzero(energy <= UNUSED * energy.mean())


def replace_unused(A: np.ndarray, Y: np.ndarray, K_X: np.ndarray, radius: float) -> tuple[np.ndarray, int]:
    """Put the worst reconstructed samples, scaled to the radius, in the place of unused atoms; returns (A, number).

    An unused atom has no part in any reconstruction, so that the objective stays as it is.
    """
    unused = unused_atoms(Y)
    if len(unused):
        A = A.copy()
        worst = np.argsort(-reconstruction_errors(A, Y, K_X), kind="stable")[: len(unused)]
        for j, row in zip(unused, worst, strict=False):
            A[:, j] = 0.0
            A[row, j] = radius / np.sqrt(max(K_X[row, row], np.finfo(np.float64).tiny))
    return A, len(unused)


def reconstruction_errors(A: np.ndarray, Y: np.ndarray, K_X: np.ndarray) -> np.ndarray:
    """Return |phi(x_i) - Phi(D) y_i|^2 (M,) of every training sample, the terms of (21)."""
    B = -Y @ A.T
    B[np.diag_indices_from(B)] += 1.0
    return np.asarray(np.maximum(np.einsum("ij,ij->i", B @ K_X, B), 0))


def soft_assignment_step(A: np.ndarray, Y: np.ndarray, K_X: np.ndarray, sigma: float, step: float) -> np.ndarray:
    """Return A after one preconditioned gradient step for soft assignments, whose codes change with the atoms.

    With e_i = 2 (K_D y_i - k_i) the gradient in K_X A, before the factor K_X that preconditioning removes, is
    2 (A G - Y) + 2 sigma sum_i w_ij (phi(x_i) - phi(d_j)), w_ij = y_ij (e_ij - y_i'e_i).
    """
    k = K_X @ A
    E = 2 * (Y @ (A.T @ k) - k)
    W = Y * (E - np.einsum("ij,ij->i", Y, E)[:, None])
    gradient = 2 * (A @ (Y.T @ Y) - Y) + 2 * sigma * (W - A * W.sum(axis=0)[None, :])
    scale = 2 * np.maximum(np.einsum("ij,ij->j", Y, Y), UNUSED)
    return np.asarray(A - step * gradient / scale[None, :])


# Beta times the median squared distance (mean squared length) stays in here. Below 0.05 the kernel is linear to two
# digits, above 20 nearly diagonal (homogeneous); codes that do not sum to 1 hold the criterion up at 0 by themselves.
NARROW, WIDE = (0.05, 20.0), (1e-5, 1e3)
Family = Callable[[float], tuple[np.ndarray, np.ndarray]]


def gaussian_family(distances: np.ndarray) -> Family:
    """Return beta -> exp(-beta |x - x'|^2) and its derivative."""

    def grams(beta: float) -> tuple[np.ndarray, np.ndarray]:
        K = np.exp(-beta * distances)
        return K, -distances * K

    return grams


def polynomial_family(inner: np.ndarray, degree: int, *, relative: bool) -> Family:
    """Return beta -> (x'x + 1 / beta)^p and its derivative; ``relative``: divided by the mean of k(x, x)."""

    def grams(beta: float) -> tuple[np.ndarray, np.ndarray]:
        base = inner + 1 / beta
        lower = base ** (degree - 1)
        K, slope = base * lower, (-degree / beta**2) * lower
        if not relative:
            return K, slope
        unit, unit_slope = float(np.diagonal(K).mean()), float(np.diagonal(slope).mean())
        return K / unit, slope / unit - K * (unit_slope / unit**2)

    return grams


@dataclass(frozen=True)
class Bandwidth:
    """A learned bandwidth: ``beta``, the criterion there, and whether the box held it (``clamped``)."""

    beta: float
    criterion: float
    clamped: bool


def ratio_and_slope(
    beta: float, family: Family, B: np.ndarray, C: np.ndarray, prior: float = 0.0
) -> tuple[float, float]:
    """Return f = (L + prior) / J and df/dbeta for codes and atoms that stay as they are."""
    K, slope = family(beta)
    L, J = float(np.vdot(B, K)) + prior, float(np.vdot(C, K))
    dL, dJ = float(np.vdot(B, slope)), float(np.vdot(C, slope))
    return L / J, (dL * J - L * dJ) / J**2


def soft_ratio_and_slope(
    beta: float,
    family: Family,
    projected: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    sigma: float,
    C: np.ndarray,
) -> tuple[float, float]:
    """Return f and df/dbeta for soft assignment, whose codes are functions of beta, too.

    ``projected`` takes K(X, X) (M, M) to k(X, D) (M, N) and K(D, D) (N, N), linearly: it serves the slopes as well.
    """
    K, slope = family(beta)
    (k, K_D), (dk, dK_D) = projected(K), projected(slope)
    # What is the same for all atoms of a query, its k(x, x), has no part in the code.
    y = soft_codes(1 - 2 * k + np.diagonal(K_D)[None, :], sigma)
    dy = soft_codes_slope(y, np.diagonal(dK_D)[None, :] - 2 * dk, sigma)
    M = len(K)
    L = float(np.diagonal(K).mean()) + float((y * (y @ K_D - 2 * k)).sum()) / M
    dL = float(np.diagonal(slope).mean())
    dL += float((y * (y @ dK_D - 2 * dk)).sum() + 2 * (dy * (y @ K_D - k)).sum()) / M
    J, dJ = float(np.vdot(C, K)), float(np.vdot(C, slope))
    return L / J, (dL * J - L * dJ) / J**2


def learn_bandwidth(
    beta: float,
    median: float,
    criterion: Callable[[float], tuple[float, float]],
    *,
    box: tuple[float, float] = NARROW,
    limit: int = 50,
) -> Bandwidth:
    """Minimise ``criterion`` (value and slope by beta) over log beta, from ``beta``, inside ``box`` / ``median``.

    ``median``: median squared distance, mean squared length for polynomials. A trust region in one dimension: the
    curvature comes from the last two slopes, a step that does not lower the criterion is refused and the radius shrunk,
    so the criterion never rises.
    """
    low, high = np.log(box[0] / median), np.log(box[1] / median)
    t = float(np.clip(np.log(beta), low, high))
    value, slope = _in_log(criterion, t)
    radius, curvature = 0.5, 0.0
    for _ in range(limit):
        move = -slope / curvature if curvature > 0 else -np.sign(slope) * radius
        new = float(np.clip(t + np.clip(move, -radius, radius), low, high))
        if abs(new - t) < 1e-9:
            break
        new_value, new_slope = _in_log(criterion, new)
        secant = (new_slope - slope) / (new - t)
        if new_value <= value:
            radius = min(2 * radius, 2.0) if abs(new - t) > 0.99 * radius else radius
            t, value, slope = new, new_value, new_slope
        else:
            radius = 0.25 * abs(new - t)
        curvature = secant
    clamped = t <= low + 1e-6 or t >= high - 1e-6
    return Bandwidth(float(np.exp(t)), value, clamped)


def _in_log(criterion: Callable[[float], tuple[float, float]], t: float) -> tuple[float, float]:
    beta = float(np.exp(t))
    value, slope = criterion(beta)
    return value, slope * beta
