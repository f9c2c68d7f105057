"""Classifiers on codes: residual, nearest code, linear and bilinear.

From codes to class scores: reconstruction residual, nearest neighbour on codes.

| paper   | here    | shape  | meaning                                              |
|---------|---------|--------|------------------------------------------------------|
| y_(s)   |         |        | the code with all atoms but those of class s at zero |
| eps_s   | -scores | (n, c) | residual of a query for class s, without k(x, x)     |
| gamma_j | classes | (N,)   | class of atom j, or (N, c) labels: 1, 0, -1          |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (27), after Wright et al., "Robust face
recognition via sparse representation". Scores are higher for likelier classes. Where samples have several labels, each
label is told from the rest: the residual (or distance) for the atoms (or samples) that have it not, minus that for
those that have it; those whose entry is not counted (-1) have no part.

Classifiers on codes, and what they add to the coding problem: linear (23) and bilinear (24).

| paper | here    | shape  | meaning                                                              |
|-------|---------|--------|----------------------------------------------------------------------|
| l_i   | L       | (M, c) | 0/1 class indicators, one row per training sample                    |
|       | known   | (M, c) | mask of the indicators that count; None where all do                 |
| Y     | Y       | (M, N) | training codes, one per row (the paper's are columns)                |
| W     | W       | (c, N) | linear classifier, l = W y                                           |
| A_j   | C       | (M, c) | A_j = diag(c_j) Y: one column of C per class                         |
| K     | K_X     | (M, M) | Gram matrix of the training samples                                  |
| eta   | eta     |        | weight of the classification loss against reconstruction            |
| rho   | rho     |        | ridge                                                                |
| S     | c       |        | number of classes                                                    |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (23) to (26). The bilinear problem over
matrices A_j (M, N) has its minimum at A_j = diag(c_j) Y, and is kernel ridge regression with the product kernel
K_X o (Y Y'): one M x M factorisation for all classes. Where some indicators do not count (several labels per row, of
which some are marked so), their squares are left out of the sums; classes for which the same rows count share a
factorisation.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from zslplat.errors import UsageError
from zslplat.families.coding.methods.base import alike
from zslplat.families.coding.methods.indefinite import ridge_solution
from zslplat.families.coding.methods.schemes import Extra
from zslplat.methods.compiled import compiled

NEAREST_ELEMENTS = 1 << 24


def residual_scores(K: np.ndarray, k: np.ndarray, codes: np.ndarray, classes: np.ndarray, c: int) -> np.ndarray:
    """Return 2 y_s'k - y_s'K y_s (n, c), minus the residual (27); a class without an atom scores 0.

    ``classes`` (N, c) instead of (N,): labels, each against the rest. Raises :class:`UsageError` where atoms have no
    class of their own (``classes`` (N,) of -1).
    """
    if classes.ndim == 2:
        return _label_residuals(K, k, codes, classes)
    if (classes < 0).any():
        raise UsageError("rule=residual needs atoms that are samples; take rule=nearest for learned dictionaries")
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(c + 1))
    K, k, codes = (np.require(array, np.float64, ["C", "W"]) for array in (K, k, codes))
    scores = np.zeros((len(codes), c))
    _residuals(K, k, codes, order, starts, scores)
    return scores


@compiled(fastmath={"reassoc", "contract", "nsz"}, nogil=True)
def _residuals(
    K: np.ndarray, k: np.ndarray, codes: np.ndarray, order: np.ndarray, starts: np.ndarray, scores: np.ndarray
) -> None:
    """Only the atoms that a code uses have a part: most codes are zero nearly everywhere."""
    used = np.empty(len(order), dtype=np.int64)
    for i in range(len(codes)):
        y = codes[i]
        for s in range(len(starts) - 1):
            count = 0
            for j in order[starts[s] : starts[s + 1]]:
                if y[j] != 0.0:
                    used[count] = j
                    count += 1
            total = 0.0
            for p in range(count):
                row = K[used[p]]
                image = 0.0
                for r in range(count):
                    image += row[used[r]] * y[used[r]]
                total += y[used[p]] * (2 * k[i, used[p]] - image)
            scores[i, s] = total


def _label_residuals(K: np.ndarray, k: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the residual without the atoms of a label minus that with them alone (n, c)."""
    scores = np.zeros((len(codes), labels.shape[1]))
    for i, y in enumerate(codes):
        used = np.flatnonzero(y)
        images = K[np.ix_(used, used)] * np.outer(y[used], y[used])
        towards = 2 * k[i, used] * y[used]
        for value, sign in ((1, 1.0), (0, -1.0)):
            part = (labels[used] == value).astype(np.float64)
            scores[i] += sign * (towards @ part - np.einsum("ij,ij->j", part, images @ part))
    return scores


