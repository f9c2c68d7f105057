"""One Parquet or CSV file, opened anew for every pass over it; its columns as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zslplat.data.formats import csv_tables
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.bounds import reading
from zslplat.data.formats.fields import ALIASES
from zslplat.data.store.precision import in_type
from zslplat.errors import DataError


def storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of what is stored: of an extension type (a tensor) its lists, of a dictionary its values."""
    if isinstance(kind, pa.BaseExtensionType):
        return storage_type(kind.storage_type)
    return storage_type(kind.value_type) if pa.types.is_dictionary(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column holds plain numbers; truth values are none."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds texts."""
    kind = storage_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a column holds lists, of fixed length or not."""
    kind = storage_type(kind)
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def number_type(kind: pa.DataType) -> np.dtype[Any] | None:
    """Return the NumPy type of a column of numbers or of lists of numbers (or lists), None for others."""
    kind = storage_type(kind)
    for _ in range(2):
        if is_list(kind):
            kind = storage_type(kind.value_type)
    if not (is_number(kind) or pa.types.is_boolean(kind)):
        return None
    dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return dtype


def tensor_shape(kind: pa.DataType, where: str) -> tuple[int, ...] | None:
    """Return the shape of the rows of a tensor column, None for other columns."""
    if not isinstance(kind, pa.FixedShapeTensorType):
        return None
    if kind.permutation is not None and list(kind.permutation) != sorted(kind.permutation):
        raise DataError(f"{where}: tensors with permuted axes ({kind.permutation}) are not read; write them unpermuted")
    return tuple(kind.shape)


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, as it is stored."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def values(array: pa.Array | pa.ChunkedArray, where: str, *, first: int = 0, empty: Any = None) -> np.ndarray:
    """Return a column (n,) of numbers, truth values or texts, or (n, d), (n, p, q) of lists.

    ``first`` is the number of the first row, for errors; ``empty`` stands for what is null (default: an error). Raises
    :class:`DataError`, with the row, for null and for lists of different lengths.
    """
    array = plain(array)
    if is_list(array.type):
        return _lists(array, where, first)
    if array.null_count and empty is None:
        raise DataError(f"{where}: row {first + _first_null(array)} is empty (null); every row needs a value")
    if is_text(array.type):
        return np.array(["" if text is None else text for text in array.to_pylist()], dtype=np.str_)
    if array.null_count:
        if not pa.types.is_integer(array.type):
            array = array.cast(pa.int64()) if pa.types.is_floating(array.type) else array
        return np.array(names_of([empty if value is None else value for value in array.to_pylist()], where))
    if not (is_number(array.type) or pa.types.is_boolean(array.type)):
        raise DataError(f"{where}: is of type {array.type}; expected numbers, texts, or lists of numbers")
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _lists(array: pa.Array, where: str, first: int) -> np.ndarray:
    if array.null_count:
        raise DataError(f"{where}: row {first + _first_null(array)} is empty (null); every row needs a list")
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
    else:
        lengths = np.diff(np.asarray(array.offsets))
        width = int(lengths[0]) if len(lengths) else 0
        if (lengths != width).any():
            other = int(np.argmax(lengths != width))
            raise DataError(
                f"{where}: row {first + other} has {lengths[other]} values but row {first} has {width}; every row "
                "needs as many"
            )
    inner = array.flatten()
    if isinstance(inner, pa.ExtensionArray):
        inner = inner.storage
    if is_list(inner.type):
        try:
            inner_values = _lists(inner, where, 0)
        except DataError as error:
            reason = f"from row {first} on, lists inside the lists are null or differ in length; expected (p, p) values"
            raise DataError(f"{where}: {reason}") from error
        return inner_values.reshape(len(array), width, *inner_values.shape[1:])
    if inner.null_count:
        raise DataError(f"{where}: row {first + _first_null(inner) // max(width, 1)} holds a null; give it a number")
    if not (is_number(inner.type) or pa.types.is_boolean(inner.type)):
        raise DataError(f"{where}: holds lists of {inner.type}; expected lists of numbers")
    return np.asarray(inner.to_numpy(zero_copy_only=False)).reshape(len(array), width)


def _first_null(array: pa.Array) -> int:
    return int(np.argmax(np.asarray(array.is_null().to_numpy(zero_copy_only=False))))


_TOGETHER = 64
# Columns of CSV whose cells are names, also those that look like numbers.
_TEXTS_OF_ROWS = tuple(name for role in ("y", "split", "folds", "groups") for name in ALIASES[role])


class _Parquet:
    """A Parquet file that is open."""

    def __init__(self, file: Path) -> None:
        self._opened = pq.ParquetFile(file)
        self.schema, self.rows = self._opened.schema_arrow, int(self._opened.metadata.num_rows)
        self.close = self._opened.close

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns."""
        return self._opened.read(columns=list(names), use_threads=False)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield one row group after the other, so many rows at most."""
        for group in range(self._opened.metadata.num_row_groups):
            yield from self._opened.iter_batches(rows, row_groups=[group], columns=list(names), use_threads=False)


class _Csv:
    """A CSV file, with the names of its columns in the first line; what says something of a row stays text."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            first = [cell.strip() for cell in lines.readline().split(",")]
        numbers = [cell for cell in first if csv_tables.is_number(cell)]
        # pandas counts columns without names; any other number stands in a row, which would be passed over.
        counts = [str(place + int(numbers[:1] == ["1"])) for place in range(len(numbers))]
        if numbers and (numbers != counts or len(numbers) == len(first)):
            raise DataError(
                f"{file}: line 1 holds numbers; write the names of the columns there, such as label,split,f0,f1"
            )
        table = self.read()
        self.schema, self.rows = table.schema, table.num_rows

    def close(self) -> None:
        """Nothing is open."""

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """Return some columns, or all."""
        table = csv_tables.read_arrow(self._file, _TEXTS_OF_ROWS)
        table = table.rename_columns([name or f"Unnamed: {place}" for place, name in enumerate(table.column_names)])
        return table if names is None else table.select(list(names))

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns, so many rows at most."""
        yield from self.read(names).to_batches(rows)


@contextmanager
def opened(file: Path) -> Iterator[_Parquet | _Csv]:
    """Open a CSV file or a Parquet file; within, errors say which file it is."""
    is_csv = file.suffix == ".csv"
    with reading(file, "a CSV file" if is_csv else "a Parquet file"):
        content = _Csv(file) if is_csv else _Parquet(file)
        with closing(content):
            yield content


class ParquetPart:
    """The columns of one file: ``schema``, ``rows``; nothing is kept open.

    Raises :class:`DataError` for what is no such file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with opened(file) as content:
            self.rows, self.schema = content.rows, content.schema

    def column(self, name: str, empty: str | None = None) -> np.ndarray:
        """Return one column; ``empty`` stands for what is null, by default an error."""
        with opened(self.file) as content:
            return values(content.read([name]).column(name), self._where(name), empty=empty)

    def row_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of the first row of a column, None where there is no row."""
        for start, batch in _batches(self.file, [name], 1):
            return values(batch.column(name), self._where(name), first=start).shape[1:]
        return None

    def blocks(
        self, names: Sequence[str], rows: int, row: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Iterator[np.ndarray]:
        """Yield rows of shape ``row``: of one column of lists, or of columns of numbers side by side."""
        return self._lists(names[0], rows, row) if len(names) == 1 else self._side_by_side(names, rows, dtype)

    def _lists(self, name: str, rows: int, row: Sequence[int]) -> Iterator[np.ndarray]:
        for start, batch in _batches(self.file, [name], rows):
            block = values(batch.column(name), self._where(name), first=start)
            if math.prod(block.shape[1:]) != math.prod(row):
                raise DataError(
                    f"{self._where(name)}: row {start} has values of shape {block.shape[1:]}, expected {tuple(row)} as "
                    "in the first row of all"
                )
            yield block.reshape(len(block), *row)

    def _side_by_side(self, names: Sequence[str], rows: int, dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
        for start, batch in _batches(self.file, names, rows):
            block = np.empty((batch.num_rows, len(names)), dtype=dtype)
            # Some columns at a time: one by one, they would be written with a stride of a whole row.
            for begin in range(0, len(names), _TOGETHER):
                some = names[begin : begin + _TOGETHER]
                columns = [self._numbers(batch, name, start, dtype) for name in some]
                block[:, begin : begin + len(some)] = np.array(columns).T
            yield block

    def _numbers(self, batch: pa.RecordBatch, name: str, first: int, dtype: np.dtype[Any]) -> np.ndarray:
        return in_type(values(batch.column(name), self._where(name), first=first), dtype, self._where(name))

    def _where(self, name: str) -> str:
        return f"{self.file}, column {name!r}"


def _batches(file: Path, names: Sequence[str], rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (number of the first row, rows), so many at most, from the first to the last."""
    start = 0
    with opened(file) as content:
        for batch in content.batches(names, rows):
            if batch.num_rows:
                yield start, batch
            start += batch.num_rows


def read_table(file: Path) -> pa.Table:
    """Return all of a Parquet file. Raises :class:`DataError` for any other file."""
    with opened(file) as content:
        return content.read(content.schema.names)
