"""CSV: one table with a label and a split column, or a folder of tables (:mod:`zslplat.data.formats.csv_tables`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import assemble
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import CARD_FILE, FeatureCard
from zslplat.data.formats.csv_tables import FEATURES, LABELS, read_folder
from zslplat.data.formats.feature_files import without_columns
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.data.store.array_store import sha256_of
from zslplat.errors import UsageError


class CsvSource(ParquetSource):
    r"""One table with features, labels and splits, or a folder with a table for each.

    Equations
    ---------
    Reads what a spreadsheet writes. A table has a line per row, and columns ``label``, ``split`` and numbers; beside
    ``birds.csv`` lies ``birds.signatures.csv`` with a line per class. A folder has a table for each part.

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
    >>> data = zslplat.load_dataset("mine/")
    >>> data.X.shape, data.class_names, data.splits["test_unseen"].tolist()
    ((4, 2), ('cat', 'dog', 'owl'), [3])

    >>> _ = pathlib.Path("birds.csv").write_text("label,width,height\ncat,1,2\ndog,2,1\ncat,4,3\nowl,3,4\n")
    >>> _ = pathlib.Path("birds.signatures.csv").write_text("class,furry,flies\ncat,1,0\ndog,1,0\nowl,0,1\n")
    >>> zslplat.load_dataset("birds.csv(unseen=owl)").splits["test_unseen"].tolist()
    [3]

    Related
    -------
    ``npz`` is one file of arrays; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
    """

    summary = "CSV of your own: one table with label and split, or a folder of features, labels, signatures, splits"
    kind, expected = "csv", "a .csv file, features.csv with labels.csv"
    suffixes = (".csv",)

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder has this layout."""
        return (folder / FEATURES).is_file() and (folder / LABELS).is_file()

    def files(self, path: Path) -> list[Path]:
        """Return all CSV files of the folder, or the table with what describes its classes."""
        return sorted(path.glob("*.csv")) if path.is_dir() else super().files(path)

    def read_files(self, places: DataPlaces, path: Path, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
        """Read the tables."""
        if not path.is_dir():
            return super().read_files(places, path, card, options)
        strange = sorted(options.keys() - {"signatures", "leave_out", "unseen"})
        if strange:
            raise UsageError(f"{path}: {strange[0]} is an option of one table; a folder has a file for each part")
        raw = read_folder(path)
        raw.default_signatures, raw.unseen = str(options.get("signatures", "")), options.get("unseen")
        assert isinstance(raw.X, np.ndarray)
        raw.X, raw.columns = without_columns(raw.X, raw.columns, options.get("leave_out", ""), str(path))
        files = (*self.files(path), path / CARD_FILE)
        sums = {p.name: sha256_of(p) for p in files if p.name != FEATURES and p.is_file()}
        return assemble(raw, card, {"loader": "csv", "path": str(path), "options": dict(options), "sha256": sums})
