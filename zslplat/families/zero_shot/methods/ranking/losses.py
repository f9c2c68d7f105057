"""The ranking losses of ALE, DeViSE and SJE for the rows of a mini-batch, with their slopes by the compatibilities.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. Every function takes compatibilities F (b, c) and labels y
(b,) and returns the loss of each row (b,) and G = dL/dF (b, c); a row without violator has neither. Losses that draw
take the generator ``random`` last.

The loss of LatEm: K maps of which the best counts, against one wrong class a row.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. F(x, c) = max_k x W_k s_c'. For a wrong class c drawn
uniformly, with k* the best map for c and k+ the best for the right class y: where margin + F(x, c) > F(x, y), the step
is

    W_k* -= eta x' s_c,    W_k+ += eta x' s_y,

which for k* = k+ is one step by x'(s_c - s_y): read in the authors' ``latEm_train.m``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

# Losses (b,) and slopes (b, c) of compatibilities F (b, c) with labels y (b,); what is drawn comes from the generator.
Loss = Callable[[np.ndarray, np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]


# Which rows of a batch move a map (their places, or all of them), and R = dL/dP (m, a) of these rows.
Move = tuple[np.ndarray | slice, np.ndarray]


class RowLoss(Protocol):
    """The loss of the rows of a batch by what the maps make of them."""

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and the move of each map, for P = X_b W_k (K, b, a), labels y, signatures S (c, a)."""


class Bilinear:
    """The loss of rows through F = P S', for one map."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and R = G S (m, a) of the rows that have any."""
        losses, G = self.loss(P[0] @ S.T, y, random)
        rows = np.flatnonzero(losses)
        if 4 * len(rows) < 3 * len(y):
            return losses, [(rows, G[rows] @ S)]
        # A copy of so many rows of X would cost more than what the others take.
        return losses, [(slice(None), G @ S)]


def excess(F: np.ndarray, y: np.ndarray, margin: float) -> np.ndarray:
    """Return l = margin + F(x, c) - F(x, y) (b, c), at most 0 for the right class."""
    rows = np.arange(len(y))
    margins = F + (F.dtype.type(margin) - F[rows, y])[:, None]
    margins[rows, y] = 0
    return np.asarray(margins)


def harmonic(classes: int) -> np.ndarray:
    """Return beta_r = 1 + 1/2 + ... + 1/r for r = 0..``classes`` - 1 (c,)."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, classes))])


def summed_hinge(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """DeViSE: the sum of l over the violators."""
    over = excess(F, y, margin)
    np.maximum(over, 0, out=over)
    G = (over > 0).astype(F.dtype)
    G[np.arange(len(y)), y] = -G.sum(axis=1)
    return over.sum(axis=1), G


def weighted_approximate_rank(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """ALE: beta_r / r times the sum of l over the r violators; r is taken as a constant where a slope is taken."""
    losses, G = summed_hinge(F, y, margin)
    rank = -G[np.arange(len(y)), y].astype(np.int64)
    weight = (harmonic(F.shape[1])[rank] / np.maximum(rank, 1)).astype(F.dtype)
    return losses * weight, G * weight[:, None]


def largest_violation(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """SJE: the largest l, where it is above 0."""
    over = excess(F, y, margin)
    return _of_one_class(over, y, np.argmax(over, axis=1), np.ones(len(y)))


def first_violation(
    F: np.ndarray, y: np.ndarray, margin: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """DeViSE as its authors trained it: l of the first violator in an order of the classes drawn for each row."""
    over = excess(F, y, margin)
    place = random.random(over.shape)  # the order is that of these numbers
    place[over <= 0] = 2
    return _of_one_class(over, y, np.argmin(place, axis=1), np.ones(len(y)))


def sampled_rank(
    F: np.ndarray, y: np.ndarray, margin: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """ALE's sampled step: wrong classes are drawn, with replacement and c - 1 at most, until one violates, at draw N.

    Its l is weighted by beta of floor((c - 1) / N), an estimate of the number of violators.
    """
    over = excess(F, y, margin)
    b, c = over.shape
    if c == 1:  # nothing to draw from
        return over[:, 0], np.zeros_like(over)
    drawn = random.integers(0, c - 1, size=(b, c - 1))
    drawn += drawn >= y[:, None]  # numbers the wrong classes 0..c-2
    first = np.argmax(np.take_along_axis(over, drawn, axis=1) > 0, axis=1)
    return _of_one_class(over, y, drawn[np.arange(b), first], harmonic(c)[(c - 1) // (first + 1)])


def _of_one_class(
    over: np.ndarray, y: np.ndarray, chosen: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``weight`` (b,) times l of the class ``chosen`` (b,) of each row where that is a violator, and slopes."""
    rows = np.arange(len(y))
    worst = over[rows, chosen]
    weight = np.where(worst > 0, weight, 0).astype(over.dtype)
    G = np.zeros_like(over)
    G[rows, chosen] = weight
    G[rows, y] -= weight
    return worst * weight, G


class Latent:
    """The loss of the rows of a batch through K maps, one wrong class drawn for each."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and the move of each map, for P = X_b W_k (K, b, a); a row moves two at most."""
        if len(S) == 1:  # of one class nothing can be wrong
            return np.zeros(len(y), dtype=P.dtype), [(slice(0), S[:0])] * len(P)
        rows = np.arange(len(y))
        wrong = random.integers(0, len(S) - 1, size=len(y))
        wrong += wrong >= y
        s_c, s_y = S[wrong], S[y]
        F_c, F_y = np.einsum("kba,ba->kb", P, s_c), np.einsum("kba,ba->kb", P, s_y)
        k_c, k_y = np.argmax(F_c, axis=0), np.argmax(F_y, axis=0)
        losses = np.maximum(F_c[k_c, rows] - F_y[k_y, rows] + P.dtype.type(self.margin), 0)
        violated = losses > 0
        moves: list[Move] = []
        for k in range(len(P)):
            lowered, raised = violated & (k_c == k), violated & (k_y == k)
            moved = np.flatnonzero(lowered | raised)
            moves.append((moved, s_c[moved] * lowered[moved, None] - s_y[moved] * raised[moved, None]))
        return losses, moves


def latent_scores(X: np.ndarray, S: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return F (n, c), the largest of x W_k s_c' over the maps W (K, d, a), for rows X (n, d) and S (c, a)."""
    best = X @ W[0] @ S.T
    for W_k in W[1:]:
        np.maximum(best, X @ W_k @ S.T, out=best)
    return np.asarray(best)
