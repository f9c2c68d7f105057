"""Coding schemes behind one face: what turns kernel values into codes, and the objective that the codes minimise.

Locality-constrained codes
--------------------------
Approximate (on the nearest atoms) and full (on all of them).

| paper   | here     | shape     | meaning                                                             |
|---------|----------|-----------|---------------------------------------------------------------------|
| K(D, D) | K        | (N, N)    | Gram matrix of the atoms                                            |
| k(x, D) | k        | (n, N)    | kernel between queries and atoms, one query per row                 |
| k(x, x) | kappa    | (n,)      | kernel of each query with itself                                    |
| B, N_B  | nearest  | (n, N_B)  | the N_B atoms nearest to each query in the Hilbert space            |
| y       | codes    | (n, N)    | one code per row, summing to 1                                      |
| E       | weights  | (n, N)    | exp(sigma |phi(x) - phi(d_j)|), the growing price of far atoms      |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (9) to (13). The constrained minimum of
|phi(x) - phi(B) y|^2, 1'y = 1, is

    y = z1 + (1 - 1'z1) / (1'z2) z2,    (K_B + epsilon I) z1 = k_B,    (K_B + epsilon I) z2 = 1

which needs one factorisation with two right sides. The printed system (K - 1' (x) k) y = 1 leads to the same code but
is singular where the query is an atom, which every training sample is in a dictionary of all of them; and its solution
must be divided by its sum, not by its l1 norm. (10) prints exp(-sigma ...) where (9) and the idea of a price for
distance have a plus.

The objective
-------------
| paper   | here  | shape  | meaning                                       |
|---------|-------|--------|-----------------------------------------------|
| K(D, D) | K     | (N, N) | Gram matrix of the atoms                      |
| k(x, D) | k     | (n, N) | kernel between queries and atoms              |
| k(x, x) | kappa | (n,)   | kernel of each query with itself              |
| y       | codes | (n, N) | one code per row                              |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (2): reconstruction plus a prior under
constraints. A supervised form adds a quadratic in y to the reconstruction: y'Ty - 2 t'y, which ``extra`` carries as
(T, t), T (N, N) and t (n, N).

Kernel bag of words
-------------------
Each query goes to its nearest atom, or to all of them with weights that fall with distance.

| paper   | here      | shape  | meaning                                                  |
|---------|-----------|--------|----------------------------------------------------------|
| y       | codes     | (n, N) | one code per row, non-negative, summing to 1             |
| sigma   | sigma     |        | how fast the weight falls with the squared distance      |
|         | distances | (n, N) | |phi(x) - phi(d_j)|^2                                    |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (4) to (6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dposv
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from zslplat.errors import MethodError, UsageError
from zslplat.families.coding.methods.indefinite import positive_shift
from zslplat.families.coding.methods.sparse_codes import reconstruction, sparse_codes
from zslplat.methods.compiled import compiled

# Local problems up to this width are solved in one compiled loop, wider ones by LAPACK (they break even near 80).
COMPILED_WIDTH = 64
# Part of the mean squared distance to the local atoms. Without it the codes break down where there are about as many
# neighbours as features: the reconstruction is then just exact, by weights of any size.
EPSILON = 0.03
# Part of k(d, d): above the rounding of a factorisation, below anything that codes show.
SMALLEST_RIDGE = 1e-10


def squared_distances(K: np.ndarray, k: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    """Return |phi(x) - phi(d_j)|^2 = k(x,x) - 2 k(x,d_j) + k(d_j,d_j) (n, N), clipped at 0."""
    distances = -2.0 * k
    distances += kappa[:, None]
    distances += np.diagonal(K)[None, :]
    return np.maximum(distances, 0, out=distances)


def nearest_atoms(distances: np.ndarray, count: int) -> np.ndarray:
    """Return the indices (n, count) of the smallest distances of each row, nearest first; ties by index."""
    n_atoms = distances.shape[1]
    if count >= n_atoms:
        return np.asarray(np.argsort(distances, axis=1, kind="stable"))
    # The threshold keeps ties beyond the cut out by index, whatever order the partition leaves.
    edge = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    chosen = distances <= edge
    tied = np.flatnonzero(np.count_nonzero(chosen, axis=1) > count)
    if len(tied):
        below, level = distances[tied] < edge[tied], distances[tied] == edge[tied]
        missing = count - below.sum(axis=1, keepdims=True)
        chosen[tied] = below | (level & (np.cumsum(level, axis=1) <= missing))
    index = np.nonzero(chosen)[1].reshape(len(distances), count)
    order = np.argsort(np.take_along_axis(distances, index, axis=1), axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1)


def neighbourhoods(
    K: np.ndarray, k: np.ndarray, kappa: np.ndarray, neighbours: int, excluded: np.ndarray | None = None
) -> np.ndarray:
    """Return the nearest atoms of each query (n, N_B), all there are where ``neighbours`` is larger."""
    if neighbours < 1:
        raise UsageError(f"locality-constrained coding: neighbours={neighbours} is out of range; expected >= 1")
    distances = squared_distances(K, k, kappa)
    available = len(K)
    if excluded is not None and (excluded >= 0).any():
        distances[excluded >= 0, excluded[excluded >= 0]] = np.inf
        available -= 1
    return nearest_atoms(distances, max(1, min(neighbours, available)))


def local_ridges(K: np.ndarray, k: np.ndarray, kappa: np.ndarray, nearest: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the ridge (n,) of each local problem: ``epsilon`` times the mean squared distance to its atoms.

    That is the mean diagonal of the covariance form C, whose trace scales the ridge of Wang et al., too. It is the unit
    in which the weights of a code matter: k(x, x) would count how far the samples are from the origin, which codes that
    sum to 1 do not see. Where all atoms coincide with the query, a small part of k(d, d) keeps the system solvable.
    """
    distances = np.take_along_axis(k, nearest, axis=1)
    diagonal = np.diagonal(K)[nearest]
    distances = np.maximum(kappa[:, None] - 2 * distances + diagonal, 0)
    return np.asarray(np.maximum(epsilon * distances.mean(axis=1), SMALLEST_RIDGE * diagonal.mean(axis=1)))


