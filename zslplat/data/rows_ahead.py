"""Rows of a file for who takes them in an order of his own, a few at a time: read ahead of him.

Mini-batches are drawn over all rows, and a disk answers many questions at a time sooner than one after the other. Who
says beforehand in which order he will take rows finds them read and preprocessed; what he is given is the same without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from zslplat.data.rows import Rows, rowwise

# Rows of one reading, and how many of these are under way or waiting.
TOGETHER, WAITING = 512, 6
_READERS = 4


class RowsAhead:
    """Rows (n, d) of files as numbers of type ``dtype``: ``take`` as an array has it, ``expect`` what will be taken."""

    def __init__(self, X: Rows, dtype: Any) -> None:
        self.X, self.shape, self.dtype = X, X.shape, np.dtype(dtype)
        # Its threads end with it.
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="rows")
        self._order, self._begun, self._taken = np.empty(0, dtype=np.int64), 0, 0
        self._coming: deque[Future[np.ndarray]] = deque()
        self._rows = np.empty((0, *self.shape[1:]), dtype=self.dtype)
        self._first = 0

    def __len__(self) -> int:
        return self.shape[0]

    def expect(self, order: np.ndarray) -> None:
        """Begin to read rows in this order, in place of what was expected before."""
        for waiting in self._coming:
            waiting.cancel()
        self._coming.clear()
        self._order, self._begun, self._taken = np.asarray(order), 0, 0
        self._rows, self._first = self._rows[:0], 0
        self._begin()

    def take(self, rows: np.ndarray, axis: int = 0, out: np.ndarray | None = None, mode: str = "raise") -> np.ndarray:
        """Return rows (b, d) in the order asked for; the next ones of the expected order are there already."""
        found = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype) if out is None else out
        start = self._taken
        if np.array_equal(self._order[start : start + len(rows)], rows):
            self._fill(found)
        else:
            found[:] = self._read(rows)
        return found

    def each(self, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return what a function makes of all rows, which it treats one by one."""
        return rowwise(self.X, lambda block: of(np.asarray(block, dtype=self.dtype)))

    def _fill(self, found: np.ndarray) -> None:
        done = 0
        while done < len(found):
            if self._first == len(self._rows):
                self._rows, self._first = self._coming.popleft().result(), 0
                self._begin()
            count = min(len(found) - done, len(self._rows) - self._first)
            found[done : done + count] = self._rows[self._first : self._first + count]
            done, self._first = done + count, self._first + count
        self._taken += done

    def _begin(self) -> None:
        while self._begun < len(self._order) and len(self._coming) < WAITING:
            rows = self._order[self._begun : self._begun + TOGETHER]
            self._coming.append(self._pool.submit(self._read, rows))
            self._begun += len(rows)

    def _read(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.X.take(np.asarray(rows)), dtype=self.dtype)


def in_any_order(X: np.ndarray | Rows, dtype: Any) -> np.ndarray | RowsAhead:
    """Return rows for who takes them in an order of his own: an array in C order, or those of a file read ahead."""
    return RowsAhead(X, dtype) if isinstance(X, Rows) else np.ascontiguousarray(X, dtype=dtype)
