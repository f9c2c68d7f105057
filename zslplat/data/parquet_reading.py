"""What a Parquet file holds, as the library reads it: what happens in the reading process.

Arrow decodes the pages, names and statistics of damaged files without looking at them first, and ends the process for
some of them.
"""

from __future__ import annotations

import base64
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


def contents(file: Path) -> list[Any]:
    """Return the number of rows, and the schema as Arrow serialises it, in Base64."""
    with pq.ParquetFile(file) as opened:
        schema = opened.schema_arrow
        schema.to_string()  # decodes all names
        return [int(opened.metadata.num_rows), base64.b64encode(schema.serialize().to_pybytes()).decode()]


def column(file: Path, name: str, where: str, empty: str | None) -> np.ndarray:
    """Return one column; ``empty`` stands for what is null, None for an error."""
    with pq.ParquetFile(file) as opened:
        require_memory(_declared(opened.metadata, name), where)
        table = opened.read(columns=[name], use_threads=False)
    return arrow.values(table.column(name), where, empty=empty)


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
    with pq.ParquetFile(file) as opened:
        require_memory(2 * sum(_declared(opened.metadata, name) for name in opened.schema_arrow.names), str(file))
        table = opened.read(use_threads=False)
    table.validate(full=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _batches(file: Path, names: Sequence[str], rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (number of the first row, rows) of one row group after the other."""
    start = 0
    with pq.ParquetFile(file) as opened:
        for group in range(opened.metadata.num_row_groups):
            for batch in opened.iter_batches(rows, row_groups=[group], columns=list(names), use_threads=False):
                if batch.num_rows:
                    yield start, batch
                start += batch.num_rows


def _declared(metadata: pq.FileMetaData, name: str) -> int:
    """Return how many bytes a column takes by what the file says of its pages and rows."""
    unpacked = 0
    for group in range(metadata.num_row_groups):
        columns = (metadata.row_group(group).column(place) for place in range(metadata.num_columns))
        unpacked += sum(max(0, c.total_uncompressed_size) for c in columns if c.path_in_schema.split(".")[0] == name)
    # Equal values are stored once, and unpacked for every row.
    return int(max(unpacked, 8 * max(0, metadata.num_rows)))
