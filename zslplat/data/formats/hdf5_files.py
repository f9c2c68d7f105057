"""The data sets of HDF5 files as named fields; :mod:`zslplat.data.formats.hdf5` says what they mean.

Nothing is read that lies in another file, whatever links say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.bounds import array_bytes, reading, require_memory
from zslplat.data.formats.feature_files import BLOCK_BYTES, Piece, rows_of_a_block, stream_of
from zslplat.data.formats.fields import TEXTS, Fields, texts
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError
from zslplat.names import visible

# Bytes of a block where chunks hold many rows, and of the chunks that are remembered where they hold too many.
MOST_BYTES = 8 * BLOCK_BYTES


@contextmanager
def opened(file: Path) -> Iterator[h5py.File]:
    """Open a file to be read; within, errors of the library say which file it is."""
    with reading(file, "an HDF5 file"), h5py.File(file, "r", rdcc_nbytes=MOST_BYTES) as content:
        yield content


def data_sets_of(group: h5py.Group, start: str = "") -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield (path, data set) in the order in which groups list them; links to other files are passed over."""
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield start + name, item
        elif isinstance(item, h5py.Group) and not name.startswith("#"):
            yield from data_sets_of(item, f"{start}{name}/")


def whole(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts."""
    with opened(file) as content:
        item = _data_set(file, content, name)
        require_memory(array_bytes(item.shape or (), item.dtype), f"{file}, {name!r}")
        if h5py.check_string_dtype(item.dtype) is not None:
            strings = np.asarray(item.asstr()[()])
            return np.array(texts(strings), dtype=np.str_).reshape(strings.shape)
        if item.dtype.kind not in "biufS":
            raise DataError(f"{file}: {name!r} holds {_type_text(item.dtype)}; expected numbers or texts")
        return np.asarray(item[()])


def attribute(file: Path, name: str, keys: Sequence[str]) -> list[str] | None:
    """Return the first of some attributes that a data set has, or with ``/`` the file, as texts."""
    with opened(file) as content:
        item = content[name]
        key = next((key for key in keys if key in item.attrs), None)
        if key is None:
            return None
        return names_of(np.asarray(item.attrs[key]), f"{file}, attribute {key!r} of {name!r}")


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set of numbers, whole chunks at a time where these are not too tall."""
    with opened(file) as content:
        item = _data_set(file, content, name)
        row_bytes = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
        rows = rows_of_a_block(item.shape[1:], item.dtype.itemsize)
        tall = min(item.chunks[0], item.shape[0]) if item.chunks else 1
        if tall * row_bytes <= MOST_BYTES:
            rows = max(tall, rows // tall * tall)
        for start in range(0, item.shape[0], rows):
            yield item[start : start + rows]


def _data_set(file: Path, content: h5py.File, name: str) -> h5py.Dataset:
    """Return a data set that can be read: neither in other files nor compressed by a filter that is not installed."""
    item = content[name]
    if item.is_virtual or item.external:
        raise DataError(f"{file}: {name!r} keeps its content in another file; copy it into this one")
    made = item.id.get_create_plist()
    for position in range(made.get_nfilters()):
        code, _flags, _values, filter_name = made.get_filter(position)
        if not h5py.h5z.filter_avail(code):
            shown = filter_name.decode(errors="replace").strip("\0") if filter_name else "no name"
            raise DataError(
                f"{file}: {name!r} is compressed by HDF5's filter {code} ({visible(shown)}), which is not installed; "
                "pip install hdf5plugin and let HDF5_PLUGIN_PATH be what python -c 'import hdf5plugin; "
                "print(hdf5plugin.PLUGIN_PATH)' prints, or write the file with gzip or without compression"
            )
    return item


def _type_text(dtype: np.dtype[Any]) -> str:
    return "lists of different lengths or references" if dtype.kind == "O" else f"values of type {dtype}"


_NAMES = ("names", "columns", "attribute_names")


class Hdf5Fields(Fields):
    """The data sets of one or several HDF5 files, by their paths inside."""

    thing = "data set"

    def __init__(self, path: Path, files: list[Path], options: Mapping[str, Any]) -> None:
        self.path = path
        self._by_file = {file: _data_sets(file) for file in files}
        if not self._by_file:
            raise DataError(f"{path}: no HDF5 file; they are recognised by their suffixes, .h5 and .hdf5")
        self.names = tuple(dict.fromkeys(name for contents in self._by_file.values() for name in contents))
        keys = list(self.feature_keys(options).values())
        self._parts = [file for file, contents in self._by_file.items() if any(key in contents for key in keys)]
        label = self.key_of("y", options)
        for file, contents in self._by_file.items():
            if file not in self._parts and label in contents:
                raise DataError(f"{file}: no data set {keys[0]!r}, which {self._parts[0].name} has")
        self._rows = [self._shape(file, keys[0])[0] for file in self._parts]

    def read(self, name: str) -> np.ndarray:
        """Return a data set that describes the classes, the same in all files that have it."""
        files = [file for file, contents in self._by_file.items() if name in contents]
        first = whole(files[0], name)
        for file in files[1:]:
            other = whole(file, name)
            if other.shape != first.shape or not np.array_equal(other, first):
                raise DataError(f"{file}: {name!r} is not what it is in {files[0].name}; it must be the same in all")
        return first

    def column(self, name: str) -> np.ndarray:
        """Return a data set with an entry per row, of all parts; a matrix of folds by class is the same in all."""
        if name in ("fold", "folds") and self._is_matrix(name):
            return self.read(name)
        pieces = [self._part(file, name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return a mask, or row indices over all parts."""
        holders = [file for file, contents in self._by_file.items() if name in contents]
        pieces = [whole(file, name).reshape(-1) for file in holders]
        if len(pieces) == 1 and (len(self._parts) == 1 or pieces[0].dtype != bool):
            return pieces[0]
        if holders != self._parts:
            absent = next(file for file in self._parts if file not in holders)
            raise DataError(
                f"{absent}: no data set {name!r}, which {len(holders)} of {len(self._parts)} files have; give it in "
                "one file, counting all rows, or in each, counting its own"
            )
        if all(piece.dtype == bool for piece in pieces):
            return np.concatenate(pieces)
        starts = np.concatenate([[0], np.cumsum(self._rows)[:-1]])
        for file, rows, piece in zip(holders, self._rows, pieces, strict=True):
            if len(piece) and piece.max() >= rows + base:
                raise DataError(
                    f"{file}: {name!r} runs to {piece.max()} but the {rows} rows of this file count from {base}"
                )
        return np.concatenate([piece.astype(np.int64) + start for piece, start in zip(pieces, starts, strict=True)])

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the names of the files with features, and the rows of each."""
        return [(file.name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a data set of all parts as a stream."""
        pieces: list[Piece] = []
        first = self._parts[0]
        row, stored = self._shape(first, name)[1:], self._by_file[first][name].dtype
        if stored.kind not in "biuf":
            type_text = self._by_file[first][name].type_text
            raise DataError(f"{first}: {name!r} holds {type_text}; expected features, numbers of one shape")
        for file in self._parts:
            shape, dtype = self._shape(file, name), self._by_file[file][name].dtype
            if shape[1:] != row or dtype != stored:
                raise DataError(
                    f"{file}: {name!r} has rows of shape {shape[1:]} and type {dtype}, but {row} and {stored} in "
                    f"{first.name}; all files need the same"
                )
            pieces.append(Piece(shape[0], partial(blocks, file, name), f"{file}, {name!r}"))
        return stream_of(pieces, row, stored, f"{self.path}, {name!r}")

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures, with the names of their attributes where an attribute gives them."""
        return RawSignatures(self.read(name), names=self._attribute(name, _NAMES) or ())

    def class_names(self) -> Sequence[str] | None:
        """Return what the attribute class_names of the file or of the labels says."""
        labels = next((name for name in self.aliases["y"] if name in self.names), "")
        beside = self._attribute(labels, ("class_names", "names")) if labels else None
        return beside or self._attribute("/", ("class_names",))

    def texts(self) -> Mapping[str, str]:
        """Return the attributes of the file that are texts."""
        attributes = {key: self._attribute("/", (key,)) for key in TEXTS}
        return {key: text[0] for key, text in attributes.items() if text and len(text) == 1}

    def _attribute(self, name: str, keys: Sequence[str]) -> list[str] | None:
        """Return the first of some attributes that a data set has in any of the files, as texts."""
        for file, contents in self._by_file.items():
            if name == "/" or name in contents:
                values = attribute(file, name, keys)
                if values is not None:
                    return values
        return None

    def _part(self, file: Path, name: str, rows: int) -> np.ndarray:
        if name not in self._by_file[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        array = whole(file, name)
        array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
        if len(self._parts) > 1 and len(array) != rows:
            raise DataError(f"{file}: {rows} rows of features but {len(array)} entries in {name!r}")
        return array

    def _having(self, name: str) -> str:
        return next(file.name for file, contents in self._by_file.items() if name in contents)

    def _is_matrix(self, name: str) -> bool:
        shape = next(contents[name].shape for contents in self._by_file.values() if name in contents)
        return len(shape) == 2 and 1 not in shape[1:]

    def _shape(self, file: Path, name: str) -> tuple[int, ...]:
        if name not in self._by_file[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        shape = self._by_file[file][name].shape
        if not shape:
            raise DataError(f"{file}: {name!r} is a single value; expected rows of features")
        return shape


@dataclass(frozen=True)
class _Extent:
    """Shape and type of a data set; ``type_text`` is the type in words."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    type_text: str


def _data_sets(file: Path) -> dict[str, _Extent]:
    """Return the data sets of a file by their paths, in the order in which groups list them."""
    with opened(file) as content:
        return {
            name: _Extent(tuple(item.shape or ()), item.dtype, _type_text(item.dtype))
            for name, item in data_sets_of(content)
        }
