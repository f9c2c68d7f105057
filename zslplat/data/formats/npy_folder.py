"""A folder of ``.npy`` files: features that are read through memory maps, block by block, and small parts beside them.

A file plays the part that its name says, by the names of :mod:`zslplat.data.formats.fields`:

``features.npy``           or ``X.npy``: (n, d) numbers or (n, p, p) matrices; ``features-<view>.npy`` and
                           ``X_<view>.npy`` hold named feature sets of the same rows
``labels.npy``             or ``y``, ``label``; also ``labels.csv`` or ``labels.txt``, one line per row
``signatures.npy``         or ``S``, one row per class; ``signatures-<name>.npy`` adds a further set; as ``.csv`` with
                           the class, then its attributes, in each line
``row_signatures.npy``     one row per row of the features
``class_names.npy``        or ``.txt``, ``.csv`` (one per line), ``.json`` (a list)
``train.npy``, ...         row indices or masks, also ``test_seen``, ``test_unseen``, ``test``; or all of them in
                           ``splits.npz`` or ``splits.json``; or one name per row in ``splits.npy``, ``.csv``, ``.txt``
``folds.npy``              by class or by row; ``folds.json`` likewise
``groups.npy``             or ``.csv``, ``.txt``, one entry per row

Other files are left alone. Pickled objects are never read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats import csv_tables
from zslplat.data.formats.bounds import reading, require_memory
from zslplat.data.formats.feature_files import Piece, in_natural_order, rows_of_a_block, stream_of
from zslplat.data.formats.fields import ALIASES, Fields, FieldsSource
from zslplat.data.formats.npz import NpzFile
from zslplat.data.store.rows import RowStream, Stored
from zslplat.errors import DataError

_SUFFIXES = (".npy", ".npz", ".csv", ".txt", ".json")

_FEATURES = ("X", "features")

_SETS = ("S_", "S-", "signatures_", "signatures-", "row_signatures_", "row_signatures-", "signature_classes_")


class NpyFolder(Fields):
    """The files of a folder, each a field; those of ``splits.npz`` and ``splits.json`` are ``splits/<name>``."""

    thing = "file"
    holder = "the folder"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, Path] = {}
        self._splits: dict[str, np.ndarray] = {}
        for file in in_natural_order(path.iterdir()):
            if not _is_field(file):
                continue
            if file.stem in ALIASES["split"] and file.suffix in (".npz", ".json"):
                self._splits |= {f"splits/{name}": rows for name, rows in _read_splits(file).items()}
                continue
            self._add(file.stem, file)
        self.names = (*self._files, *self._splits)

    def _add(self, name: str, file: Path) -> None:
        if name in self._files:
            raise DataError(f"{self.path}: {self._files[name].name} and {file.name} say the same; leave one out")
        self._files[name] = file

    def read(self, name: str) -> np.ndarray:
        """Return the content of a file as an array of numbers or texts."""
        if name in self._splits:
            return self._splits[name]
        path = self._files[name]
        if path.suffix == ".npy":
            array = _map_file(path)
            require_memory(array.nbytes, str(path))
            return np.array(array)
        if path.suffix == ".json":
            return _array_of(_read_json(path), path)
        lines = csv_tables.read_lines(path)
        return np.array(lines, dtype=np.str_) if name in ALIASES["class_names"] else _numbers_where_they_are(lines)

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return the rows of an ``.npy`` file as a stream."""
        path = self._files[name]
        if path.suffix != ".npy":
            raise DataError(f"{path}: features of a folder of .npy files must be an .npy file; save it with numpy.save")
        return npy_stream(path)

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return row indices, as many as there are, or a mask."""
        return self.read(name)

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures; those of a ``.csv`` file name their classes."""
        path = self._files[name]
        if path.suffix == ".csv":
            return csv_tables.read_signatures(path)
        return RawSignatures(self.read(name))