def codes_on(K: np.ndarray, k: np.ndarray, nearest: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    """Return the float64 codes (n, N) on given atoms ``nearest`` (n, N_B), zero elsewhere, at ``ridges`` (n,).

    A ridge that is lost beside its local Gram matrix is raised. Raises :class:`MethodError` when a local Gram matrix is
    not positive semi-definite beyond rounding.
    """
    K = np.require(K, np.float64, ["C", "W"])
    k = np.require(k, np.float64, ["C", "W"])
    # In ascending order the entries of a local Gram matrix lie along the rows of K.
    nearest = np.sort(np.require(nearest, np.int64, ["C"]), axis=1)
    ridges = np.array(ridges, dtype=np.float64)
    codes = np.zeros(k.shape)
    solve = _solve_small if nearest.shape[1] <= COMPILED_WIDTH else _solve_large
    first = 0
    while (lost := solve(K, k[first:], nearest[first:], ridges[first:], codes[first:])) >= 0:
        first += lost
        shift = positive_shift(K[np.ix_(nearest[first], nearest[first])], "locality-constrained coding")
        if ridges[first] >= shift:
            raise MethodError("locality-constrained coding: a local Gram matrix cannot be factored; raise epsilon")
        ridges[first] = shift
    return codes


def _solve_large(K: np.ndarray, k: np.ndarray, nearest: np.ndarray, ridges: np.ndarray, codes: np.ndarray) -> int:
    """One LAPACK call per query: blocked, the faster way for wide local problems; returns as :func:`_solve_small`."""
    width = nearest.shape[1]
    K_B, right = np.zeros((width, width)), np.ones((width, 2), order="F")
    # Matrices this small only lose by several BLAS threads; setting the limit costs more than a single query.
    with threadpool_limits(1, user_api="blas") if len(nearest) > 1 else nullcontext():
        for i, B in enumerate(nearest):
            _gather(K, B, ridges[i], K_B)
            right[:, 0], right[:, 1] = k[i, B], 1.0
            _, z, info = dposv(K_B.T, right, lower=1, overwrite_a=1)
            if info != 0:
                return i
            codes[i, B] = z[:, 0] + (1 - z[:, 0].sum()) / z[:, 1].sum() * z[:, 1]
    return -1


@compiled(nogil=True)
def _gather(K: np.ndarray, B: np.ndarray, ridge: float, out: np.ndarray) -> None:
    """Put the upper triangle of K_B + ridge I into ``out``: indexing took several times as long as the solution."""
    for p in range(len(B)):
        row, target = K[B[p]], out[p]
        for s in range(p, len(B)):
            target[s] = row[B[s]]
        target[p] += ridge


@compiled(fastmath={"reassoc", "contract", "nsz"}, nogil=True, error_model="numpy")
def _solve_small(K: np.ndarray, k: np.ndarray, nearest: np.ndarray, ridges: np.ndarray, codes: np.ndarray) -> int:
    """All queries in one compiled loop: R'R = K_B by rows, with both right sides swept along.

    Returns the first query whose K_B is not positive definite, -1 where all are.
    """
    width = nearest.shape[1]
    R = np.empty((width, width))
    z1, z2 = np.empty(width), np.empty(width)
    for i in range(len(nearest)):
        B = nearest[i]
        for p in range(width):
            z1[p], z2[p] = k[i, B[p]], 1.0
            for s in range(p, width):
                R[p, s] = K[B[p], B[s]]
        for p in range(width):
            R[p, p] += ridges[i]
        for p in range(width):
            if R[p, p] <= 0.0:
                return i
            root = np.sqrt(R[p, p])
            for s in range(p, width):
                R[p, s] /= root
            z1[p] /= root
            z2[p] /= root
            for r in range(p + 1, width):
                c = R[p, r]
                for s in range(r, width):
                    R[r, s] -= c * R[p, s]
                z1[r] -= c * z1[p]
                z2[r] -= c * z2[p]
        first, second = 0.0, 0.0
        for p in range(width - 1, -1, -1):
            for s in range(p + 1, width):
                z1[p] -= R[p, s] * z1[s]
                z2[p] -= R[p, s] * z2[s]
            z1[p] /= R[p, p]
            z2[p] /= R[p, p]
            first += z1[p]
            second += z2[p]
        for p in range(width):
            codes[i, B[p]] = z1[p] + (1.0 - first) / second * z2[p]
    return -1


def full_codes(
    K: np.ndarray,
    k: np.ndarray,
    kappa: np.ndarray,
    gamma: float,
    sigma: float,
    *,
    excluded: np.ndarray | None = None,
    epsilon: float = 1e-6,
) -> np.ndarray:
    """Return the codes (n, N) on all atoms with the price gamma |E y|^2, (9), in float64; N^3 / 3 per query.

    ``excluded`` (n,): an atom that each query must do without, -1 for none.

    y = M^-1 k + tau M^-1 1 with M = K + gamma E^2 and tau = (1 - 1'M^-1 k) / (1'M^-1 1).
    """
    if not gamma > 0 or not sigma >= 0:
        raise UsageError(
            f"full locality-constrained coding: gamma={gamma}, sigma={sigma}; expected gamma > 0, sigma >= 0"
        )
    distances = np.sqrt(squared_distances(K, k, kappa))
    # exp(600) is far beyond what any kernel value can balance, and short of overflow.
    weights = np.exp(2 * np.minimum(sigma * distances, 300.0))
    if excluded is not None:
        rows = np.flatnonzero(excluded >= 0)
        weights[rows, excluded[rows]] = np.exp(600.0)
    codes = np.empty(k.shape)
    ridge = epsilon * float(np.diagonal(K).mean())
    ones = np.ones(len(K))
    for i in range(len(k)):
        price = gamma * weights[i] + ridge
        try:
            factor = _factor(K, price)
        except np.linalg.LinAlgError:
            factor = _factor(K, price + positive_shift(K, "full locality-constrained coding"))
        z = cho_solve(factor, np.column_stack([k[i], ones]), check_finite=False)
        codes[i] = z[:, 0] + (1 - z[:, 0].sum()) / z[:, 1].sum() * z[:, 1]
    return codes


def _factor(K: np.ndarray, price: np.ndarray) -> tuple[np.ndarray, bool]:
    M = np.array(K, dtype=np.float64, order="F")
    M[np.diag_indices_from(M)] += price
    lower: tuple[np.ndarray, bool] = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    return lower


def hard_codes(distances: np.ndarray) -> np.ndarray:
    """Return 1 at the nearest atom of each row and 0 elsewhere (n, N), equation (4); the first of equals."""
    codes = np.zeros(distances.shape)
    codes[np.arange(len(distances)), distances.argmin(axis=1)] = 1.0
    return codes


def soft_codes(distances: np.ndarray, sigma: float) -> np.ndarray:
    """Return exp(-sigma d_j) / sum_l exp(-sigma d_l) (n, N), equations (5) and (6)."""
    return np.asarray(softmax(-sigma * distances, axis=1))


def soft_codes_slope(codes: np.ndarray, distance_slopes: np.ndarray, sigma: float) -> np.ndarray:
    """Return the derivative (n, N) of the soft codes when the squared distances change at ``distance_slopes``."""
    inner = -sigma * distance_slopes
    return np.asarray(codes * (inner - np.einsum("ij,ij->i", codes, inner)[:, None]))


Extra = tuple[np.ndarray, np.ndarray]
# Atoms outside a growing set may violate optimality by this part of max(gamma / 2, |k|), as inside it.
GROWTH_TOLERANCE = 1e-10


class OwnTerm(Protocol):
    """An extra quadratic that differs from query to query (``BilinearTerm`` of supervised coding, say)."""

    def block(self, i: int, atoms: np.ndarray) -> Extra:
        """Return (T, t) of query i on some atoms (N_B,)."""

    def slope(self, i: int, y: np.ndarray) -> np.ndarray:
        """Return t - T y (N,) of query i at code y (N,)."""


@dataclass(frozen=True)
class Queries:
    """What is coded: the arguments of :meth:`Scheme.encode`."""

    K: np.ndarray
    k: np.ndarray
    kappa: np.ndarray
    start: np.ndarray | None = None
    excluded: np.ndarray | None = None
    extra: Extra | None = None

    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Return K and k with the extra quadratic in them."""
        return (self.K, self.k) if self.extra is None else (self.K + self.extra[0], self.k + self.extra[1])


class Scheme(ABC):
    """One way of coding. ``affine``: codes sum to 1; ``bounded``: atoms must have bounded norms to mean anything."""

    affine: ClassVar[bool] = False
    bounded: ClassVar[bool] = False

    def encode(
        self,
        K: np.ndarray,
        k: np.ndarray,
        kappa: np.ndarray,
        *,
        start: np.ndarray | None = None,
        excluded: np.ndarray | None = None,
        extra: Extra | None = None,
    ) -> np.ndarray:
        """Return codes (n, N) in float64.

        ``start``: earlier codes that may shorten the way; ``excluded`` (n,): an atom that each query must do without,
        -1 for none (a training sample that is an atom would code itself). Raises :class:`UsageError` for an extra
        quadratic where the scheme has no use for one.
        """
        return self._codes(Queries(K, k, kappa, start, excluded, extra))

    def encode_each(self, q: Queries, term: OwnTerm) -> np.ndarray:
        """Return the codes (n, N) where every query has an extra quadratic of its own; otherwise as :meth:`encode`."""
        raise UsageError("supervised coding works with sparse and approximate local codes only")

    @abstractmethod
    def _codes(self, q: Queries) -> np.ndarray: ...

    def prior(self, K: np.ndarray, k: np.ndarray, kappa: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return gamma r(y) (n,); 0 in the base class."""
        return np.zeros(len(codes))

    def objective(self, K: np.ndarray, k: np.ndarray, kappa: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the objective (2) of each row (n,)."""
        return np.asarray(reconstruction(K, k, kappa, codes) + self.prior(K, k, kappa, codes))


@dataclass(frozen=True)
class SparseScheme(Scheme):
    """Kernel sparse coding, prior gamma |y|_1, equation (7): the exact minimisers."""

    bounded: ClassVar[bool] = True
    gamma: float
    threads: int = 1

    def _codes(self, q: Queries) -> np.ndarray:
        K, k = q.joined()
        return sparse_codes(K, k, self.gamma, start=q.start, excluded=q.excluded, threads=self.threads)

    def encode_each(self, q: Queries, term: OwnTerm) -> np.ndarray:
        """Return the exact codes, each solved on a set of atoms that grows by those that violate optimality."""
        codes = np.zeros(q.k.shape)
        for i in range(len(q.k)):
            skip = -1 if q.excluded is None else int(q.excluded[i])
            start = np.zeros_like(codes[i]) if q.start is None else q.start[i]
            codes[i] = self._growing(q.K, q.k[i], term, i, start, skip)
        return codes

    def _growing(self, K: np.ndarray, k: np.ndarray, term: OwnTerm, i: int, start: np.ndarray, skip: int) -> np.ndarray:
        y = start.copy()
        if skip >= 0:
            y[skip] = 0.0
        allowed = self.gamma / 2 + GROWTH_TOLERANCE * max(self.gamma / 2, float(np.abs(k).max(initial=0.0)))
        atoms = np.flatnonzero(y)
        if not len(atoms):
            y = np.zeros_like(y)
        # The objective falls from set to set, so that none returns, but for rounding.
        for _ in range(100 + len(K)):
            if len(atoms):
                T, t = term.block(i, atoms)
                K_B = K[np.ix_(atoms, atoms)] + (T + T.T) / 2
                solved = sparse_codes(K_B, (k[atoms] + t)[None, :], self.gamma, start=y[atoms][None, :])[0]
                y = np.zeros_like(y)
                y[atoms] = solved
            used = np.flatnonzero(y)
            excess = np.abs(k - y[used] @ K[used] + term.slope(i, y))
            excess[atoms] = 0.0
            if skip >= 0:
                excess[skip] = 0.0
            outside = np.flatnonzero(excess > allowed)
            if not len(outside):
                break
            room = max(16, len(atoms) // 2)
            atoms = np.sort(np.concatenate([used, outside[np.argsort(-excess[outside], kind="stable")[:room]]]))
        return y

    def prior(self, K: np.ndarray, k: np.ndarray, kappa: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return gamma |y|_1."""
        return np.asarray(self.gamma * np.abs(codes).sum(axis=1))


@dataclass(frozen=True)
class LocalScheme(Scheme):
    """Approximate kernel LLC, equation (11): exact reconstruction from the nearest atoms under 1'y = 1.

    Neighbours come from the plain kernel also where there is an extra quadratic.
    """

    affine: ClassVar[bool] = True
    neighbours: int
    epsilon: float = EPSILON

    def _codes(self, q: Queries) -> np.ndarray:
        nearest = neighbourhoods(q.K, q.k, q.kappa, self.neighbours, q.excluded)
        return codes_on(*q.joined(), nearest, local_ridges(q.K, q.k, q.kappa, nearest, self.epsilon))

    def encode_each(self, q: Queries, term: OwnTerm) -> np.ndarray:
        """Return the codes on the nearest atoms by the plain kernel, each query with its own quadratic on them."""
        nearest = neighbourhoods(q.K, q.k, q.kappa, self.neighbours, q.excluded)
        ridges = local_ridges(q.K, q.k, q.kappa, nearest, self.epsilon)
        everything = np.arange(nearest.shape[1])[None, :]
        codes = np.zeros(q.k.shape)
        for i, B in enumerate(nearest):
            T, t = term.block(i, B)
            codes[i, B] = codes_on(q.K[np.ix_(B, B)] + T, (q.k[i, B] + t)[None, :], everything, ridges[i : i + 1])[0]
        return codes


@dataclass(frozen=True)
class FullLocalScheme(Scheme):
    """Full kernel LLC, equation (9): all atoms, far ones at a price gamma |E y|^2, under 1'y = 1."""

    affine: ClassVar[bool] = True
    gamma: float
    sigma: float

    def _codes(self, q: Queries) -> np.ndarray:
        if q.extra is not None:
            raise UsageError("supervised coding works with the approximate form of kllc; set variant=approximate")
        return full_codes(q.K, q.k, q.kappa, self.gamma, self.sigma, excluded=q.excluded)

    def prior(self, K: np.ndarray, k: np.ndarray, kappa: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return gamma |E y|^2."""
        price = np.exp(2 * self.sigma * np.sqrt(squared_distances(K, k, kappa)))
        return np.asarray(self.gamma * np.einsum("ij,ij->i", price, codes**2))


@dataclass(frozen=True)
class BagScheme(Scheme):
    """Kernel bag of words; ``sigma`` None assigns to the nearest atom only, equations (4) to (6)."""

    affine: ClassVar[bool] = True
    sigma: float | None

    def _codes(self, q: Queries) -> np.ndarray:
        if q.extra is not None:
            raise UsageError("kbow has no supervised form; use l-sksc, l-skllc, bi-sksc or bi-skllc")
        distances = squared_distances(q.K, q.k, q.kappa)
        if q.excluded is not None:
            distances[q.excluded >= 0, q.excluded[q.excluded >= 0]] = np.inf
        return hard_codes(distances) if self.sigma is None else soft_codes(distances, self.sigma)
