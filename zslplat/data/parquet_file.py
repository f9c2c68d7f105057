"""One Parquet or Arrow file, opened anew for every pass over it, in the reading process."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from zslplat.data import parquet_reading, reader_process
from zslplat.errors import DataError


class ParquetPart:
    """The columns of one file: ``schema``, ``rows``; nothing is kept open.

    Raises :class:`DataError` for what is no such file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        rows, schema = self._read(parquet_reading.contents)
        self.rows = int(rows)
        self.schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema)))

    def column(self, name: str, empty: str | None = None) -> np.ndarray:
        """Return one column; ``empty`` stands for what is null, by default an error."""
        found: np.ndarray = self._read(parquet_reading.column, name, self._where(name), empty)
        return found

    def row_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of the first row of a column, None where there is no row."""
        found: list[int] | None = self._read(parquet_reading.row_shape, name, self._where(name))
        return None if found is None else tuple(found)

    def blocks(
        self, names: Sequence[str], rows: int, row: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Iterator[np.ndarray]:
        """Yield rows of shape ``row``: of one column of lists, or of columns of numbers side by side."""
        if len(names) == 1:
            return self._stream(parquet_reading.lists, names[0], rows, row, self._where(names[0]))
        return self._stream(parquet_reading.side_by_side, list(names), rows, dtype.str, str(self.file))

    def _read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return reader_process.read(function, self.file, *arguments, unreadable=partial(_unreadable, self.file))

    def _stream(self, function: Callable[..., Iterator[np.ndarray]], *arguments: Any) -> Iterator[np.ndarray]:
        return reader_process.stream(function, self.file, *arguments, unreadable=partial(_unreadable, self.file))

    def _where(self, name: str) -> str:
        return f"{self.file}, column {name!r}"


def read_table(file: Path) -> pa.Table:
    """Return all of a Parquet file. Raises :class:`DataError` for what is none."""
    found = reader_process.read(parquet_reading.whole_table, file, unreadable=partial(_unreadable, file))
    return pa.ipc.open_stream(pa.py_buffer(found)).read_all()


def _unreadable(file: Path, reason: str) -> DataError:
    kind = "a Parquet" if file.suffix == ".parquet" else "an Arrow"
    return DataError(f"{file}: cannot be read as {kind} file ({reason}); copy or write it again")
