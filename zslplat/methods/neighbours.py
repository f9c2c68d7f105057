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

Nearest neighbours of many rows through an index: near-linear in the rows, where comparing all pairs is quadratic.

The index is the hierarchical navigable small world of faiss (Malkov and Yashunin, 2018; Johnson, Douze and Jegou,
2019), from the extra ``zslplat[ann]``. It is built and searched on one thread, which gives the same lists each time;
faiss chooses its arithmetic by the processor, so that last digits, and with them a neighbour now and then, may differ
between machines.

What it finds is not certain to be nearest, and the less so the more rows there are. So a drawn sample of rows is
compared with all others first, and the index is searched with half as many candidates again until it finds enough of
theirs. :func:`recall_of` returns the share of the true ones by another sample, and methods report it as the diagnostic
``neighbour_recall``.

The neighbours of the rows of a batch: exact where comparing all pairs is quick enough, else by an index.

A graph over the rows is what transductive methods pay for. All pairs cost a time that grows with the square of the
rows, an index (:mod:`~zslplat.methods.neighbours`) one that grows little faster than the rows, at the price
of a neighbour missed now and then, which is measured and reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from zslplat.data.store.rows import float_type
from zslplat.errors import MethodError, OutcomeWarning
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.compiled import compiled
from zslplat.methods.rows import unit_rows
from zslplat.space import Choice, Space, parameter

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
        products: np.ndarray = (X[i] * scale[i, None]) @ X[j].T
        products *= scale[j]
        return products

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


# Links of a row, and how many candidates the index considers while it is built and, at least and at most, in a search.
# An index that is built with more finds as much with fewer later, the more so the more rows there are.
LINKS, BUILD_CANDIDATES, LEAST_CANDIDATES, MOST_CANDIDATES = 32, 100, 64, 1024
# The share of the true neighbours of a sample that a search has to find.
REQUIRED_RECALL = 0.95
# Rows of a sample that is compared with all others.
SAMPLE = 256
_SEARCH_SEED, _RECALL_SEED = 8, 7
INDEX_BLOCK = 4096
# Products per second of one core, from which the time of an exact search is estimated: a cautious 20 GFLOP/s.
_FLOPS = 2e10
# Index (m, k) int32 and cosine (m, k) float32 of near rows.
Lists = tuple[np.ndarray, np.ndarray]


class RowIndex:
    """An index of rows Y (n, d), built once for all searches: ``build_candidates`` is efConstruction.

    Raises :class:`MethodError` where the extra is not installed.
    """

    def __init__(self, Y: np.ndarray, *, build_candidates: int = BUILD_CANDIDATES) -> None:
        self.rows = Y
        faiss = _faiss(*Y.shape)
        self._index = faiss.IndexHNSWFlat(Y.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = build_candidates
        with _one_thread(faiss):
            for start in range(0, len(Y), INDEX_BLOCK):
                self._index.add(_units(Y[start : start + INDEX_BLOCK]))

    def nearest(self, k: int, X: np.ndarray | None = None, *, candidates: int | None = None) -> Lists:
        """Return index (m, k) int32 and cosine (m, k) float32 of rows of Y near each row of X (m, d), best first.

        Without X they are the other rows of Y. Equal cosines are ordered by index; a place that the index could not
        fill holds the row itself, with cosine 0. ``candidates``: how many a search considers (efSearch). By default as
        few from :data:`LEAST_CANDIDATES` on, each time half as many again, up to :data:`MOST_CANDIDATES`, as find
        :data:`REQUIRED_RECALL` of the neighbours of a drawn sample of rows.
        """
        among_themselves = X is None
        queries = self.rows if X is None else X

        def search(rows: np.ndarray, candidates: int) -> Lists:
            self._index.hnsw.efSearch = max(candidates, 2 * (k + among_themselves))
            values, index = self._index.search(_units(queries[rows]), k + among_themselves)
            return _in_order(index, values, rows, k, among_themselves)

        near = np.empty((len(queries), k), dtype=np.int32)
        cosine = np.empty((len(queries), k), dtype=np.float32)
        with _one_thread(_faiss(*self.rows.shape)):
            candidates = _sufficient_candidates(self.rows, X, k, search) if candidates is None else candidates
            for start in range(0, len(queries), INDEX_BLOCK):
                rows = np.arange(start, min(start + INDEX_BLOCK, len(queries)))
                near[rows], cosine[rows] = search(rows, candidates)
        return near, cosine


def recall_of(index: np.ndarray, Y: np.ndarray, X: np.ndarray | None = None, *, seed: int = 0) -> float:
    """Return which share of the nearest rows of Y ``index`` (m, k) holds, for a drawn sample of the rows of X (m, d).

    Without X the sample is of Y, and no row is near itself.
    """
    drawn = _drawn(len(index), [seed, _RECALL_SEED])
    return _share(_nearest_of(Y, X, drawn, index.shape[1]), index[drawn])


def _sufficient_candidates(
    Y: np.ndarray, X: np.ndarray | None, k: int, search: Callable[[np.ndarray, int], Lists]
) -> int:
    """Return how many candidates find enough of the true neighbours of a drawn sample, or the most."""
    drawn = _drawn(len(Y if X is None else X), [0, _SEARCH_SEED])
    true, candidates = _nearest_of(Y, X, drawn, k), LEAST_CANDIDATES
    while candidates < MOST_CANDIDATES and _share(true, search(drawn, candidates)[0]) < REQUIRED_RECALL:
        candidates = min(candidates + (candidates + 1) // 2, MOST_CANDIDATES)
    return candidates


def _drawn(rows: int, seed: list[int]) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).permutation(rows)[:SAMPLE])


