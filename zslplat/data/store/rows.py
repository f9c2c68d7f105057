"""Rows of features: index views of what is stored once, read block by block.

The features of a data set lie in files (or arrays), one for each named view, all in one order of rows. :class:`Rows` is
some of them: positions in that order, and what is done to every block that is read. It looks like an array (``shape``,
``dtype``, ``len``, ``rows[index]``, ``numpy.asarray(rows)``), and code that can work on parts of it asks for blocks:

    for where, block in blocks_of(X):
        total += block.T @ block
        sums += Y[where].T @ block

``where`` (a slice or an array) tells which rows of ``X`` the block holds. Blocks come in the order in which the rows
are stored, so that a pass reads a file from its beginning to its end, whatever the order of the rows of ``X``; where
one block ends and the next begins depends on the positions alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from zslplat.data.store.precision import float_type as float_type
from zslplat.data.store.row_sources import Part as Part
from zslplat.data.store.row_sources import RowStream as RowStream
from zslplat.data.store.row_sources import Source as Source
from zslplat.data.store.row_sources import Steps as Steps
from zslplat.data.store.row_sources import Stored as Stored
from zslplat.data.store.row_sources import View as View
from zslplat.data.store.row_sources import of_length
from zslplat.errors import DataError, UnknownNameError

BLOCK = 2048  # rows of a block

_READERS = 2

Where = slice | np.ndarray


class Rows(NDArrayOperatorsMixin):
    """Rows (n, d), or (n, p, p) for matrices, of one view or several side by side; see the head of this file.

    ``parts``: the views in order, ``index`` (n,): the positions of the rows in the order of the sources; ``order``
    (n,): what sorts the index, where that is known.
    """

    ndim: int
    digest: Any = None  # of whole features that were just read, which no selection has; see Dataset.features_digest

    def __init__(self, parts: Sequence[Part], index: np.ndarray, order: np.ndarray | None = None) -> None:
        if not parts:
            raise DataError("rows need at least one view")
        self.parts, self.index = tuple(parts), np.asarray(index)
        single = len(self.parts) == 1 and not self.parts[0].view.name
        row = self.parts[0].shape if single else (sum(math.prod(part.shape) for part in self.parts),)
        self.shape = (len(self.index), *row)
        self.ndim = len(self.shape)
        self._known_order = order

    @classmethod
    def of(cls, views: Mapping[str, Source]) -> Rows:
        """Return all rows of named views in memory, in files or in streams; raises DataError where lengths differ."""
        lengths = {
            name: len(source) if isinstance(source, np.ndarray) else source.shape[0] for name, source in views.items()
        }
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {count}" for name, count in lengths.items())
            raise DataError(f"views have different numbers of rows: {counts}; every view describes the same rows")
        parts = [Part(View(name, tuple(source.shape[1:])), source) for name, source in views.items()]
        return cls(parts, np.arange(next(iter(lengths.values()), 0)))

    @property
    def views(self) -> tuple[View, ...]:
        """The named views with their shapes after preprocessing, in the order of the columns; none of a single one."""
        return tuple(View(part.view.name, part.shape) for part in self.parts if part.view.name)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the rows: float64 where that of one of the views is."""
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take as an array."""
        return self.size * self.dtype.itemsize

    def blocks(self) -> Iterator[tuple[Where, np.ndarray]]:
        """Yield (where, block): which rows of these a block holds, and the rows, which may be read-only."""
        if any(isinstance(part.source, RowStream) for part in self.parts) and self._is_whole:
            yield from self._streamed()
            return
        where = self.order
        for start in range(0, len(self.index), BLOCK):
            places = where[start : start + BLOCK]
            yield _as_slice(places), self._at(self.index[places])

    def in_order(self) -> Iterator[np.ndarray]:
        """Yield the rows in their own order, a block at a time, to be copied by code that may see the whole file.

        The file is mapped once, and the system is asked to read it from its beginning to its end beforehand.
        """
        sources = [part.source.whole() if isinstance(part.source, Stored) else part.source for part in self.parts]
        arrays = [source.loaded if isinstance(source, RowStream) else source for source in sources]

        def read(start: int) -> np.ndarray:
            positions = self.index[start : start + BLOCK]
            blocks = [np.take(array, positions, axis=0, mode="clip") for array in arrays]
            return self._beside([part.apply(rows) for part, rows in zip(self.parts, blocks, strict=True)])

        # What takes time is copying, which threads do side by side; each block is made by one of them.
        with ThreadPoolExecutor(_READERS) as pool:
            waiting: deque[Future[np.ndarray]] = deque()
            for start in range(0, len(self), BLOCK):
                waiting.append(pool.submit(read, start))
                if len(waiting) > _READERS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def take(self, rows: np.ndarray | slice) -> Rows:
        """Return some of these rows, in the order asked for."""
        return Rows(self.parts, self.index[rows])

    def matrices(self) -> Mapping[str, Source]:
        """Return the sources by view name, as they are stored."""
        return {part.view.name: part.source for part in self.parts}

    def select_views(self, names: Sequence[str]) -> Rows:
        """Return the named views alone; raises :class:`UnknownNameError` for one that is not there."""
        by_name = {part.view.name: part for part in self.parts}
        for name in names:
            if name not in by_name:
                raise UnknownNameError("view", name, by_name)
        return Rows([by_name[name] for name in names], self.index, self._known_order)

    def columns(self, start: int, stop: int) -> Rows | None:
        """Return the view that takes up just these columns, matrices as such; None where no view does."""
        first = 0
        for part in self.parts:
            last = first + math.prod(part.shape)
            if (first, last) == (start, stop):
                return Rows([replace(part, view=View("", part.view.shape))], self.index, self._known_order)
            first = last
        return None

    def with_steps(self, steps: Sequence[Steps | None]) -> Rows:
        """Return the same rows with these steps in place of those of each part."""
        parts = [replace(part, steps=new) for part, new in zip(self.parts, steps, strict=True)]
        return Rows(parts, self.index, self._known_order)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> np.ndarray:
        if isinstance(rows, tuple):
            first, *others = rows
            if not _keeps_rows(first):
                return np.asarray(self[first][tuple(others)])
            return rowwise(self.take(np.arange(len(self))[first]), lambda block: block[(slice(None), *others)])
        if not _keeps_rows(rows):
            return np.asarray(self.take(np.array([rows]))[:][0])
        return np.asarray(self.take(np.arange(len(self))[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("rows lie in a file; an array of them is a copy")
        filled = np.empty(self.shape, dtype=dtype or self.dtype)
        for where, block in self.blocks():
            filled[where] = block
        return filled

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        arrays = [np.asarray(value) if isinstance(value, Rows) else value for value in inputs]
        return getattr(ufunc, method)(*arrays, **named)

    def __getattr__(self, name: str) -> Any:
        # What an array can do beside this (mean, reshape, ...), it does as an array.
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"rows have no attribute {name!r}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        views = ", ".join(f"{view.name} {view.shape}" for view in self.views)
        return f"Rows{self.shape} of {self.dtype}{': ' + views if views else ''}"

    def __reduce__(self) -> Any:
        return Rows, (self.parts, self.index, self._known_order)

    @cached_property
    def order(self) -> np.ndarray:
        """The rows in the order in which they are stored."""
        return np.argsort(self.index, kind="stable") if self._known_order is None else self._known_order

    @property
    def _is_whole(self) -> bool:
        """Whether these are all rows, in the order of the sources."""
        source = self.parts[0].source
        whole = len(source) if isinstance(source, np.ndarray) else source.shape[0]
        return len(self) == whole and bool((np.diff(self.index) == 1).all())

    def _streamed(self) -> Iterator[tuple[Where, np.ndarray]]:
        """Read all parts from beginning to end, side by side."""
        read = [of_length(part, BLOCK) for part in self.parts]
        start = 0
        for blocks in zip(*read, strict=True):
            stop = start + len(blocks[0])
            yield slice(start, stop), self._beside(blocks)
            start = stop

    def _at(self, positions: np.ndarray) -> np.ndarray:
        return self._beside([part.take(positions) for part in self.parts])

    def _beside(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        if len(blocks) == 1:
            return blocks[0].reshape(len(blocks[0]), *self.shape[1:])
        joined = np.empty((len(blocks[0]), *self.shape[1:]), dtype=self.dtype)
        start = 0
        for block in blocks:
            flat = block.reshape(len(block), -1)
            joined[:, start : start + flat.shape[1]] = flat
            start += flat.shape[1]
        return joined


def blocks_of(X: np.ndarray | Rows) -> Iterator[tuple[Where, np.ndarray]]:
    """Yield (where, block) of an array, in its order, or of rows; see :meth:`Rows.blocks`. Leave blocks as they are."""
    if isinstance(X, Rows):
        yield from X.blocks()
        return
    for start in range(0, len(X), BLOCK):
        where = slice(start, min(start + BLOCK, len(X)))
        yield where, np.asarray(X[where])


def in_row_order(X: np.ndarray | RowStream | Rows) -> Iterator[np.ndarray]:
    """Yield the rows of an array, a stream or a view in their own order, some at a time."""
    if isinstance(X, RowStream):
        yield from X.blocks()
    elif isinstance(X, Rows) and all(isinstance(part.source, RowStream) for part in X.parts):
        yield from (block for _, block in X.blocks())
    else:
        for start in range(0, len(X), 2 * BLOCK):
            yield np.asarray(X[start : start + 2 * BLOCK])


def rowwise(X: np.ndarray | Rows, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what a function makes of rows that it treats one by one: of an array at once, of rows block by block."""
    if not isinstance(X, Rows):
        return of(X)
    result: np.ndarray | None = None
    for where, block in X.blocks():
        made = of(block)
        if result is None:
            result = np.empty((len(X), *made.shape[1:]), dtype=made.dtype)
        result[where] = made
    return of(np.asarray(X)) if result is None else result


def check_rows_differ(where: str, X: np.ndarray | Rows) -> None:
    """Raise :class:`DataError` where several rows of training are all the same: then no method can learn from them."""
    first: np.ndarray | None = None
    for _, block in blocks_of(X):
        first = block[:1] if first is None else first
        if len(X) < 2 or bool((block != first).any()):
            return
    if first is not None:
        zeros = " of zeros" if not first.any() else ""
        raise DataError(
            f"{where}: all {len(X)} training rows are the same row{zeros}, so that no method can learn from them; look "
            "at what wrote the features"
        )


def take_rows(X: np.ndarray | Rows, rows: np.ndarray) -> np.ndarray | Rows:
    """Return some rows of an array as a copy, or of rows as a view."""
    return X.take(rows) if isinstance(X, Rows) else np.array(X[rows])


def _as_slice(rows: np.ndarray) -> Where:
    """Return ascending neighbours as a slice, which costs no copy."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and bool((np.diff(rows) == 1).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _keeps_rows(rows: Any) -> bool:
    return isinstance(rows, slice | list | np.ndarray) and np.ndim(rows if not isinstance(rows, slice) else [0]) == 1
