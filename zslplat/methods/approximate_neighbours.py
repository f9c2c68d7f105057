"""Nearest neighbours of many rows through an index: near-linear in the rows, where comparing all pairs is quadratic.

The index is the hierarchical navigable small world of faiss (Malkov and Yashunin, 2018; Johnson, Douze and Jegou,
2019), from the extra ``zslplat[ann]``. It is built and asked on one thread, which gives the same lists each time; faiss
chooses its arithmetic by the processor, so that last digits, and with them a neighbour now and then, may differ between
machines.

What it finds is not certain to be nearest, and the less so the more rows there are. So a drawn sample of rows is
compared with all others first, and the index is asked with half as many candidates again until it finds enough of
theirs. :func:`recall_of` tells the share of the true ones by another sample, and methods report it as the diagnostic
``neighbour_recall``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from zslplat.data.store.rows import float_type
from zslplat.errors import MethodError
from zslplat.methods.unit_rows import unit_rows

# Links of a row, and how many candidates are kept in view while the index is built and, at least and at most, while it
# is asked. An index that is built with more finds as much with fewer later, and that tells the more rows there are.
LINKS, BUILDING, ASKING, MOST_ASKING = 32, 100, 64, 1024
# The share of the true neighbours of a sample that is asked for.
WANTED = 0.95
# Rows of a sample that is compared with all others.
SAMPLE = 256
_TO_ASK, _TO_TELL = 8, 7
BLOCK = 4096
# Products per second of one core that the time of an exact search is told by: a cautious 20 GFLOP/s.
_FLOPS = 2e10
# Index (m, k) int32 and cosine (m, k) float32 of near rows.
Lists = tuple[np.ndarray, np.ndarray]


class RowIndex:
    """An index of rows Y (n, d), built once for all that ask it: ``building`` is efConstruction.

    Raises :class:`MethodError` where the extra is not installed.
    """

    def __init__(self, Y: np.ndarray, *, building: int = BUILDING) -> None:
        self.rows = Y
        faiss = _faiss(*Y.shape)
        self._index = faiss.IndexHNSWFlat(Y.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = building
        with _one_thread(faiss):
            for start in range(0, len(Y), BLOCK):
                self._index.add(_units(Y[start : start + BLOCK]))

    def nearest(self, k: int, X: np.ndarray | None = None, *, asking: int | None = None) -> Lists:
        """Return index (m, k) int32 and cosine (m, k) float32 of rows of Y near each row of X (m, d), best first.

        Without X they are the other rows of Y. Equal cosines are ordered by index; a place that the index could not
        fill holds the row itself, with cosine 0. ``asking`` is how many candidates are kept in view (efSearch): without
        it as few from :data:`ASKING` on, each time half as many again, up to :data:`MOST_ASKING`, as find
        :data:`WANTED` of the neighbours of a drawn sample of rows.
        """
        among_themselves = X is None
        queries = self.rows if X is None else X

        def found_of(rows: np.ndarray, asking: int) -> Lists:
            self._index.hnsw.efSearch = max(asking, 2 * (k + among_themselves))
            values, index = self._index.search(_units(queries[rows]), k + among_themselves)
            return _in_order(index, values, rows, k, among_themselves)

        near = np.empty((len(queries), k), dtype=np.int32)
        cosine = np.empty((len(queries), k), dtype=np.float32)
        with _one_thread(_faiss(*self.rows.shape)):
            asking = _enough(self.rows, X, k, found_of) if asking is None else asking
            for start in range(0, len(queries), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(queries)))
                near[rows], cosine[rows] = found_of(rows, asking)
        return near, cosine


def recall_of(index: np.ndarray, Y: np.ndarray, X: np.ndarray | None = None, *, seed: int = 0) -> float:
    """Return which share of the nearest rows of Y ``index`` (m, k) holds, for a drawn sample of the rows of X (m, d).

    Without X the sample is of Y, and no row is near itself.
    """
    drawn = _drawn(len(index), [seed, _TO_TELL])
    return _share(_nearest_of(Y, X, drawn, index.shape[1]), index[drawn])


def _enough(Y: np.ndarray, X: np.ndarray | None, k: int, found_of: Callable[[np.ndarray, int], Lists]) -> int:
    """Return how many candidates find enough of the true neighbours of a drawn sample, or the most."""
    drawn = _drawn(len(Y if X is None else X), [0, _TO_ASK])
    true, asking = _nearest_of(Y, X, drawn, k), ASKING
    while asking < MOST_ASKING and _share(true, found_of(drawn, asking)[0]) < WANTED:
        asking = min(asking + (asking + 1) // 2, MOST_ASKING)
    return asking


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
    for start in range(0, len(Y), BLOCK):
        cosines = queries @ _units(Y[start : start + BLOCK]).T
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
            f"the neighbours of {rows} rows take an index: install it with pip install 'zslplat[ann]', or compare all "
            f"pairs with --set neighbours=exact, which takes about {minutes} minutes of one core"
        ) from error
    return faiss
