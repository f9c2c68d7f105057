"""Coding schemes behind one face: what turns kernel values into codes, and the objective that the codes minimise.

| paper   | here  | shape  | meaning                                       |
|---------|-------|--------|-----------------------------------------------|
| K(D, D) | K     | (N, N) | Gram matrix of the atoms                      |
| k(x, D) | k     | (n, N) | kernel between queries and atoms              |
| k(x, x) | kappa | (n,)   | kernel of each query with itself              |
| y       | codes | (n, N) | one code per row                              |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (2): reconstruction plus a prior under
constraints. A supervised form adds a quadratic in y to the reconstruction: y'Ty - 2 t'y, which ``extra`` carries as
(T, t), T (N, N) and t (n, N).

Kernel bag of words: each query goes to its nearest atom, or to all of them with weights that fall with distance.

| paper   | here      | shape  | meaning                                                  |
|---------|-----------|--------|----------------------------------------------------------|
| y       | codes     | (n, N) | one code per row, non-negative, summing to 1             |
| sigma   | sigma     |        | how fast the weight falls with the squared distance      |
|         | distances | (n, N) | |phi(x) - phi(d_j)|^2                                    |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (4) to (6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import softmax

from zslplat.errors import UsageError
from zslplat.families.coding.methods.local_codes import (
    EPSILON,
    codes_on,
    full_codes,
    local_ridges,
    neighbourhoods,
    squared_distances,
)
from zslplat.families.coding.methods.sparse_codes import reconstruction, sparse_codes


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
    start: np.ndarray | None
    excluded: np.ndarray | None
    extra: Extra | None

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

    def encode_each(
        self,
        K: np.ndarray,
        k: np.ndarray,
        kappa: np.ndarray,
        term: OwnTerm,
        *,
        start: np.ndarray,
        excluded: np.ndarray | None = None,
    ) -> np.ndarray:
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

    def encode_each(
        self,
        K: np.ndarray,
        k: np.ndarray,
        kappa: np.ndarray,
        term: OwnTerm,
        *,
        start: np.ndarray,
        excluded: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the exact codes, each solved on a set of atoms that grows by those that violate optimality."""
        codes = np.zeros(k.shape)
        for i in range(len(k)):
            skip = -1 if excluded is None else int(excluded[i])
            codes[i] = self._growing(K, k[i], term, i, start[i], skip)
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

    def encode_each(
        self,
        K: np.ndarray,
        k: np.ndarray,
        kappa: np.ndarray,
        term: OwnTerm,
        *,
        start: np.ndarray,
        excluded: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the codes on the nearest atoms by the plain kernel, each query with its own quadratic on them."""
        nearest = neighbourhoods(K, k, kappa, self.neighbours, excluded)
        ridges = local_ridges(K, k, kappa, nearest, self.epsilon)
        everything = np.arange(nearest.shape[1])[None, :]
        codes = np.zeros(k.shape)
        for i, B in enumerate(nearest):
            T, t = term.block(i, B)
            codes[i, B] = codes_on(K[np.ix_(B, B)] + T, (k[i, B] + t)[None, :], everything, ridges[i : i + 1])[0]
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
