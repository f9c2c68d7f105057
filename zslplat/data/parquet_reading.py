"""What a Parquet or Arrow file holds, as the library reads it: what happens in the reading process.

Arrow files are those of its own format, as a file (Feather, too) or as a stream, as the library ``datasets`` saves
them; which one a file is its first bytes say. Arrow decodes the pages, names and statistics of damaged files without
looking at them first, and ends the process for some of them.
"""

from __future__ import annotations

import base64
import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zslplat.data import arrow_values as arrow
from zslplat.data.bounds import require_memory
from zslplat.data.precision import in_type
from zslplat.errors import DataError

_TOGETHER = 64


class _Parquet:
    """A Parquet file that is open."""

    def __init__(self, file: Path) -> None:
        self._opened = pq.ParquetFile(file)
        self.schema, self.rows = self._opened.schema_arrow, int(self._opened.metadata.num_rows)
        self.schema.to_string()  # decodes all names
        self.close = self._opened.close

    def declared(self, name: str) -> int:
        """Return how many bytes a column takes by what the file says of its pages and rows."""
        metadata, unpacked = self._opened.metadata, 0
        for group in range(metadata.num_row_groups):
            columns = (metadata.row_group(group).column(place) for place in range(metadata.num_columns))
            own = (c for c in columns if c.path_in_schema.split(".")[0] == name)
            unpacked += sum(max(0, column.total_uncompressed_size) for column in own)
        # Equal values are stored once, and unpacked for every row.
        return int(max(unpacked, 8 * max(0, metadata.num_rows)))

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns."""
        return self._opened.read(columns=list(names), use_threads=False)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield one row group after the other, so many rows at most."""
        for group in range(self._opened.metadata.num_row_groups):
            yield from self._opened.iter_batches(rows, row_groups=[group], columns=list(names), use_threads=False)


class _Arrow:
    """A file of Arrow's own format that is open."""

    def __init__(self, file: Path, *, stream: bool) -> None:
        self._source = pa.memory_map(str(file))
        self._stream, self._bytes = stream, file.stat().st_size
        self.schema = self._reader().schema
        self.rows = sum(batch.num_rows for batch in self._every())
        self.close = self._source.close

    def declared(self, name: str) -> int:
        """Return how many bytes a column takes at most, as it lies in the file."""
        return self._bytes

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns."""
        return pa.Table.from_batches(
            self.batches(names, max(self.rows, 1)), pa.schema([self.schema.field(n) for n in names])
        )

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns of one batch after the other, so many rows at most."""
        for batch in self._every():
            chosen = batch.select(list(names))
            chosen.validate(full=True)
            for start in range(0, chosen.num_rows, rows):
                yield chosen.slice(start, rows)

    def _reader(self) -> Any:
        self._source.seek(0)
        return pa.ipc.open_stream(self._source) if self._stream else pa.ipc.open_file(self._source)

    def _every(self) -> Iterator[pa.RecordBatch]:
        reader = self._reader()
        if self._stream:
            yield from reader
        else:
            yield from map(reader.get_batch, range(reader.num_record_batches))


def _opened(file: Path) -> contextlib.closing[_Parquet | _Arrow]:
    """Open a file as what its first bytes say that it is."""
    with file.open("rb") as start:
        begins = start.read(6)
    if begins.startswith(b"FEA1"):
        raise DataError(
            f"{file}: is of the first version of Feather; write it again with pyarrow.feather.write_feather"
        )
    if begins.startswith(b"PAR1") or file.suffix == ".parquet":
        return contextlib.closing(_Parquet(file))
    return contextlib.closing(_Arrow(file, stream=begins != b"ARROW1"))


def contents(file: Path) -> list[Any]:
    """Return the number of rows, and the schema as Arrow serialises it, in Base64."""
    with _opened(file) as opened:
        return [opened.rows, base64.b64encode(opened.schema.serialize().to_pybytes()).decode()]


def column(file: Path, name: str, where: str, empty: str | None) -> np.ndarray:
    """Return one column; ``empty`` stands for what is null, None for an error."""
    with _opened(file) as opened:
        require_memory(opened.declared(name), where)
        return arrow.values(opened.read([name]).column(name), where, empty=empty)


def row_shape(file: Path, name: str, where: str) -> list[int] | None:
    """Return the shape of the first row of a column, None where there is no row."""
    for start, batch in _batches(file, [name], 1):
        return list(arrow.values(batch.column(name), where, first=start).shape[1:])
    return None


def lists(file: Path, name: str, rows: int, row: Sequence[int], where: str) -> Iterator[np.ndarray]:
    """Yield a column in blocks of so many rows at most, of shape ``row`` each."""
    for start, batch in _batches(file, [name], rows):
        block = arrow.values(batch.column(name), where, first=start)
        if math.prod(block.shape[1:]) != math.prod(row):
            raise DataError(
                f"{where}: row {start} has values of shape {block.shape[1:]}, expected {tuple(row)} as in the first "
                "row of all"
            )
        yield block.reshape(len(block), *row)


def side_by_side(file: Path, names: Sequence[str], rows: int, dtype: str, shown: str) -> Iterator[np.ndarray]:
    """Yield columns of numbers as blocks of so many rows at most; ``shown`` is the file as errors name it."""
    for start, batch in _batches(file, names, rows):
        found = np.empty((batch.num_rows, len(names)), dtype=dtype)
        # Some columns at a time: one by one, they would be written with a stride of a whole row.
        for begin in range(0, len(names), _TOGETHER):
            some = names[begin : begin + _TOGETHER]
            columns = [_column_of(batch, name, start, found.dtype, f"{shown}, column {name!r}") for name in some]
            found[:, begin : begin + len(some)] = np.array(columns).T
        yield found


def _column_of(batch: pa.RecordBatch, name: str, first: int, dtype: np.dtype[Any], where: str) -> np.ndarray:
    values = arrow.values(batch.column(name), where, first=first)
    return in_type(values, dtype, where)


def whole_table(file: Path) -> np.ndarray:
    """Return all of a file as a stream of Arrow, in bytes, once its values have been looked at."""
    with _opened(file) as opened:
        names = opened.schema.names
        require_memory(2 * sum(map(opened.declared, names)), str(file))
        table = opened.read(names)
        table.validate(full=True)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _batches(file: Path, names: Sequence[str], rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (number of the first row, rows), so many at most, from the first to the last."""
    start = 0
    with _opened(file) as opened:
        for batch in opened.batches(names, rows):
            if batch.num_rows:
                yield start, batch
            start += batch.num_rows
