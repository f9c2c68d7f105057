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

Nothing is read that lies in another file, whatever links say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.bounds import array_bytes, reading, require_memory
from zslplat.data.formats.feature_files import BLOCK_BYTES, Piece, rows_of_a_block, stream_of
from zslplat.data.formats.fields import TEXTS, Fields, FieldsSource, texts
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError, require_package
from zslplat.names import visible

# The library is large, and few processes read HDF5: functions that use it import it.
if TYPE_CHECKING:
    import h5py

# Bytes of a block where chunks hold many rows, and of the chunks that are remembered where they hold too many.
MOST_BYTES = 8 * BLOCK_BYTES


@contextmanager
def opened(file: Path) -> Iterator[h5py.File]:
    """Open a file to be read; within, errors of the library say which file it is."""
    require_package("h5py", "files", f"{file}: reading HDF5")
    import h5py

    with reading(file, "an HDF5 file"), h5py.File(file, "r", rdcc_nbytes=MOST_BYTES) as content:
        yield content


def data_sets_of(group: h5py.Group, start: str = "") -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield (path, data set) in the order in which groups list them; links to other files are passed over."""
    import h5py

    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield start + name, item
        elif isinstance(item, h5py.Group) and not name.startswith("#"):
            yield from data_sets_of(item, f"{start}{name}/")


def whole(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts."""
    import h5py

    with opened(file) as content:
        item = _data_set(file, content, name)
        require_memory(array_bytes(item.shape or (), item.dtype), f"{file}, {name!r}")
        if h5py.check_string_dtype(item.dtype) is not None:
            strings = np.asarray(item.asstr()[()])
            return np.array(texts(strings), dtype=np.str_).reshape(strings.shape)
        if item.dtype.kind not in "biufS":
            raise DataError(f"{file}: {name!r} holds {_type_text(item.dtype)}; expected numbers or texts")
        return np.asarray(item[()])


def attribute(file: Path, name: str, keys: Sequence[str]) -> list[str] | None:
    """Return the first of some attributes that a data set has, or with ``/`` the file, as texts."""
    with opened(file) as content:
        item = content[name]
        key = next((key for key in keys if key in item.attrs), None)
        if key is None:
            return None
        return names_of(np.asarray(item.attrs[key]), f"{file}, attribute {key!r} of {name!r}")


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set of numbers, whole chunks at a time where these are not too tall."""
    with opened(file) as content:
        item = _data_set(file, content, name)
        row_bytes = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
        rows = rows_of_a_block(item.shape[1:], item.dtype.itemsize)
        tall = min(item.chunks[0], item.shape[0]) if item.chunks else 1
        if tall * row_bytes <= MOST_BYTES:
            rows = max(tall, rows // tall * tall)
        for start in range(0, item.shape[0], rows):
            yield item[start : start + rows]


def _data_set(file: Path, content: h5py.File, name: str) -> h5py.Dataset:
    """Return a data set that can be read: neither in other files nor compressed by a filter that is not installed."""
    import h5py

    item = content[name]
    if item.is_virtual or item.external:
        raise DataError(f"{file}: {name!r} keeps its content in another file; copy it into this one")
    made = item.id.get_create_plist()
    for position in range(made.get_nfilters()):
        code, _flags, _values, filter_name = made.get_filter(position)
        if not h5py.h5z.filter_avail(code):
            shown = filter_name.decode(errors="replace").strip("\0") if filter_name else "no name"
            raise DataError(
                f"{file}: {name!r} is compressed by HDF5's filter {code} ({visible(shown)}), which is not installed; "
                "pip install hdf5plugin and let HDF5_PLUGIN_PATH be what python -c 'import hdf5plugin; "
                "print(hdf5plugin.PLUGIN_PATH)' prints, or write the file with gzip or without compression"
            )
    return item


def _type_text(dtype: np.dtype[Any]) -> str:
    return "lists of different lengths or references" if dtype.kind == "O" else f"values of type {dtype}"


_NAMES = ("names", "columns", "attribute_names")


class Hdf5Fields(Fields):
    """The data sets of an HDF5 file, by their paths inside."""

    thing = "data set"

    def __init__(self, path: Path) -> None:
        self.path = path
        with opened(path) as content:
            self._extents = {
                name: (tuple(item.shape or ()), item.dtype, _type_text(item.dtype))
                for name, item in data_sets_of(content)
            }
        self.names = tuple(self._extents)

    def read(self, name: str) -> np.ndarray:
        """Return a data set that describes the classes."""
        return whole(self.path, name)

    def column(self, name: str) -> np.ndarray:
        """Return a data set with an entry per row; one column is a vector."""
        array = whole(self.path, name)
        if name in ("fold", "folds") and array.shape[1:] != (1,):
            return array
        return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return a mask, or row indices."""
        return whole(self.path, name).reshape(-1)

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a data set as a stream."""
        (shape, stored, type_text), where = self._extents[name], f"{self.path}, {name!r}"
        if not shape:
            raise DataError(f"{self.path}: {name!r} is a single value; expected rows of features")
        if stored.kind not in "biuf":
            raise DataError(f"{self.path}: {name!r} holds {type_text}; expected features, numbers of one shape")
        return stream_of([Piece(shape[0], partial(blocks, self.path, name), where)], shape[1:], stored, where)

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures, with the names of their attributes where an attribute gives them."""
        return RawSignatures(self.read(name), names=attribute(self.path, name, _NAMES) or ())

    def class_names(self) -> Sequence[str] | None:
        """Return what the attribute class_names of the file or of the labels says."""
        labels = next((name for name in self.aliases["y"] if name in self.names), "")
        beside = attribute(self.path, labels, ("class_names", "names")) if labels else None
        return beside or attribute(self.path, "/", ("class_names",))

    def texts(self) -> Mapping[str, str]:
        """Return the attributes of the file that are texts."""
        attributes = {key: attribute(self.path, "/", (key,)) for key in TEXTS}
        return {key: text[0] for key, text in attributes.items() if text and len(text) == 1}


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
        return Hdf5Fields(path)
