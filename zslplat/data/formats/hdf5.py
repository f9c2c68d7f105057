"""HDF5: one file, or a folder of files with the same layout whose rows follow each other; read along its chunks.

A data set of the file plays the part that its name says, by the names of :mod:`zslplat.data.formats.fields`:

``features``, ``X``    (n, d) numbers or (n, p, p) matrices, rows are samples; or a group of several data sets, also
                       called ``views``: named feature sets of the same rows
``labels``             or ``label``, ``y``: numbers or names
``signatures``         or ``S``, ``att``: one row per class; or a group of several sets
``splits/train``, ...  or ``train``, ...: row indices or masks; or ``split``, one name per row
``class_names``, ``row_signatures``, ``signature_classes``, ``attribute_names``, ``folds``, ``groups``

Also read are the attributes ``class_names`` of the file and of the labels, ``names`` (or ``columns``,
``attribute_names``) of signatures, and ``description``, ``licence`` and ``citation`` of the file.

Of several files, those with features are the parts, by name, numbers by value; what belongs to rows follows each
other. What describes the classes may lie in any file, also in one without features, and is the same wherever it is
given twice. Row indices count all rows where one file has them, and each file's own rows where every part has some.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.data.formats.feature_files import in_natural_order
from zslplat.data.formats.fields import Fields, FieldsSource


class Hdf5Source(FieldsSource, thing="data set"):
    """One HDF5 file or a folder of them, with features, labels and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads data sets of one file or of a folder of files, along their chunks.

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

    >>> import h5py
    >>> with h5py.File("mine.h5", "w") as file:
    ...     file["features"], file["labels"], file["signatures"] = X, y, S
    ...     file["splits/train"], file["splits/test_unseen"] = np.flatnonzero(y < 3), np.flatnonzero(y == 3)
    >>> data = zslplat.load_dataset("hdf5(path=mine.h5)")
    >>> data.X.shape, {name: len(rows) for name, rows in data.splits.items()}
    ((12, 3), {'train': 9, 'test_unseen': 3})

    Related
    -------
    ``parquet`` and ``npy`` are read in blocks, too; ``xlsa17`` reads the field's own MATLAB files.
    """

    kind, expected, suffixes = "hdf5", "HDF5 files", (".h5", ".hdf5")
    summary = (
        "HDF5 of your own, one file or a folder of many: features (one or several sets), labels, signatures, splits"
    )

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder holds HDF5 files."""
        return bool(data_files(folder))

    def files(self, path: Path) -> list[Path]:
        """Return the files in the order of their rows."""
        return data_files(path)

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the data sets."""
        # The library is large, and few processes read HDF5.
        from zslplat.data.formats.hdf5_files import Hdf5Fields

        return Hdf5Fields(path, data_files(path), options)


def data_files(path: Path) -> list[Path]:
    """Return the file, or the files of a folder by their names, numbers by value."""
    if not path.is_dir():
        return [path]
    return in_natural_order(
        file
        for file in path.iterdir()
        if file.suffix in Hdf5Source.suffixes and file.is_file() and not file.name.startswith((".", "_"))
    )