def nearest_scores(codes: np.ndarray, train_codes: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    """Return minus the Euclidean distance (n, c) to the nearest training code of each class.

    With labels y (M, c): the distance to the nearest code without a label minus that to the nearest with it.
    """
    if y.ndim == 2:
        return _label_distances(codes, train_codes, y)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(c))
    sorted_codes = train_codes[order]
    norms = np.einsum("ij,ij->i", sorted_codes, sorted_codes)
    scores = np.empty((len(codes), c))
    step = max(1, NEAREST_ELEMENTS // len(train_codes))
    for begin in range(0, len(codes), step):
        part = codes[begin : begin + step]
        squared = np.einsum("ij,ij->i", part, part)[:, None] + norms[None, :] - 2 * part @ sorted_codes.T
        scores[begin : begin + step] = -np.sqrt(np.maximum(np.minimum.reduceat(squared, starts, axis=1), 0))
    return scores


def _label_distances(codes: np.ndarray, train_codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    norms = np.einsum("ij,ij->i", train_codes, train_codes)
    members = [(np.flatnonzero(y[:, j] == 0), np.flatnonzero(y[:, j] == 1)) for j in range(y.shape[1])]
    scores = np.empty((len(codes), y.shape[1]))
    step = max(1, NEAREST_ELEMENTS // len(train_codes))
    for begin in range(0, len(codes), step):
        part = codes[begin : begin + step]
        squared = np.einsum("ij,ij->i", part, part)[:, None] + norms[None, :] - 2 * part @ train_codes.T
        distances = np.sqrt(np.maximum(squared, 0))
        for j, (without, having) in enumerate(members):
            nearest = distances[:, without].min(axis=1) - distances[:, having].min(axis=1)
            scores[begin : begin + step, j] = nearest
    return scores


# Above this share of non-zeros a dense product is faster.
DENSE = 0.1


def fit_linear(Y: np.ndarray, L: np.ndarray, eta: float, rho: float, counted: np.ndarray | None = None) -> np.ndarray:
    """Return W = eta L'Y (eta Y'Y + M rho I)^-1 (c, N), the minimum of (23) over W."""
    if counted is not None:
        W = np.empty((L.shape[1], Y.shape[1]))
        for rows, labels in alike(counted):
            W[labels] = fit_linear(Y[rows], L[np.ix_(rows, labels)], eta, rho * len(Y) / len(rows))
        return W
    G = eta * (Y.T @ Y)
    G[np.diag_indices_from(G)] += len(Y) * rho
    return ridge_solution(G, eta * (Y.T @ L), "linear classifier").T


def linear_extra(W: np.ndarray, L: np.ndarray, eta: float) -> Extra:
    """Return the quadratic eta |l_i - W y|^2 as (T, t): eta W'W (N, N) and eta L W (M, N)."""
    return eta * (W.T @ W), eta * (L @ W)


def linear_loss(
    W: np.ndarray, Y: np.ndarray, L: np.ndarray, eta: float, rho: float, counted: np.ndarray | None = None
) -> float:
    """Return eta / M sum_i |l_i - W y_i|^2 + rho |W|_F^2, the second and third term of (23)."""
    error = _counted(L - Y @ W.T, counted)
    return float(eta / len(Y) * (error**2).sum() + rho * (W**2).sum())


class LinearTerm:
    """eta |l_i - W y|^2 over the labels that count for sample i, for every training sample by itself."""

    def __init__(self, W: np.ndarray, L: np.ndarray, counted: np.ndarray, eta: float) -> None:
        self.W, self.L, self.counted, self.eta = W, L, counted, eta

    def block(self, i: int, atoms: np.ndarray) -> Extra:
        """Return the quadratic on some atoms B (N_B,) as (T, t): eta W_B'W_B (N_B, N_B) and eta W_B'l_i (N_B,)."""
        W_B = self.W[np.ix_(self.counted[i], atoms)]
        return self.eta * (W_B.T @ W_B), self.eta * (self.L[i, self.counted[i]] @ W_B)

    def slope(self, i: int, y: np.ndarray) -> np.ndarray:
        """Return eta W'(l_i - W y) (N,), minus half the gradient at code y (N,)."""
        return np.asarray(self.eta * (((self.L[i] - self.W @ y) * self.counted[i]) @ self.W))


def code_products(codes: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return codes Y' (n, M), leaving out the zeros of ``codes`` where most of them are."""
    if np.count_nonzero(codes) > DENSE * codes.size:
        return np.asarray(codes @ Y.T)
    return np.asarray(csr_array(codes) @ np.ascontiguousarray(Y.T))


def fit_bilinear(
    K_X: np.ndarray, Y: np.ndarray, L: np.ndarray, eta: float, rho: float, counted: np.ndarray | None = None
) -> np.ndarray:
    """Return C (M, c): (K_X o YY' + M rho / (eta c) I) C = L, the minimum of (24) over the A_j."""
    G = K_X * code_products(Y, Y)
    G[np.diag_indices_from(G)] += len(Y) * rho / (eta * L.shape[1])
    if counted is None:
        return ridge_solution(G, L, "bilinear classifier")
    C = np.zeros(L.shape)
    for rows, labels in alike(counted):
        C[np.ix_(rows, labels)] = ridge_solution(G[np.ix_(rows, rows)], L[np.ix_(rows, labels)], "bilinear classifier")
    return C


def bilinear_scores(K_XT: np.ndarray, codes: np.ndarray, Y: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return l_j(x) = sum_i c_ij k(x, x_i) y_i'y (n, c), equation (26); ``K_XT`` (n, M) holds k(x, x_i)."""
    return np.asarray((K_XT * code_products(codes, Y)) @ C)


class BilinearTerm:
    """eta |l_i - Q_i y|^2 with Q_i = C' diag(k(x_i, X)) Y (c, N) for every training sample i, parts of it on demand.

    No Q_i is made as a whole, let alone Q_i'Q_i (N, N): codes use few atoms, and Y is nearly empty.
    """

    def __init__(
        self,
        K_X: np.ndarray,
        L: np.ndarray,
        Y: np.ndarray,
        C: np.ndarray,
        eta: float,
        counted: np.ndarray | None = None,
    ) -> None:
        self.K_X, self.L, self.C, self.eta, self.counted = K_X, L, C, eta, counted
        self.Y = csc_array(Y)

    def block(self, i: int, atoms: np.ndarray) -> Extra:
        """Return the quadratic on some atoms B (N_B,) as (T, t): eta Q_B'Q_B (N_B, N_B) and eta Q_B'l_i (N_B,)."""
        Q_B = _counted(
            self.Y[:, atoms].T @ (self.C * self.K_X[i][:, None]), None if self.counted is None else self.counted[i]
        )
        return self.eta * (Q_B @ Q_B.T), self.eta * (Q_B @ self.L[i])

    def slope(self, i: int, y: np.ndarray) -> np.ndarray:
        """Return eta Q_i'(l_i - Q_i y) (N,), minus half the gradient at code y (N,)."""
        error = self._counted(i, self.L[i] - (self.K_X[i] * (self.Y @ y)) @ self.C)
        return np.asarray(self.eta * (self.Y.T @ (self.K_X[i] * (self.C @ error))))

    def _counted(self, i: int, values: np.ndarray) -> np.ndarray:
        return values if self.counted is None else _counted(values, self.counted[i])


def bilinear_loss(
    K_X: np.ndarray,
    codes: np.ndarray,
    Y: np.ndarray,
    C: np.ndarray,
    L: np.ndarray,
    eta: float,
    rho: float,
    counted: np.ndarray | None = None,
) -> float:
    """Return eta / M sum_ij ([l_i]_j - l_j(x_i))^2 + rho / c sum_j |W_j|_F^2, the second and third term of (24).

    ``codes`` (M, N) are those that are classified, ``Y`` (M, N) those that the classifier was fitted with.
    """
    scores = bilinear_scores(K_X, codes, Y, C)
    error = _counted(L - scores, counted)
    norm = np.einsum("ij,ij->", C, scores if codes is Y else bilinear_scores(K_X, Y, Y, C))
    return float(eta / len(Y) * (error**2).sum() + rho / L.shape[1] * norm)


def _counted(values: np.ndarray, counted: np.ndarray | None) -> np.ndarray:
    """Return the values with 0 where they do not count."""
    return values if counted is None else np.where(counted, values, 0.0)
