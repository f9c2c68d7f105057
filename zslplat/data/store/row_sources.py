"""Where rows lie: views in files, in memory, or in streams that are read from beginning to end."""

from __future__ import annotations

import contextlib
import math
import mmap
import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, Protocol

import numpy as np

from zslplat.data.store.precision import DOUBLE, SINGLE, Narrowing, float_type, in_type, row_type
from zslplat.errors import DataError, StoreError

_FAR = 1 << 14  # bytes from row to row, on average, beyond which each is read by itself


@dataclass(frozen=True)
class View:
    """A named feature set of the rows: ``shape`` (d,) of vectors or (p, p) of matrices."""

    name: str
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of columns that it takes beside other views: matrices lie flat, row by row."""
        return math.prod(self.shape)


class Steps(Protocol):
    """Preprocessing that has been fitted; see :class:`zslplat.data.store.preprocessing.FrozenSteps`."""

    def apply(self, block: np.ndarray) -> np.ndarray:
        """Return the rows of a block after all steps."""

    def shape_after(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a row after all steps."""


class RowStream:
    """Rows of a file that are read from beginning to end, as often as they are asked for: what importers deliver.

    ``shape`` (n, ...); ``stored`` is the type of the file; ``read`` returns a new iterator over blocks of any length,
    in the order of the file. Rows come as float32 or float64, as :func:`~zslplat.data.store.precision.row_type` says;
    where their values decide, by a pass over them. ``narrow``: they decide over float64, too.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        stored: np.dtype[Any],
        read: Callable[[], Iterator[np.ndarray]],
        where: str,
        *,
        narrow: bool = False,
    ) -> None:
        self.shape, self.where = shape, where
        self._read, self._type = read, row_type(np.dtype(stored), narrow=narrow)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64; read off the rows where their values decide and no pass has ended yet."""
        if self._type is None:
            deque(self._tried(), maxlen=0)
        assert self._type is not None
        return self._type

    @cached_property
    def loaded(self) -> np.ndarray:
        """All rows in memory, for single rows of a stream that was not stored."""
        for dtype, blocks in self.passes():
            rows = np.empty(self.shape, dtype=dtype)
            start = 0
            for block in blocks:
                rows[start : start + len(block)] = block
                start += len(block)
        return rows

    def passes(self) -> Iterator[tuple[np.dtype[Any], Iterator[np.ndarray]]]:
        """Yield (type, blocks): a second time, as float64, where rows that were read as float32 lost values by it.

        All blocks are to be taken each time; the first pass ends early where something is lost.
        """
        undecided = self._type is None
        if undecided:
            yield SINGLE, self._tried()
        if not undecided or self._type == DOUBLE:
            yield self.dtype, self.blocks()

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the rows; raises :class:`DataError` where there are more or fewer than ``shape`` says."""
        dtype = self.dtype
        for block in self._checked():
            yield in_type(block, dtype, self.where)

    def through(
        self, row: tuple[int, ...], change: Callable[[Iterator[np.ndarray]], Iterator[np.ndarray]]
    ) -> RowStream:
        """Return the same rows, their blocks changed on the way as they are in the file, to rows of shape ``row``."""
        changed = RowStream((self.shape[0], *row), SINGLE, lambda: change(self._checked()), self.where)
        changed._type = self._type
        return changed

    def _tried(self) -> Iterator[np.ndarray]:
        narrowing = Narrowing()
        for block in self._checked():
            single = narrowing.add(block)
            if narrowing.seen:
                break
            yield single
        self._type = DOUBLE if narrowing.loss else SINGLE

    def _checked(self) -> Iterator[np.ndarray]:
        rows, row = 0, self.shape[1:]
        for block in self._read():
            rows, row = rows + len(block), block.shape[1:]
            if rows > self.shape[0] or row != self.shape[1:]:
                break
            yield block
        if rows != self.shape[0] or row != self.shape[1:]:
            raise DataError(f"{self.where}: {rows} rows of shape {row} were read, expected {self.shape}")


@dataclass(frozen=True)
class Stored:
    """Rows in a file, one after the other: ``offset`` is where the first begins, in bytes.

    ``file``: its path, or the descriptor of an open file, which stays open.
    """

    file: str | int
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def take(self, positions: np.ndarray) -> np.ndarray:
        """Return the rows at ascending positions, mapped read-only where they are neighbours, else copied.

        A position may be asked for more than once. Nothing else of the file is held in memory afterwards: a mapping
        that stays would hold rows of other splits. Raises :class:`StoreError` where the file cannot be read.
        """
        if not len(positions):
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
        first, count = int(positions[0]), int(positions[-1] - positions[0]) + 1
        if not 0 <= first <= first + count <= self.shape[0]:
            raise DataError(f"rows {first} to {first + count - 1} asked of {self.shape[0]} in {self._name}")
        row = np.dtype(self.dtype).itemsize * math.prod(self.shape[1:])
        if count * row > _FAR * len(positions) and hasattr(os, "preadv"):
            return self._read(positions, row)
        start = self.offset + first * row
        skipped = start % mmap.ALLOCATIONGRANULARITY
        with self._opened() as file:
            content = mmap.mmap(file.fileno(), skipped + count * row, offset=start - skipped, access=mmap.ACCESS_READ)
        range_of = np.frombuffer(content, self.dtype, count * math.prod(self.shape[1:]), skipped)
        range_of = range_of.reshape(count, *self.shape[1:])
        if count == len(positions) and bool((np.diff(positions) == 1).all()):
            return range_of
        return np.take(range_of, positions - first, axis=0, mode="clip")

    def __deepcopy__(self, memo: dict[int, Any]) -> Stored:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # In another process the number is that of another file.
        if isinstance(self.file, int):
            raise TypeError("rows of an open file stay in their process; hand on an array: numpy.asarray(X)")
        return vars(self)

    @property
    def _name(self) -> str:
        return self.file if isinstance(self.file, str) else "the file of the data set"

    def whole(self) -> np.ndarray:
        """Return all rows, mapped read-only; raises :class:`StoreError` where the file cannot be read."""
        with self._opened() as file:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            flat = np.frombuffer(content, self.dtype, math.prod(self.shape), self.offset)
        return flat.reshape(self.shape)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file; that it is gone or too short is no fault of the method that reads it."""
        try:
            with open(self.file, "rb", buffering=0, closefd=isinstance(self.file, str)) as file:
                yield file
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise StoreError(
                f"the rows in {self._name} cannot be read: {reason}; give the same command again"
            ) from error

    def _read(self, positions: np.ndarray, row: int) -> np.ndarray:
        """Return rows that lie far apart: to map what lies between them costs more than to read each."""
        rows: np.ndarray = np.empty((len(positions), *self.shape[1:]), dtype=self.dtype)
        content = rows.reshape(-1).view(np.uint8).data
        with self._opened() as file:
            for number, position in enumerate(positions.tolist()):
                piece = content[number * row : (number + 1) * row]
                if os.preadv(file.fileno(), [piece], self.offset + position * row) != row:
                    raise ValueError(f"it ends before row {position}")
        return rows


