"""Columns of Arrow (what Parquet files are read into) as NumPy arrays: numbers, texts, and lists of equal length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from zslplat.data.given_arrays import names_of
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
    found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return found


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
        raise DataError(f"{where}: row {first + _first_null(array)} is null; every row needs a value")
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
        raise DataError(f"{where}: row {first + _first_null(array)} is null; every row needs a list")
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
            found = _lists(inner, where, 0)
        except DataError as error:
            told = f"from row {first} on, lists inside the lists are null or differ in length; expected (p, p) values"
            raise DataError(f"{where}: {told}") from error
        return found.reshape(len(array), width, *found.shape[1:])
    if inner.null_count:
        raise DataError(f"{where}: row {first + _first_null(inner) // max(width, 1)} holds a null; give it a number")
    if not (is_number(inner.type) or pa.types.is_boolean(inner.type)):
        raise DataError(f"{where}: holds lists of {inner.type}; expected lists of numbers")
    return np.asarray(inner.to_numpy(zero_copy_only=False)).reshape(len(array), width)


def _first_null(array: pa.Array) -> int:
    return int(np.argmax(np.asarray(array.is_null().to_numpy(zero_copy_only=False))))
