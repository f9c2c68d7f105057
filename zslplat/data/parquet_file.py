"""One Parquet file, opened anew for every pass over it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zslplat.data import arrow_values as arrow
from zslplat.errors import DataError

_TOGETHER = 64


class ParquetPart:
    """The columns of one file: ``schema``, ``rows``; nothing is kept open.

    Raises :class:`DataError` for what is no such file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            with pq.ParquetFile(file) as opened:
                self.schema = opened.schema_arrow
                self.rows = int(opened.metadata.num_rows)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from error

    def column(self, name: str, empty: str | None = None) -> np.ndarray:
        """Return one column; ``empty`` stands for what is null, by default an error."""
        try:
            with pq.ParquetFile(self.file) as opened:
                table = opened.read(columns=[name], use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from error
        return arrow.values(table.column(name), self._where(name), empty=empty)

    def values(self, name: str, rows: int) -> Iterator[np.ndarray]:
        """Yield a column in blocks of so many rows."""
        for start, batch in self._batches([name], rows):
            yield arrow.values(batch.column(name), self._where(name), first=start)

    def blocks(
        self, names: Sequence[str], rows: int, row: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Iterator[np.ndarray]:
        """Yield rows of shape ``row``: of one column of lists, or of columns of numbers side by side."""
        start = 0
        if len(names) == 1:
            for block in self.values(names[0], rows):
                if math.prod(block.shape[1:]) != math.prod(row):
                    raise DataError(
                        f"{self._where(names[0])}: row {start} has values of shape {block.shape[1:]}, expected {row} "
                        "as in the first row of all"
                    )
                yield block.reshape(len(block), *row)
                start += len(block)
            return
        for start, batch in self._batches(names, rows):
            found = np.empty((batch.num_rows, len(names)), dtype=dtype)
            # Some columns at a time: one by one, they would be written with a stride of a whole row.
            for begin in range(0, len(names), _TOGETHER):
                some = names[begin : begin + _TOGETHER]
                columns = [arrow.values(batch.column(name), self._where(name), first=start) for name in some]
                found[:, begin : begin + len(some)] = np.array(columns, dtype=dtype).T
            yield found

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield (number of the first row, rows) of one row group after the other."""
        start = 0
        try:
            with pq.ParquetFile(self.file) as opened:
                for group in range(opened.metadata.num_row_groups):
                    for batch in opened.iter_batches(rows, row_groups=[group], columns=list(names), use_threads=False):
                        if batch.num_rows:
                            yield start, batch
                        start += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from error

    def _where(self, name: str) -> str:
        return f"{self.file}, column {name!r}"

    def _unreadable(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return DataError(f"{self.file}: cannot be read as a Parquet file ({reason}); copy or write it again")