def _share(true: np.ndarray, near: np.ndarray) -> float:
    if not true.size:
        return 1.0  # of none, none was missed
    return float(sum(len(np.intersect1d(one, other)) for one, other in zip(true, near, strict=True)) / true.size)


def _nearest_of(Y: np.ndarray, X: np.ndarray | None, drawn: np.ndarray, k: int) -> np.ndarray:
    """Return the k true nearest rows (r, k) of Y for the drawn rows (r,) of X; without X of Y, others than itself."""
    if not k:
        return np.empty((len(drawn), 0), dtype=np.int64)
    queries = _units((Y if X is None else X)[drawn])
    best = np.full((len(drawn), k), -np.inf, dtype=np.float32)
    which = np.full((len(drawn), k), -1, dtype=np.int64)
    for start in range(0, len(Y), INDEX_BLOCK):
        cosines = queries @ _units(Y[start : start + INDEX_BLOCK]).T
        places = np.arange(start, start + cosines.shape[1])
        if X is None:
            cosines[drawn[:, None] == places] = -np.inf
        values = np.hstack([best, cosines])
        names = np.hstack([which, np.broadcast_to(places, cosines.shape)])
        largest = np.argpartition(-values, k - 1, axis=1)[:, :k]
        best, which = np.take_along_axis(values, largest, axis=1), np.take_along_axis(names, largest, axis=1)
    return which


def _in_order(index: np.ndarray, values: np.ndarray, rows: np.ndarray, k: int, among_themselves: bool) -> Lists:
    """Return the k best of each row, itself left out, ordered by cosine and then by index."""
    missing = index < 0
    if among_themselves:
        missing |= index == rows[:, None]
    values = np.where(missing, -np.inf, values)
    order = np.lexsort((index, -values), axis=1)[:, :k]
    index, values = np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)
    empty = np.isneginf(values)
    return np.where(empty, rows[:, None], index).astype(np.int32), np.where(empty, 0, values)


def _units(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(unit_rows(np.asarray(rows, dtype=float_type(rows.dtype))), dtype=np.float32)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def _faiss(rows: int, width: int) -> Any:
    try:
        import faiss
    except ImportError as error:
        minutes = max(1, round(rows * rows * width / _FLOPS / 60))
        raise MethodError(
            f"the neighbours of {rows} rows take an index; install it with pip install 'zslplat[ann]', or compare all "
            f"pairs with --set neighbours=exact, about {minutes} minutes of one core"
        ) from error
    return faiss


# Up to so many rows every pair is compared, unless the index is requested.
EXACT_ROWS = 50_000
NEIGHBOURS = parameter(
    f"how neighbours of rows are found: exact, by an index (of the extra ann), or auto: exact up to {EXACT_ROWS} rows",
    Choice(("auto", "exact", "index")),
    default="auto",
)
RECALL = "neighbour_recall"
# Graphs with fewer of their neighbours than this are warned of.
LEAST_RECALL = 0.9


def is_exact(rows: int, how: str) -> bool:
    """Tell whether so many rows are all compared with one another."""
    return how == "exact" or (how == "auto" and rows <= EXACT_ROWS)


def near_rows(X: np.ndarray, k: int | None, how: str, *, index: RowIndex | None = None) -> Arrays:
    """Return ``row_neighbours`` (m, k) and ``row_cosines`` (m, k) of the rows of X, as :func:`nearest` does.

    Where an index finds them, also ``row_recall`` (), the share of the true ones that it found for a drawn sample.
    ``index``: one of X, where there is one already. Raises :class:`MethodError` where an index is wanted and the extra
    is not installed.
    """
    if is_exact(len(X), how):
        near, cosine = nearest(X, k)
        return {"row_neighbours": near, "row_cosines": cosine}
    k = max(0, min(len(X) if k is None else k, len(X) - 1))
    near, cosine = (index or RowIndex(X)).nearest(k)
    return {"row_neighbours": near, "row_cosines": cosine, "row_recall": np.array(recall_of(near, X))}


def note_recall(diagnostics: Diagnostics, statistics: Mapping[str, np.ndarray]) -> None:
    """Report the recall of the neighbours where an index found them, and warn where it missed many."""
    if "row_recall" in statistics:
        say_recall(diagnostics, RECALL, float(statistics["row_recall"]))


def say_recall(diagnostics: Diagnostics, name: str, recall: float) -> None:
    """Report a recall under a name, and warn where it is below :data:`LEAST_RECALL`."""
    diagnostics.numbers[name] = recall
    if recall < LEAST_RECALL:
        text = f"the index found {recall:.0%} of the true neighbours of a drawn sample of rows"
        warnings.warn(OutcomeWarning(text, "ZSP216"), stacklevel=2)
