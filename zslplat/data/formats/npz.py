"""One ``.npz`` file of arrays; its keys are the names of :mod:`zslplat.data.formats.fields`.

``<stem>.card.toml`` may stand beside it: description, licence, citation, and options to load it with.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.bounds import reading, require_memory
from zslplat.data.formats.fields import Fields, FieldsSource
from zslplat.data.store.array_store import sha256_of


def load_npy(path: Path) -> np.ndarray:
    """Return the array of an ``.npy`` file, never by unpickling; raises what NumPy does."""
    with path.open("rb") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array


def read_npy(path: Path) -> np.ndarray:
    """Return what :func:`load_npy` does; raises :class:`DataError` for what is no such file."""
    with reading(path, "an .npy file", "save it again with numpy.save"):
        return load_npy(path)


class NpzFile(Fields):
    """The keys of an ``.npz`` file, each read when asked for, never by unpickling."""

    thing = "key"

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, "an .npz file", "save it again with numpy.savez"), zipfile.ZipFile(path) as archive:
            self._bytes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        self.names = tuple(self._bytes)

    def read(self, name: str) -> np.ndarray:
        """Return one array."""
        where = f"{self.path}: key {name!r}"
        require_memory(self._bytes[name], where)
        with reading(Path(where), "an array", "save it again as an array of numbers or strings"):
            array: np.ndarray = np.load(self.path, allow_pickle=False)[name]
        return array


class NpzSource(FieldsSource, thing="key"):
    """One ``.npz`` file with features, labels and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads one file of named arrays, as numpy.savez writes it.

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

    >>> np.savez("mine.npz", X=X, y=y, S=S, train=np.flatnonzero(y < 3), test_unseen=np.flatnonzero(y == 3))
    >>> data = zslplat.load_dataset("npz(path=mine.npz)")
    >>> data.X.shape, {name: len(rows) for name, rows in data.splits.items()}
    ((12, 3), {'train': 9, 'test_unseen': 3})

    Related
    -------
    ``csv`` is one table; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
    """

    kind, version = "npz", 2
    expected, suffixes = "an .npz file", (".npz",)
    summary = "an .npz file of your own arrays: X (or several feature sets), y, S, class_names, splits, folds"

    def files(self, path: Path) -> list[Path]:
        """Return the file alone."""
        return [path]

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the keys of the file."""
        return NpzFile(path)

    def origin(self, path: Path) -> dict[str, Any]:
        """Return the file, too, and its checksum."""
        return {**super().origin(path), "sha256": sha256_of(path)}
