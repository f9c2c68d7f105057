"""Exact k-nearest-neighbour graphs by cosine, built in blocks and stored so that a smaller k is a prefix.

Symbols (Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", Eqs. 2 and 4):

| paper    | here              | shape  | meaning                                                           |
|----------|-------------------|--------|-------------------------------------------------------------------|
| N_k      | index, similarity | (m, k) | the k nearest of each of m vectors, nearest first, without itself |
| W^I, W^F | W = affinity(...) | (m, m) | cosine where either is a neighbour of the other, else 0; sparse   |
| Q^I, Q^F | degrees(W)        | (m,)   | row sums of W (the diagonal of Q)                                 |

Products are taken in the precision of X (float32 features give float32 cosines): "exact" means that every pair is
compared, not that the last digit of a cosine is right. Equal cosines are ordered by index, so the lists for k are the
first k columns of the lists for any larger k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from zslplat.data.store.rows import float_type
from zslplat.methods.base import Arrays
from zslplat.methods.compiled import compiled
from zslplat.space import Choice, Space

BLOCK = 1024


def nearest(X: np.ndarray, k: int | None, *, block: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Return index (m, k) int32 and cosine (m, k) of the k nearest rows of X (m, d).

    k is cut to m - 1 (None: all of them). The similarity matrix is symmetric, so only the blocks on and above its
    diagonal are computed and each is offered to its rows and to its columns; memory is one block beside the lists.
    Vectors of length zero have cosine 0 with everything.
    """
    X = X.astype(float_type(X.dtype), copy=False)
    scale = _inverse(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))).astype(X.dtype)

    def product(i: slice, j: slice) -> np.ndarray:
        left: np.ndarray = X[i] * scale[i, None]
        right = left if i == j else X[j] * scale[j, None]  # a block on the diagonal takes half a product
        return np.asarray(left @ right.T)

    return _nearest(len(X), k, X.dtype, product, block)


def nearest_columns(
    square: np.ndarray, k: int | None, dtype: np.dtype[Any], *, block: int = BLOCK
) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`nearest` does for the columns of X (n, d), which needs X'X (d, d) alone.

    ``dtype``: that of the cosines, float32 or float64; the products are added up in float64 where X'X is formed.
    """
    scale = _inverse(np.sqrt(square.diagonal()))

    def product(i: slice, j: slice) -> np.ndarray:
        return np.ascontiguousarray(square[i, j] * scale[i, None] * scale[j], dtype=dtype)

    return _nearest(len(square), k, dtype, product, block)


def _inverse(length: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / np.where(length > 0, length, 1.0))


def _nearest(
    m: int, k: int | None, dtype: np.dtype[Any], product: Callable[[slice, slice], np.ndarray], block: int
) -> tuple[np.ndarray, np.ndarray]:
    k = max(0, min(m if k is None else k, m - 1))
    index = np.full((m, k), -1, dtype=np.int32)
    similarity = np.full((m, k), -np.inf, dtype=dtype)
    if k:
        starts = range(0, m, block)
        for i in starts:
            for j in starts[i // block :]:
                products = product(slice(i, i + block), slice(j, j + block))
                _offer(products, i, j, index, similarity)
    return index, similarity


def affinity(index: np.ndarray, similarity: np.ndarray, k: int, dtype: type = np.float64) -> sparse.csr_array:
    """Return W (m, m): the cosine where one is among the k nearest of the other (Eqs. 2 and 4), negatives as 0.

    ``index`` and ``similarity`` are those of :func:`nearest` for any number of neighbours from k up; fewer are used
    as they are. Multiplicative updates need W >= 0, and a negative cosine is no affinity, hence the clipping.
    """
    m, stored = index.shape
    k = min(k, stored)
    values = np.maximum(similarity[:, :k], 0).astype(dtype).ravel()
    starts = np.arange(0, m * k + 1, k) if k else np.zeros(m + 1, dtype=np.int64)
    directed = sparse.csr_array((values, index[:, :k].ravel(), starts.astype(np.int32)), shape=(m, m))
    return sparse.csr_array(directed.maximum(directed.T))


def degrees(W: sparse.csr_array) -> np.ndarray:
    """Return the row sums of W (m,), the diagonal of Q."""
    return np.asarray(W.sum(axis=1)).ravel()


def largest_k(space: Space, name: str, fixed: int | None) -> int | None:
    """Return the largest number of neighbours that trials can ask of a graph, or the method's own where k is fixed."""
    if name not in space:
        return fixed
    dimension = space[name]
    if isinstance(dimension, Choice):
        return max((int(value) for value in dimension.values if value is not None), default=None)
    return int(dimension.high)


@compiled()
def _offer(block: np.ndarray, row: int, column: int, index: np.ndarray, similarity: np.ndarray) -> None:
    """Offer block[i, j], the cosine of vectors row + i and column + j, to the lists of both.

    Candidates reach every list in ascending order of index, and enter only where they are strictly better than the
    last entry; that is what breaks ties by index.
    """
    last = similarity.shape[1] - 1
    height, width = block.shape
    floor = np.empty(width, dtype=block.dtype)
    for j in range(width):
        floor[j] = similarity[column + j, last]
    diagonal = row == column
    for i in range(height):
        for j in range(width):
            value = block[i, j]
            if value > similarity[row + i, last] and row + i != column + j:
                _insert(index[row + i], similarity[row + i], column + j, value)
        if not diagonal:
            for j in range(width):
                value = block[i, j]
                if value > floor[j]:
                    _insert(index[column + j], similarity[column + j], row + i, value)
                    floor[j] = similarity[column + j, last]


@compiled()
def _insert(index: np.ndarray, similarity: np.ndarray, candidate: int, value: float) -> None:
    position = len(index) - 1
    while position > 0 and similarity[position - 1] < value:
        index[position] = index[position - 1]
        similarity[position] = similarity[position - 1]
        position -= 1
    index[position] = candidate
    similarity[position] = value


def near_rows(X: np.ndarray, k: int | None) -> Arrays:
    """Return ``row_neighbours`` (m, k) and ``row_cosines`` (m, k) of the rows of X, as :func:`nearest` does."""
    near, cosine = nearest(X, k)
    return {"row_neighbours": near, "row_cosines": cosine}
