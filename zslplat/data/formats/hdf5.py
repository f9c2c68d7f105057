"""HDF5: one file, read along its chunks.

A data set of the file plays the part that its name says, by the names of :mod:`zslplat.data.formats.fields`:

``features``, ``X``    (n, d) numbers or (n, p, p) matrices, rows are samples; or a group of several data sets, also
                       called ``views``: named feature sets of the same rows
``labels``             or ``label``, ``y``: numbers or names
``signatures``         or ``S``, ``att``: one row per class; or a group of several sets
``splits/train``, ...  or ``train``, ...: row indices or masks; or ``split``, one name per row
``class_names``, ``row_signatures``, ``signature_classes``, ``attribute_names``, ``folds``, ``groups``

Also read are the attributes ``class_names`` of the file and of the labels, ``names`` (or ``columns``,
``attribute_names``) of signatures, and ``description``, ``licence`` and ``citation`` of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.data.formats.fields import Fields, FieldsSource


class Hdf5Source(FieldsSource, thing="data set"):
    """One HDF5 file with features, labels and, for zero-shot tasks, signatures and splits.

    Equations
    ---------
    Reads the data sets of one file, along their chunks.

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

    kind, expected, suffixes = "hdf5", "an HDF5 file", (".h5", ".hdf5")
    summary = "an HDF5 file of your own: features (one or several sets), labels, signatures, splits"

    def files(self, path: Path) -> list[Path]:
        """Return the file alone."""
        return [path]

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the data sets."""
        # The library is large, and few processes read HDF5.
        from zslplat.data.formats.hdf5_files import Hdf5Fields

        return Hdf5Fields(path)