class NpySource(FieldsSource, thing="file (without its suffix)"):
    """A folder with ``features.npy``, ``labels.npy`` and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads a folder of arrays, the features block by block, so that they may exceed the memory.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (n, d)          | features, rows are samples                                |
    | y          | (n,)            | class of each row                                         |
    | S          | (c, a)          | signatures, one row per class                             |
    | splits     |                 | rows of ``train``, ``test_seen`` and ``test_unseen``      |

    Example
    -------
    >>> import numpy as np, zslplat
    >>> rng = np.random.default_rng(0)
    >>> X, y, S = rng.random((12, 3)), np.arange(12) % 4, rng.random((4, 2))

    >>> import pathlib
    >>> folder = pathlib.Path("mine")
    >>> folder.mkdir()
    >>> parts = {"features": X, "labels": y, "signatures": S, "train": np.flatnonzero(y < 3), "test_unseen": y == 3}
    >>> for name, array in parts.items():
    ...     np.save(folder / f"{name}.npy", array)
    >>> data = zslplat.load_dataset("npy(path=mine)")
    >>> data.X.shape, {name: len(rows) for name, rows in data.splits.items()}
    ((12, 3), {'train': 9, 'test_unseen': 3})

    Related
    -------
    ``npz`` is one file; ``parquet`` and ``hdf5`` are read in blocks, too.
    """

    kind, expected = "npy", "features.npy with labels.npy"
    summary = "a folder of .npy files of your own: features (one or several sets), labels, signatures, splits, folds"

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder holds an ``.npy`` file that is called features."""
        starts = tuple(f"{part}{mark}" for part in _FEATURES for mark in "-_.")
        return any(file.name.startswith(starts) for file in folder.glob("*.npy"))

    def files(self, path: Path) -> list[Path]:
        """Return all files that may be fields: an option can give each of them a part."""
        return in_natural_order(filter(_is_field, path.iterdir()))

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the files of the folder."""
        return NpyFolder(path)


def _is_field(file: Path) -> bool:
    """Tell whether a file is a field: any ``.npy`` file, and others whose names say what they are."""
    if not file.is_file() or file.name.startswith(".") or file.suffix not in _SUFFIXES:
        return False
    small = {alias for names in ALIASES.values() for alias in names} - set(ALIASES["X"])
    if file.suffix == ".npz":
        return file.stem in ALIASES["split"]
    return file.suffix == ".npy" or file.stem in small or file.stem.startswith(_SETS)


def _numbers_where_they_are(lines: list[str]) -> np.ndarray:
    cells = np.array(lines, dtype=np.str_)
    return cells.astype(np.int64) if np.char.isdigit(cells).all() else cells


def npy_stream(path: Path) -> RowStream:
    """Return the rows of an ``.npy`` file as a stream; raises :class:`DataError` for what is no such file."""
    array = _map_file(path)
    shape, dtype, where = array.shape, array.dtype, str(path)
    if not shape:
        raise DataError(f"{path}: holds a single value; expected rows of features")
    rows, count = rows_of_a_block(shape[1:], dtype.itemsize), shape[0]
    stored = None
    if isinstance(array, np.memmap) and array.flags.c_contiguous:
        stored = Stored(where, dtype.str, shape, int(array.offset))
    del array

    def read() -> Iterator[np.ndarray]:
        whole = _map_file(path) if stored is None else None
        for start in range(0, count, rows):
            stop = min(start + rows, count)
            if stored is not None:
                # Only the pages of the block are mapped, so that a pass holds no more than that.
                yield stored.take(np.arange(start, stop))
            elif whole is not None:
                yield np.asarray(whole[start:stop])

    return stream_of([Piece(count, read, where)], shape[1:], dtype, where)


def _map_file(path: Path) -> np.ndarray:
    """Return an ``.npy`` file mapped read-only, or read where it is empty."""
    with reading(path, "an .npy file", "save it with numpy.save as an array of numbers or strings"):
        array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    return array


def _read_splits(path: Path) -> dict[str, np.ndarray]:
    if path.suffix == ".json":
        content = _read_json(path)
        if not isinstance(content, dict):
            raise DataError(f'{path}: expected an object of lists of rows, {{"train": [0, 1, ...], ...}}')
        return {str(name): _array_of(rows, path) for name, rows in content.items()}
    file = NpzFile(path)
    return {name: file.read(name) for name in file.names}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}); correct it or remove it") from error


def _array_of(content: Any, path: Path) -> np.ndarray:
    try:
        array = np.array(content)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "biufU" or array.ndim == 0:
        raise DataError(f"{path}: expected a list of numbers or of texts, or of such lists of equal length")
    return array