Source = Stored | np.ndarray | RowStream


@dataclass(frozen=True)
class Part:
    """One view of the rows where it lies, and what is done to its blocks."""

    view: View
    source: Source
    steps: Steps | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row after the steps."""
        return self.view.shape if self.steps is None else self.steps.shape_after(self.view.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64 as the source has it; other types become one of them."""
        return float_type(np.dtype(self.source.dtype))

    def take(self, positions: np.ndarray) -> np.ndarray:
        """Return the rows at ascending positions after the steps."""
        source = self.source.loaded if isinstance(self.source, RowStream) else self.source
        return self.apply(source.take(positions) if isinstance(source, Stored) else source[positions])

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as they are stored after the steps."""
        typed = np.asarray(rows, dtype=self.dtype)
        return typed if self.steps is None else np.asarray(self.steps.apply(typed))


def of_length(part: Part, length: int) -> Iterator[np.ndarray]:
    """Yield the rows of a part from beginning to end, so many at a time."""
    if not isinstance(part.source, RowStream):
        for start in range(0, part.source.shape[0], length):
            yield part.take(np.arange(start, min(start + length, part.source.shape[0])))
        return
    waiting: list[np.ndarray] = []
    count = 0
    for block in part.source.blocks():
        for piece in np.split(block, range(length, len(block), length)):
            waiting.append(piece)
            count += len(piece)
            while count >= length:
                joined = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                yield part.apply(joined[:length])
                waiting, count = [joined[length:]], count - length
    if count:
        yield part.apply(np.concatenate(waiting))
