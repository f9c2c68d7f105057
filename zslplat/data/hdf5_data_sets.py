"""The data sets of HDF5 files as named fields; what they mean is told in :mod:`zslplat.data.hdf5`.

The files are read in another process (:mod:`zslplat.data.hdf5_reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data import hdf5_reading, reader_process
from zslplat.data.assembly import RawSignatures
from zslplat.data.fields import TEXTS, Fields
from zslplat.data.rows import RowStream
from zslplat.data.streams import Piece, stream_of
from zslplat.errors import DataError

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
        first = _whole(having[0], name)
        for file in having[1:]:
            other = _whole(file, name)
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
        found = [_whole(file, name).reshape(-1) for file in having]
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

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the names of the files with features, and the rows of each."""
        return [(file.name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a data set of all parts as a stream."""
        pieces: list[Piece] = []
        first = self._parts[0]
        row, stored = self._shape(first, name)[1:], self._held[first][name].dtype
        if stored.kind not in "biuf":
            told = self._held[first][name].told
            raise DataError(f"{first}: {name!r} holds {told}; expected features, numbers of one shape")
        for file in self._parts:
            shape, dtype = self._shape(file, name), self._held[file][name].dtype
            if shape[1:] != row or dtype != stored:
                raise DataError(
                    f"{file}: {name!r} has rows of shape {shape[1:]} and type {dtype}, but {row} and {stored} in "
                    f"{first.name}; all files need the same"
                )
            pieces.append(Piece(shape[0], partial(_blocks, file, name), f"{file}, {name!r}"))
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
                found: list[str] | None = _answer(hdf5_reading.attribute, file, name, list(keys))
                if found is not None:
                    return found
        return None

    def _part(self, file: Path, name: str, rows: int) -> np.ndarray:
        if name not in self._held[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        found = _whole(file, name)
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
    """Shape and type of a data set; ``told`` is the type in words."""

    def __init__(self, shape: Sequence[int], kind: str, told: str) -> None:
        self.shape, self.dtype, self.told = tuple(shape), np.dtype(kind), told


def _data_sets(file: Path) -> dict[str, _Extent]:
    """Return the data sets of a file by their paths, in the order in which groups list them."""
    return {name: _Extent(shape, kind, told) for name, shape, kind, told in _answer(hdf5_reading.data_sets, file)}


def _whole(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts whole."""
    found: np.ndarray = _answer(hdf5_reading.whole, file, name)
    return found


def _blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set."""
    return reader_process.stream(hdf5_reading.blocks, file, name, unreadable=partial(_unreadable, file))


def _answer(function: Callable[..., Any], file: Path, *arguments: Any) -> Any:
    return reader_process.read(function, file, *arguments, unreadable=partial(_unreadable, file))


def _unreadable(file: Path, reason: str) -> DataError:
    return DataError(f"{file}: cannot be read as an HDF5 file ({reason}); copy or write it again")
