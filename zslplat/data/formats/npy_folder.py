"""A folder of ``.npy`` files, read through memory maps, the features block by block.

A file plays the part that its name says, by the names of :mod:`zslplat.data.formats.fields`: ``features.npy`` or
``X.npy`` (n, d) or (n, p, p), ``labels.npy``, ``signatures.npy``, ``train.npy`` and so on. ``features-<view>.npy`` and
``X_<view>.npy`` hold named feature sets of the same rows, ``signatures-<name>.npy`` a further set of signatures.
Signatures may be ``.csv`` files with the class, then its attributes, in each line.

Other files are left alone. Pickled objects are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats import csv_tables
from zslplat.data.formats.bounds import reading, require_memory
from zslplat.data.formats.feature_files import Piece, in_natural_order, rows_of_a_block, stream_of
from zslplat.data.formats.fields import Fields, FieldsSource
from zslplat.data.store.rows import RowStream, Stored
from zslplat.errors import DataError

_FEATURES = ("X", "features")

_SETS = ("S", "signatures")


class NpyFolder(Fields):
    """The files of a folder, each a field."""

    thing = "file"
    holder = "the folder"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, Path] = {}
        for file in filter(_is_field, in_natural_order(path.iterdir())):
            if file.stem in self._files:
                raise DataError(f"{path}: {self._files[file.stem].name} and {file.name} say the same; leave one out")
            self._files[file.stem] = file
        self.names = tuple(self._files)

    def read(self, name: str) -> np.ndarray:
        """Return the content of an ``.npy`` file."""
        path = self._files[name]
        array = _map_file(path)
        require_memory(array.nbytes, str(path))
        return np.array(array)

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return the rows of an ``.npy`` file as a stream."""
        return npy_stream(self._files[name])

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return row indices, as many as there are, or a mask."""
        return self.read(name)

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures; those of a ``.csv`` file name their classes."""
        path = self._files[name]
        return csv_tables.read_signatures(path) if path.suffix == ".csv" else RawSignatures(self.read(name))


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
    """Tell whether a file is a field: any ``.npy`` file, and signatures in CSV."""
    if not file.is_file() or file.name.startswith("."):
        return False
    return file.suffix == ".npy" or (file.suffix == ".csv" and re.split("[-_]", file.stem)[0] in _SETS)


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
