"""Features that lie in one file or in several, as one stream of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.rows import BLOCK, RowStream
from zslplat.errors import DataError

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

    They become float32 or float64 as those of an array do (:mod:`zslplat.data.precision`). Raises :class:`DataError`
    for what is no number and, while rows are read, for NaN and infinity, with file and row.
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
            f"{where}: row {start + int(np.argmax(bad))} holds NaN or infinity; clean the file and load it again"
        )
