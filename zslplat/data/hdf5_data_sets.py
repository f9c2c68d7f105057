"""The data sets of HDF5 files as named fields; what they mean is told in :mod:`zslplat.data.hdf5`."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.fields import TEXTS, Fields, texts
from zslplat.data.rows import RowStream
from zslplat.data.streams import BLOCK_BYTES, Piece, rows_of_a_block, stream_of
from zslplat.errors import DataError

MOST_BYTES = 8 * BLOCK_BYTES  # of a block, where chunks are tall; beyond it, they go through a file
_NAMES = ("names", "columns", "attribute_names")


class Hdf5Fields(Fields):
    """The data sets of one or several HDF5 files, by their paths inside."""

    thing = "data set"

    def __init__(self, path: Path, files: list[Path], options: Mapping[str, Any]) -> None:
        self.path = path
        self._held = {file: _data_sets(file) for file in files}
        if not self._held:
            raise DataError(f"{path}: no HDF5 file; they are recognised by their suffixes, .h5 and .hdf5")
        self.names = tuple(dict.fromkeys(name for held in self._held.values() for name in held))
        keys = list(self.feature_keys(options).values())
        self._parts = [file for file, held in self._held.items() if any(key in held for key in keys)]
        label = self.key_of("y", options)
        for file, held in self._held.items():
            if file not in self._parts and label in held:
                raise DataError(f"{file}: no data set {keys[0]!r}, which {self._parts[0].name} has")
        self._rows = [self._shape(file, keys[0])[0] for file in self._parts]

    def read(self, name: str) -> np.ndarray:
        """Return a data set that describes the classes, the same in all files that have it."""
        having = [file for file, held in self._held.items() if name in held]
        first = _read(having[0], name)
        for file in having[1:]:
            other = _read(file, name)
            if other.shape != first.shape or not np.array_equal(other, first):
                raise DataError(f"{file}: {name!r} is not what it is in {having[0].name}; it must be the same in all")
        return first

    def column(self, name: str) -> np.ndarray:
        """Return a data set with an entry per row, of all parts; a matrix of folds by class is the same in all."""
        if name in ("fold", "folds") and self._is_matrix(name):
            return self.read(name)
        pieces = [self._part(file, name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return a mask, or row indices over all parts."""
        having = [file for file, held in self._held.items() if name in held]
        found = [_read(file, name).reshape(-1) for file in having]
        if len(found) == 1 and (len(self._parts) == 1 or found[0].dtype != bool):
            return found[0]
        if having != self._parts:
            absent = next(file for file in self._parts if file not in having)
            raise DataError(
                f"{absent}: no data set {name!r}, which {len(having)} of {len(self._parts)} files have; give it in one "
                "file, counting all rows, or in each, counting its own"
            )
        if all(piece.dtype == bool for piece in found):
            return np.concatenate(found)
        starts = np.concatenate([[0], np.cumsum(self._rows)[:-1]])
        for file, rows, piece in zip(having, self._rows, found, strict=True):
            if len(piece) and piece.max() >= rows + base:
                raise DataError(
                    f"{file}: {name!r} runs to {piece.max()} but the {rows} rows of this file count from {base}"
                )
        return np.concatenate([piece.astype(np.int64) + start for piece, start in zip(found, starts, strict=True)])

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a data set of all parts as a stream."""
        pieces: list[Piece] = []
        first = self._parts[0]
        row, stored = self._shape(first, name)[1:], self._held[first][name].dtype
        if stored.kind not in "biuf":
            raise DataError(f"{first}: {name!r} holds {_told(stored)}; expected features, numbers of one shape")
        for file in self._parts:
            shape, dtype = self._shape(file, name), self._held[file][name].dtype
            if shape[1:] != row or dtype != stored:
                raise DataError(
                    f"{file}: {name!r} has rows of shape {shape[1:]} and type {dtype}, but {row} and {stored} in "
                    f"{first.name}; all files need the same"
                )
            pieces.append(Piece(shape[0], partial(blocks_of_rows, file, name), f"{file}, {name!r}"))
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
        found = {key: self._attribute("/", (key,)) for key in TEXTS}
        return {key: text[0] for key, text in found.items() if text and len(text) == 1}

    def _attribute(self, name: str, keys: Sequence[str]) -> list[str] | None:
        """Return the first of some attributes that a data set has in any of the files, as texts."""
        for file, held in self._held.items():
            if name == "/" or name in held:
                with _opened(file) as opened:
                    value = next((opened[name].attrs[key] for key in keys if key in opened[name].attrs), None)
                if value is not None:
                    return [v.decode() if isinstance(v, bytes) else str(v) for v in np.asarray(value).reshape(-1)]
        return None

    def _part(self, file: Path, name: str, rows: int) -> np.ndarray:
        if name not in self._held[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        found = _read(file, name)
        found = found.reshape(-1) if found.ndim == 2 and 1 in found.shape else found
        if len(self._parts) > 1 and len(found) != rows:
            raise DataError(f"{file}: {rows} rows of features but {len(found)} entries in {name!r}")
        return found

    def _having(self, name: str) -> str:
        return next(file.name for file, held in self._held.items() if name in held)

    def _is_matrix(self, name: str) -> bool:
        shape = next(held[name].shape for held in self._held.values() if name in held)
        return len(shape) == 2 and 1 not in shape[1:]

    def _shape(self, file: Path, name: str) -> tuple[int, ...]:
        if name not in self._held[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        shape = self._held[file][name].shape
        if not shape:
            raise DataError(f"{file}: {name!r} is a single value; expected rows of features")
        return shape


class _Extent:
    """Shape and type of a data set."""

    def __init__(self, found: h5py.Dataset) -> None:
        self.shape: tuple[int, ...] = tuple(found.shape or ())
        self.dtype: np.dtype[Any] = found.dtype


@contextmanager
def _opened(file: Path) -> Iterator[h5py.File]:
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except DataError:
        raise
    except (OSError, RuntimeError, KeyError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{file}: cannot be read as an HDF5 file ({reason}); copy or write it again") from error


def _data_sets(file: Path) -> dict[str, _Extent]:
    """Return the data sets of a file by their paths, in the order in which groups list them."""
    found: dict[str, _Extent] = {}

    def look(group: h5py.Group, start: str) -> None:
        for name, item in group.items():
            if isinstance(item, h5py.Group) and not name.startswith("#"):
                look(item, f"{start}{name}/")
            elif isinstance(item, h5py.Dataset):
                found[start + name] = _Extent(item)

    with _opened(file) as opened:
        look(opened, "")
    return found


def _read(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts whole."""
    with _opened(file) as opened:
        item = opened[name]
        if h5py.check_string_dtype(item.dtype) is not None:
            found = np.asarray(item.asstr()[()])
            return np.array(texts(found), dtype=np.str_).reshape(found.shape)
        if item.dtype.kind not in "biufS":
            raise DataError(f"{file}: {name!r} holds {_told(item.dtype)}; expected numbers or texts")
        return np.asarray(item[()])


def _told(dtype: np.dtype[Any]) -> str:
    return "lists of different lengths or references" if dtype.kind == "O" else f"values of type {dtype}"


def blocks_of_rows(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set; every chunk is decompressed once."""
    with _opened(file) as opened:
        item = opened[name]
        row_bytes = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
        rows = rows_of_a_block(item.shape[1:], item.dtype.itemsize)
        if item.chunks is not None:
            tall = min(item.chunks[0], item.shape[0])
            if tall * row_bytes > MOST_BYTES and item.chunks[1:] != item.shape[1:]:
                yield from _through_a_file(item, rows)
                return
            rows = max(tall, rows // tall * tall)
        for start in range(0, item.shape[0], rows):
            yield item[start : start + rows]


def _through_a_file(item: h5py.Dataset, rows: int) -> Iterator[np.ndarray]:
    """Yield rows of a data set whose chunks hold few columns of many rows: written to a file chunk by chunk first."""
    with tempfile.TemporaryFile() as file:
        whole = np.memmap(file, dtype=item.dtype, mode="w+", shape=item.shape)
        for where in item.iter_chunks():
            whole[where] = item[where]
        for start in range(0, item.shape[0], rows):
            yield np.array(whole[start : start + rows])
