"""Features as they lie in files: the forms of their arrays, and one stream of rows of one file or several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.rows import BLOCK, RowStream
from zslplat.errors import DataError
from zslplat.space import Optional, Parameter, Text

Features = np.ndarray | RowStream

LEAVE_OUT = Parameter(
    "columns that are no features: id+weight; default: those called id, index and the like; none: no column",
    Optional(Text()),
)

# Fewer rows may lie in ascending order by chance.
_FEWEST_COUNTED = 20

_IDENTIFIERS = re.compile(r"(.*_)?ids?|(row_?)?(index|idx|number)|uu?id|unnamed: \d+|__index_level_\d+__")


def is_signature_file(name: str) -> bool:
    """Tell whether a name, of an option or of a file, is that of a file of signatures beside a table."""
    return name.endswith((".csv", ".parquet", ".npz", ".npy"))


def is_identifier(name: str) -> bool:
    """Tell whether a column is called what identifiers are called: ``id``, ``image_id``, ``index``, ``Unnamed: 0``."""
    return bool(_IDENTIFIERS.fullmatch(name.strip().lower()))


def squeeze_axes(source: Features, what: str, notes: list[str]) -> Features:
    """Return features (n, d, 1, 1) or (n, 1, d) without the axes of length 1, as (n, d), and matrices likewise."""
    row = tuple(source.shape[1:])
    plain = tuple(length for length in row if length != 1) or row[:1]
    if len(row) < 2 or plain == row or len(plain) > 2 or row == (1, 1):
        return source
    notes.append(
        f"{what} of shape {source.shape}: axes of length 1 are left out, which gives {(source.shape[0], *plain)}"
    )
    if isinstance(source, np.ndarray):
        return source.reshape(len(source), *plain)
    return source.through(plain, partial(map, lambda block: block.reshape(len(block), *plain)))


def columns_to_leave_out(option: str, columns: Sequence[str], where: str) -> list[str]:
    """Return the columns that ``leave_out=id+weight`` names; raises :class:`DataError` for one that is not there."""
    names = [name.strip() for name in option.split("+") if name.strip()]
    for name in names:
        if name not in columns:
            raise DataError(
                f"{where}: no column {name!r} to leave out; the columns are {', '.join(columns) or 'unnamed'}"
            )
    return names


def without_identifiers(source: Features, columns: Sequence[str], notes: list[str]) -> tuple[Features, Sequence[str]]:
    """Return features (n, d) without the columns that are called identifiers, and the names (d,) of the others."""
    left_out = [name for name in columns if is_identifier(name)]
    if not left_out or len(left_out) == len(columns):
        return source, columns
    notes.append(note_of_identifiers(left_out))
    places = [place for place, name in enumerate(columns) if name not in left_out]
    names = [columns[place] for place in places]
    if isinstance(source, np.ndarray):
        return source[:, places], names
    return source.through((len(places),), partial(map, lambda block: block[:, places])), names


def note_of_identifiers(names: Sequence[str]) -> str:
    """Return the sentence about columns that were left out for their names."""
    are = "is no feature, by its name" if len(names) == 1 else "are no features, by their names"
    return f"left out: {', '.join(names)}, which {are}"


def without_row_numbers(source: Features, where: str, columns: Sequence[str] = ()) -> Features:
    """Return the same features; :class:`DataError` is raised, of a stream at its end, where a column counts the rows.

    Such a column holds k, k + 1, k + 2, ... from the first row to the last. ``columns`` (d,) are the names of the
    columns, where they have any.
    """
    if len(source.shape) != 2 or source.shape[0] < _FEWEST_COUNTED:
        return source
    if isinstance(source, np.ndarray):
        for _ in _watch([source], where, columns):
            pass
        return source
    return source.through(source.shape[1:], lambda blocks: _watch(blocks, where, columns))


def _watch(blocks: Iterable[np.ndarray], where: str, columns: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield blocks (n, d) of rows, and raise :class:`DataError` at the end where a column counts them."""
    counting, first, start = np.ones(0, dtype=bool), np.ones(0), 0
    for block in blocks:
        if not start and len(block):
            first = block[0].astype(np.float64)
            counting = np.ones(len(first), dtype=bool)
        # Most columns are decided by the first rows, and not looked at again.
        for rows in (block[:3], block):
            places = np.flatnonzero(counting)
            if len(places):
                steps = np.arange(start, start + len(rows))[:, None]
                counting[places] = (rows[:, places] == first[places] + steps).all(axis=0)
        start += len(block)
        yield block
    if not counting.any():
        return
    place = int(np.argmax(counting))
    name = f" ({columns[place]})" if len(columns) else ""
    option = f"leave_out={columns[place]} where columns have names, or " if len(columns) else ""
    mend = f"{option}X = numpy.delete(X, {place}, axis=1)"
    more = f", as {int(counting.sum()) - 1} more columns do" if counting.sum() > 1 else ""
    raise DataError(
        f"{where}: column {place}{name} counts the rows, from {first[place]:g} on{more}: a row number says nothing of "
        f"what is in a row; leave it out: {mend}"
    )


BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Piece:
    """The rows of one file: how many, how to read them in blocks, and what to call them in errors."""

    rows: int
    read: Callable[[], Iterable[np.ndarray]]
    where: str


def stream_of(
    pieces: Sequence[Piece], row: tuple[int, ...], stored: np.dtype[Any], where: str, *, narrow: bool = False
) -> RowStream:
    """Return the rows of all pieces, one after the other, each of shape ``row``.

    They become float32 or float64 as those of an array do (:mod:`zslplat.data.store.precision`). Raises
    :class:`DataError` for what is no number and, while rows are read, for NaN and infinity, with file and row.
    """
    if stored.kind not in "biuf":
        raise DataError(f"{where}: features are of type {stored}; expected numbers")

    def read() -> Iterator[np.ndarray]:
        for piece in pieces:
            start = 0
            for block in piece.read():
                _check_finite(block, piece.where, start)
                start += len(block)
                yield block
            if start != piece.rows:
                raise DataError(f"{piece.where}: {start} rows were read, expected {piece.rows}; save the file again")

    return RowStream((sum(piece.rows for piece in pieces), *row), stored, read, where, narrow=narrow)


def rows_of_a_block(row: tuple[int, ...], itemsize: int) -> int:
    """Return how many rows are read at once: :data:`BLOCK`, or fewer where rows are long."""
    return max(1, min(BLOCK, BLOCK_BYTES // max(1, math.prod(row) * itemsize)))


def in_natural_order(paths: Iterable[Path]) -> list[Path]:
    """Return paths by name, numbers in names by their value: part-2 comes before part-10."""

    def key(path: Path) -> list[tuple[bool, int, str]]:
        pieces = re.split(r"(\d+)", path.name)
        return [(piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in pieces]

    return sorted(paths, key=key)


def _check_finite(block: np.ndarray, where: str, start: int) -> None:
    if block.dtype.kind != "f":
        return
    # A sum is quicker than a look at every number, and finite only where all of them are.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(block.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
    if bad.any():
        raise DataError(
            f"{where}: row {start + int(np.argmax(bad))} holds NaN or infinity; "
            "clean the file and load it again; zslplat data check shows the cells of a CSV file"
        )
