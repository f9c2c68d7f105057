"""Arrays that people bring: one ``.npz`` file, or a folder of CSV files.

The keys of an ``.npz`` file are the names of :mod:`zslplat.data.fields`.

Files of a CSV folder (comma-separated; a header line is recognised and optional):

``features.csv``        one line per row, numbers only
``labels.csv``          one line per row: the class, by name or number
``signatures.csv``      class, then its attributes; the order of lines is the order of classes; a class may have
                        several lines; ``signatures-<name>.csv`` adds a further set
``row_signatures.csv``  one line per row, numbers only
``splits.csv``          one line per row: ``train``, ``test_seen``, ``test_unseen``, ``test``, or empty for unused rows
``folds.csv``           class, then per fold ``train``, ``validation`` or empty
``groups.csv``          one line per row: the group

A folder may hold ``about.json``, an ``.npz`` may have ``<stem>.about.json`` beside it: description, licence, citation,
and options to load it with.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data import csv_tables
from zslplat.data.about import FILE, read_about
from zslplat.data.array_store import file_stamp, sha256_of
from zslplat.data.assembly import assemble
from zslplat.data.dataset import Dataset
from zslplat.data.feature_forms import LEAVE_OUT, without_columns
from zslplat.data.fields import Fields
from zslplat.data.fields_source import FieldsSource, field_parameters
from zslplat.data.kept import kept_dataset
from zslplat.data.npy_header import load_member
from zslplat.data.roots import find_file, find_folder
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Parameter, Text

_VERSION = 1


class NpzFile(Fields):
    """The keys of an ``.npz`` file, each read when asked for, never by unpickling."""

    thing = "key"

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self.names = tuple(name.removesuffix(".npy") for name in archive.namelist())
        except Exception as error:
            raise DataError(
                f"{path}: cannot be read as an .npz file ({error}); save it again with numpy.savez"
            ) from error

    def read(self, name: str) -> np.ndarray:
        """Return one array."""
        try:
            return load_member(self.path, name)
        except DataError:
            raise
        except ValueError as error:
            if "pickle" not in str(error).lower():
                raise DataError(f"{self.path}: key {name!r} cannot be read ({error}); save the file again") from error
            raise DataError(
                f"{self.path}: key {name!r} holds pickled Python objects, which are never read; save it as an array "
                "of numbers or strings"
            ) from error
        except Exception as error:
            raise DataError(f"{self.path}: key {name!r} cannot be read ({error}); save the file again") from error


class NpzSource(FieldsSource):
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
    >>> data = zslplat.load_dataset("npz(file=mine.npz)")
    >>> data.X.shape, {name: len(rows) for name, rows in data.splits.items()}
    ((12, 3), {'train': 9, 'test_unseen': 3})

    Related
    -------
    ``csv`` is a folder of tables; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
    """

    kind, located, version = "npz", "file", 2
    summary = "an .npz file of your own arrays: X (or several feature sets), y, S, class_names, splits, folds"
    licence = "that of the data in the file"
    parameters: ClassVar = {
        "file": Parameter("the file: a name under the data root, or a path", Text()),
        **field_parameters("key"),
    }

    def find(self, places: DataPlaces, name: str) -> Path:
        """Return the file."""
        return find_file(places, name if name.endswith(".npz") else name + ".npz")

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """Return the file alone."""
        return [path]

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the keys of the file."""
        return NpzFile(path)

    def told(self, path: Path) -> dict[str, Any]:
        """Return the file and its checksum."""
        return {"file": str(path), "sha256": sha256_of(path)}


class CsvSource(DataSource):
    r"""A folder with ``features.csv``, ``labels.csv`` and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads what a spreadsheet writes: features, labels, signatures and splits as tables of a folder.

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
    >>> import pathlib, zslplat
    >>> mine = pathlib.Path("mine")
    >>> mine.mkdir()
    >>> _ = (mine / "features.csv").write_text("width,height\n1,2\n2,1\n4,3\n3,4\n")
    >>> _ = (mine / "labels.csv").write_text("cat\ncat\ndog\nowl\n")
    >>> _ = (mine / "signatures.csv").write_text("class,furry,flies\ncat,1,0\ndog,1,0\nowl,0,1\n")
    >>> _ = (mine / "splits.csv").write_text("train\ntrain\ntrain\ntest_unseen\n")
    >>> data = zslplat.load_dataset("csv(folder=mine)")
    >>> data.X.shape, data.class_names, data.splits["test_unseen"].tolist()
    ((4, 2), ('cat', 'dog', 'owl'), [3])

    Related
    -------
    ``npz`` is one file of arrays; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
    """

    summary = "a folder of CSV files of your own: features, labels, signatures, splits, folds"
    licence = "that of the data in the folder"
    parameters: ClassVar = {
        "folder": Parameter("the folder: a name under the data root, or a path", Text()),
        "signatures": Parameter("the signature set that is used when nothing is said", Text()),
        "leave_out": LEAVE_OUT,
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Read the folder, or what an earlier load of it kept under ``places.cache``."""
        if "folder" not in self.options:
            raise UsageError("csv: folder is missing; write csv(folder=mydata)")
        folder = find_folder(places, str(self.options["folder"]))
        about = read_about(folder, self.parameters)
        options = {**about.options, **{k: v for k, v in self.options.items() if k != "folder"}}
        paths = sorted(p for p in folder.iterdir() if p.suffix == ".csv" or p.name == FILE)
        key = key_of("csv", _VERSION, [file_stamp(p) for p in paths], options)

        def build() -> Dataset:
            raw = csv_tables.read_folder(folder)
            raw.default_signatures = str(options.get("signatures", ""))
            assert isinstance(raw.X, np.ndarray)
            raw.X, raw.columns = without_columns(raw.X, raw.columns, options.get("leave_out", ""), str(folder))
            sums = {p.name: sha256_of(p) for p in paths if p.name != csv_tables.FEATURES}
            return assemble(raw, about, {"loader": "csv", "folder": str(folder), "sha256": sums})

        return kept_dataset(places.cache, key, build)


def is_csv_folder(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return (folder / csv_tables.FEATURES).is_file() and (folder / csv_tables.LABELS).is_file()
