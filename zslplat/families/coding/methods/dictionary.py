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
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from zslplat.errors import UsageError

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
