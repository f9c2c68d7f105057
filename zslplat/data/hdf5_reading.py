"""What an HDF5 file holds, as the library reads it: what happens in the reading process.

Damaged files keep the library busy for ever, or end it. Nothing is read that lies in another file.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zslplat.data.bounds import array_bytes, require_memory, require_plausible
from zslplat.data.fields import texts
from zslplat.data.given_arrays import names_of
from zslplat.data.hdf5_links import data_sets_of, own_item
from zslplat.data.streams import BLOCK_BYTES, rows_of_a_block
from zslplat.errors import DataError
from zslplat.names import visible

MOST_BYTES = 8 * BLOCK_BYTES  # of a block, where chunks are tall; beyond it, they go through a file


def data_sets(file: Path) -> list[list[Any]]:
    """Return path, shape and type of each data set, in the order in which groups list them, and the type in words."""
    with h5py.File(file, "r") as opened:
        return [
            [name, [int(length) for length in item.shape or ()], item.dtype.str, _told(item.dtype)]
            for name, item in data_sets_of(file, opened)
        ]


def whole(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts."""
    with h5py.File(file, "r") as opened:
        item = _data_set(file, opened, name)
        require_memory(array_bytes(item.shape or (), item.dtype), f"{file}, {name!r}")
        if h5py.check_string_dtype(item.dtype) is not None:
            found = np.asarray(item.asstr()[()])
            return np.array(texts(found), dtype=np.str_).reshape(found.shape)
        if item.dtype.kind not in "biufS":
            raise DataError(f"{file}: {name!r} holds {_told(item.dtype)}; expected numbers or texts")
        return np.asarray(item[()])


def attribute(file: Path, name: str, keys: Sequence[str]) -> list[str] | None:
    """Return the first of some attributes that a data set has, or with ``/`` the file, as texts."""
    with h5py.File(file, "r") as opened:
        item = opened if name == "/" else _data_set(file, opened, name)
        key = next((key for key in keys if key in item.attrs), None)
        if key is None:
            return None
        return names_of(np.asarray(item.attrs[key]), f"{file}, attribute {key!r} of {name!r}")


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set of numbers; every chunk is decompressed once."""
    with h5py.File(file, "r") as opened:
        item = _data_set(file, opened, name)
        row_bytes = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
        rows = rows_of_a_block(item.shape[1:], item.dtype.itemsize)
        if item.chunks is not None:
            tall = min(item.chunks[0], item.shape[0])
            if tall * row_bytes > MOST_BYTES and item.chunks[1:] != item.shape[1:]:
                yield from _through_a_file(file, item, rows)
                return
            rows = max(tall, rows // tall * tall)
        for start in range(0, item.shape[0], rows):
            yield item[start : start + rows]


def _through_a_file(file: Path, item: h5py.Dataset, rows: int) -> Iterator[np.ndarray]:
    """Yield rows of a data set whose chunks hold few columns of many rows: written to a file chunk by chunk first.

    The rows of a chunk stay side by side there. Plain writes and reads: a mapped file would count as memory that is
    bounded, and a full disk would end the process.
    """
    bands: dict[tuple[int, int], list[tuple[tuple[slice, ...], int]]] = {}
    with tempfile.TemporaryFile() as unpacked:
        for where in item.iter_chunks():
            bands.setdefault((where[0].start, where[0].stop), []).append((where[1:], unpacked.tell()))
            content = np.ascontiguousarray(item[where]).reshape(-1).view(np.uint8).data
            try:
                unpacked.write(content)
                unpacked.flush()
            except OSError as error:
                raise DataError(
                    f"{file}: chunks of few columns go through a temporary file in {tempfile.gettempdir()}: "
                    f"{error.strerror or error}; free space there, or let TMPDIR name another folder"
                ) from error
        for start in range(0, item.shape[0], rows):
            block = np.empty((min(rows, item.shape[0] - start), *item.shape[1:]), dtype=item.dtype)
            for (top, bottom), chunks in bands.items():
                first, last = max(start, top), min(start + len(block), bottom)
                for columns, offset in chunks if first < last else ():
                    shape = (last - first, *(one.stop - one.start for one in columns))
                    row = math.prod(shape[1:]) * item.dtype.itemsize
                    unpacked.seek(offset + (first - top) * row)
                    piece = np.frombuffer(unpacked.read(shape[0] * row), dtype=item.dtype).reshape(shape)
                    block[(slice(first - start, last - start), *columns)] = piece
            yield block


def _data_set(file: Path, opened: h5py.File, name: str) -> h5py.Dataset:
    item = own_item(file, opened, name)
    if not isinstance(item, h5py.Dataset):
        raise DataError(f"{file}: {name!r} is no data set")
    require_plausible(array_bytes(item.shape or (), item.dtype), file, name)
    _require_filters(file, name, item)
    return item


def _require_filters(file: Path, name: str, item: h5py.Dataset) -> None:
    """Refuse a data set that was compressed by a filter which is not installed here; the library blames the file."""
    made = item.id.get_create_plist()
    for position in range(made.get_nfilters()):
        code, _flags, _values, told = made.get_filter(position)
        if not h5py.h5z.filter_avail(code):
            known = told.decode(errors="replace").strip("\0") if told else "no name"
            raise DataError(
                f"{file}: {name!r} is compressed by HDF5's filter {code} ({visible(known)}), which is not installed; "
                "pip install hdf5plugin and let HDF5_PLUGIN_PATH be what python -c 'import hdf5plugin; "
                "print(hdf5plugin.PLUGIN_PATH)' prints, or write the file with gzip or without compression"
            )


def _told(dtype: np.dtype[Any]) -> str:
    return "lists of different lengths or references" if dtype.kind == "O" else f"values of type {dtype}"
