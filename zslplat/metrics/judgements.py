"""What counts in the ranking of a query, and what of it is right.

| symbol | here | shape | meaning |
|---|---|---|---|
| g | | | rows of the gallery |
| q | ``queries`` | (q,) | the gallery rows that are queries |
| y | ``y`` | (g,) | class of each gallery row |
| | ``searched`` | (g,) | mask: the rows that are searched |
| | ``positive``, ``junk`` | (p, 2), (j, 2) | pairs (number of the query, gallery row) |
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Judgements(ABC):
    """For each of several queries the rows that are ranked, and which of them are relevant.

    ``least`` is the smallest number of rows that any query ranks. ``trapezoids``: average precision is the area under
    the precision-recall curve by trapezoids, and not the mean precision at the relevant rows.
    """

    least: int
    trapezoids = False

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of queries."""

    @abstractmethod
    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the gallery rows (m,) that a query ranks, ascending, and which of these are relevant (m,)."""


class OwnClass(Judgements):
    """A query ranks all rows but itself; those of its class are relevant."""

    def __init__(self, y: np.ndarray, queries: np.ndarray) -> None:
        self.y, self.queries, self.least = y, queries, len(y) - 1

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.queries)

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows but the query, and which are of its class."""
        query = self.queries[number]
        others = np.delete(np.arange(len(self.y)), query)
        return others, self.y[others] == self.y[query]


class Designated(Judgements):
    """A query ranks the rows that are searched, without those that are junk to it; it has positives of its own."""

    trapezoids = True

    def __init__(self, count: int, searched: np.ndarray, positive: np.ndarray, junk: np.ndarray) -> None:
        self.searched = np.asarray(searched, dtype=bool)
        self._positive, self._junk = _by_query(positive, count), _by_query(junk, count)
        self.least = int(self.searched.sum()) - max(len(rows) for rows in self._junk)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self._positive)

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what is searched without junk, and which of it is positive."""
        counts = self.searched.copy()
        counts[self._junk[number]] = False
        right = np.zeros(len(counts), dtype=bool)
        right[self._positive[number]] = True
        counted = np.flatnonzero(counts)
        return counted, right[counted]


def _by_query(pairs: np.ndarray, count: int) -> list[np.ndarray]:
    """Return the rows of each query from pairs (p, 2)."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    return np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, count)))
