"""Nearest rows within a view and across two views, for the largest k that is asked for; in blocks of rows.

| paper    | here                   | shape     | meaning                                                             |
|----------|------------------------|-----------|---------------------------------------------------------------------|
| Psi^i    | A, B                   | (n, r)    | rows of two views in the common space, of length one                |
| omega    | similarity             | (n, n)    | exp(-d^2 / gamma), d^2 = 2 - 2 cos, gamma the mean of d^2           |
|          | Z                      | (n, n)    | omega of two views, standardised row by row, then column by column  |
| e^ij_l   | index, value           | (n, k)    | the k rows of view j with the largest Z for row l of view i         |

The paper takes the median of d^2 for gamma; the mean needs no pass over the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from zslplat.methods.neighbours import RowIndex

BLOCK = 1024
# Of many rows: candidates for each of the k that are kept, rows that means and deviations are taken over, and rows that
# recall is measured on.
CANDIDATES, SAMPLE, CHECKED = 4, 2048, 256


def mean_distance(A: np.ndarray, B: np.ndarray) -> float:
    """Return the mean of d^2 over all pairs of rows of A and B, of length one (or zero)."""
    product = float(A.mean(axis=0, dtype=np.float64) @ B.mean(axis=0, dtype=np.float64))
    return max(2 - 2 * product, 1e-12)


def similarity(cosine: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(-(2 - 2 cos) / gamma), in the precision of the cosines."""
    return np.asarray(np.exp((2 * cosine - 2) / cosine.dtype.type(gamma)))


@dataclass(frozen=True)
class Crossing:
    """What rows of view i find in view j: the k nearest by Z, and what standardises a further row."""

    index: np.ndarray
    value: np.ndarray
    gamma: float
    centre: np.ndarray
    spread: np.ndarray

    def standardised(self, cosine: np.ndarray) -> np.ndarray:
        """Return Z of further rows from their cosines (c, n) with the rows of view j."""
        similarities = _standardised_rows(similarity(cosine, self.gamma))
        return np.asarray((similarities - self.centre) / self.spread)


def crossing(A: np.ndarray, B: np.ndarray, k: int) -> Crossing:
    """Return the k nearest rows of B (n, r) for every row of A (n, r), nearest first; three passes over the pairs."""
    n = len(A)
    k = min(k, n)
    gamma = mean_distance(A, B)

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            yield rows, _standardised_rows(similarity(A[rows] @ B.T, gamma))

    total, square = np.zeros(n), np.zeros(n)
    for _, block in blocks():
        total += block.sum(axis=0, dtype=np.float64)
        square += np.einsum("ij,ij->j", block, block, dtype=np.float64)
    centre = total / n
    spread = np.sqrt(np.maximum(square / n - centre**2, 1e-12))
    index, value = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    low, high = centre.astype(np.float32), spread.astype(np.float32)
    for rows, block in blocks():
        block -= low
        block /= high
        index[rows], value[rows] = largest(block, k)
    return Crossing(index, value, gamma, low, high)


def crossing_by_index(A: np.ndarray, index_of_B: RowIndex, k: int) -> tuple[Crossing, float]:
    """Return what :func:`crossing` does, of many rows: from candidates of an index, standardised over a drawn sample.

    Of the rows of B with the largest cosines, :data:`CANDIDATES` times k, those with the largest Z are kept. Mean and
    deviation of a row are those over a sample of the rows of B, those of a column over a sample of the rows of A. Also
    returned is the recall of the k, by the same Z, over the rows of a smaller sample.
    """
    B = index_of_B.rows
    n, gamma = len(A), mean_distance(A, B)
    k = min(k, n)
    drawn = np.sort(np.random.default_rng(11).permutation(n)[:SAMPLE])
    sample = _standardised_rows(similarity(A[drawn] @ B.T, gamma))
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = np.sqrt(np.maximum(sample.var(axis=0, dtype=np.float64), 1e-12)).astype(np.float32)
    near, cosine = index_of_B.nearest(min(n, CANDIDATES * k), A)
    index, value = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    across = B[drawn].T
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        over = similarity(A[rows] @ across, gamma)
        mean, deviation = over.mean(axis=1, keepdims=True), over.std(axis=1, keepdims=True)
        Z = (similarity(cosine[rows], gamma) - mean) / np.maximum(deviation, 1e-6)
        Z = (Z - centre[near[rows]]) / spread[near[rows]]
        places, value[rows] = largest(Z, k)
        index[rows] = np.take_along_axis(near[rows], places, axis=1)
    true, _ = largest((sample[:CHECKED] - centre) / spread, k)
    hits = sum(len(np.intersect1d(one, other)) for one, other in zip(true, index[drawn[:CHECKED]], strict=True))
    return Crossing(index, value, gamma, centre, spread), hits / true.size


def largest(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (m, k) and the values (m, k) of the k largest of each row (m, n), largest first."""
    width = values.shape[1]
    k = min(k, width)
    index = np.argpartition(values, width - k, axis=1)[:, width - k :] if k < width else _places(values)
    top = np.take_along_axis(values, index, axis=1)
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1).astype(np.int32), np.take_along_axis(top, order, axis=1)


def _places(values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.arange(values.shape[1]), values.shape)


def _standardised_rows(block: np.ndarray) -> np.ndarray:
    mean = block.mean(axis=1, keepdims=True)
    block = block - mean
    spread = np.sqrt(np.mean(block * block, axis=1, keepdims=True))
    return np.asarray(block / np.maximum(spread, block.dtype.type(1e-6)))
