"""Parquet: one file, or a folder of files whose rows follow each other, read row group by row group; and one CSV table.

A column plays the part that its name says, by the names of :mod:`zslplat.data.formats.fields`:

``features``, ``X``    lists of numbers of one length, (n, d), or lists of lists, (n, p, p); ``features_<view>`` or
                       ``X_<view>`` hold named feature sets. Where no column is called so, all columns of lists that
                       play no other part are feature sets; and where there is none, all columns of numbers are the
                       features, in the order of the file, except those that play another part, that
                       ``leave_out=id+weight`` names, or that pandas calls an index
``label``              or ``labels``, ``y``: the class, by name or number; or lists of 0 and 1
``split``              ``train``, ``test_seen``, ``test_unseen``, ``test``, or null for unused rows; or columns of
                       truth values of these names
``group``, ``fold``    per row, as in :mod:`zslplat.data.formats.fields`
``row_signatures``     or ``signatures``: lists of numbers, a signature for each row

``signatures.parquet`` in the folder, or ``<stem>.signatures.parquet`` beside a single file, describes the classes: a
column ``class`` (or ``label``, ``name``, or the only column of texts), and the attributes as columns of numbers or one
column of lists; the order of its rows is the order of the classes, and a class may have several rows.
``signatures-<name>.parquet`` adds a further set. A file of signatures may be CSV, ``.npz`` (``S`` and ``class_names``)
or ``.npy`` (rows in the order of the classes) as well; beside a single file ``signatures.csv`` serves, too, and
``signatures=classes.csv`` names any other.

Kept of a file's metadata: ``class_names`` (a JSON list), those of a Hugging Face ``ClassLabel``, ``description``,
``licence`` and ``citation``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from zslplat.data.formats.feature_files import LEAVE_OUT, in_natural_order, is_signature_file
from zslplat.data.formats.fields import Fields, FieldsSource
from zslplat.data.splits import OF_ROWS, place_of_split, split_of
from zslplat.errors import MissingDataError, require_package

SUFFIX = ".parquet"

# Parts that describe the classes lie in files of their own.
_OF_CLASSES = ("S", "signature_classes", "attribute_names", "class_names")


class ParquetSource(FieldsSource, thing="column", without=_OF_CLASSES):
    """One Parquet file or a folder of them, with features, labels and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads a table, or a folder of tables whose rows follow each other, block by block.

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

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> columns = {"width": X[:, 0], "height": X[:, 1], "label": y}
    >>> pq.write_table(pa.table(columns), "mine.parquet")
    >>> data = zslplat.load_dataset("parquet(path=mine.parquet)")
    >>> data.X.shape, data.class_names
    ((12, 2), ('0', '1', '2', '3'))

    Related
    -------
    ``hdf5`` and ``npy`` are read in blocks, too; ``csv`` is for small data.
    """

    kind, expected = "parquet", "Parquet files"
    suffixes: ClassVar[tuple[str, ...]] = (SUFFIX,)
    leave_out = LEAVE_OUT
    summary = "Parquet of your own, one file or a folder of many: features as lists or columns, labels, splits, groups"

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder holds files with features that end so."""
        return bool(data_files(folder, cls.suffixes))

    def files(self, path: Path) -> list[Path]:
        """Return the files with features, then those of the signatures."""
        return [*data_files(path, self.suffixes), *self._signatures(path, self.options)]

    def _signatures(self, path: Path, options: Mapping[str, Any]) -> list[Path]:
        """Return the files of signatures: the one that an option names, or those that lie there."""
        name = str(options.get("signatures", ""))
        if not is_signature_file(name):
            return signature_files(path)
        named = Path(name).expanduser()
        places = [folder / named for folder in (path if path.is_dir() else path.parent, Path())]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise MissingDataError(f"{places[0]}: no such file of signatures; correct signatures={name}")
        return [file]

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the columns."""
        # The library is large, and few processes read Parquet.
        require_package("pyarrow", "files", f"{path}: reading {self.kind}")
        from zslplat.data.formats.parquet_columns import ParquetFields

        return ParquetFields(path, data_files(path, self.suffixes), self._signatures(path, options), options)


class CsvSource(ParquetSource):
    """One table with features, labels and splits, as a spreadsheet writes it.

    Equations
    ---------
    Reads a line per row, with columns ``label``, ``split`` and numbers; beside ``birds.csv`` lies
    ``birds.signatures.csv`` with a line per class.

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
    >>> _ = pathlib.Path("birds.csv").write_text("label,width,height\\ncat,1,2\\ndog,2,1\\ncat,4,3\\nowl,3,4\\n")
    >>> _ = pathlib.Path("birds.signatures.csv").write_text("class,furry,flies\\ncat,1,0\\ndog,1,0\\nowl,0,1\\n")
    >>> data = zslplat.load_dataset("birds.csv(unseen=owl)")
    >>> data.X.shape, data.class_names, data.splits["test_unseen"].tolist()
    ((4, 2), ('cat', 'dog', 'owl'), [3])

    Related
    -------
    ``npz`` is one file of arrays; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
    """

    kind, expected = "csv", "a .csv file"
    suffixes = (".csv",)
    summary = "CSV of your own: one table with label, split and features, and a table of signatures beside it"

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell that no folder has this layout: a table is one file."""
        return False


def data_files(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """Return the files with features, by their names, numbers by value.

    Where a folder holds none itself, they may lie in ``data``, or in folders called after splits.
    """
    if not path.is_dir():
        return [path]
    of_splits = (folder for folder in path.iterdir() if folder.is_dir() and split_of(folder.name) in OF_ROWS)
    folders = sorted(of_splits, key=lambda folder: place_of_split(split_of(folder.name)))
    return next(filter(None, (_own_files(group, suffixes) for group in ([path], [path / "data"], folders))), [])


def _own_files(folders: Sequence[Path], suffixes: Sequence[str]) -> list[Path]:
    ordered: list[Path] = []
    for folder in folders:
        members = (file for file in folder.glob("*") if file.suffix in suffixes and file.is_file())
        beside = signature_files(folder)
        members = (file for file in members if not file.name.startswith((".", "_")) and file not in beside)
        ordered += in_natural_order(members)
    return ordered


def signature_files(path: Path) -> list[Path]:
    """Return the files of signatures: inside a folder, or beside a single file.

    There they have its stem in front; where none has, those of a folder serve.
    """
    folder, starts = (path, ("",)) if path.is_dir() else (path.parent, (f"{path.stem}.", ""))
    for start in starts:
        names = tuple(f"{start}signatures{mark}" for mark in ".-_")
        files = [file for file in folder.glob("*") if is_signature_file(file.suffix) and file.name.startswith(names)]
        if files:
            return in_natural_order(files)
    return []
