"""One ``.npz`` file of arrays; its keys are the names of :mod:`zslplat.data.formats.fields`.

``<stem>.about.json`` may stand beside it: description, licence, citation, and options to load it with.

NumPy takes the memory for an array before it reads it, by the shape that the header declares. So headers of ``.npy``
files, and of those inside ``.npz`` files, are compared with the file first.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from zslplat.data.formats.bounds import MOST_RATIO, array_bytes, require_memory
from zslplat.data.formats.fields import Fields, FieldsSource
from zslplat.data.store.array_store import sha256_of
from zslplat.errors import DataError

_MOST_HEADER = 10_000  # bytes; as NumPy has it


def load_npy(path: Path) -> np.ndarray:
    """Return the array of an ``.npy`` file, never by unpickling; raises what NumPy and :func:`require_whole` do."""
    with path.open("rb") as file:
        require_whole(file, path.stat().st_size, str(path))
        file.seek(0)
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array


def read_npy(path: Path) -> np.ndarray:
    """Return what :func:`load_npy` does; raises :class:`DataError` for what is no such file."""
    try:
        return load_npy(path)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as an .npy file ({error}); save it again with numpy.save") from error


def load_member(path: Path, name: str) -> np.ndarray:
    """Return an array of an ``.npz`` file by its key; errors are NumPy's and zipfile's own, and those of the checks."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        info = archive.getinfo(f"{name}.npy" if f"{name}.npy" in names else name)
        where = f"{path}: key {name!r}"
        if info.file_size > MOST_RATIO * max(info.compress_size, 1) or info.compress_size > path.stat().st_size:
            raise DataError(
                f"{where} says that it holds {info.file_size} bytes, packed into {info.compress_size}; nothing of it "
                "was read; save the file again"
            )
        with archive.open(info) as file:
            require_whole(file, info.file_size, where)
        with archive.open(info) as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
            return array


def require_whole(file: IO[bytes], size: int, where: str) -> None:
    """Raise :class:`DataError` where an array is declared that is larger than its file of ``size`` bytes, or memory.

    ``file`` is read to the end of the header; raises ValueError for what is no header.
    """
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_MOST_HEADER)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file, max_header_size=_MOST_HEADER)
    else:
        raise ValueError(f"version {version[0]}.{version[1]} of the format, which only tables of mixed types need")
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    declared = _declared(shape, dtype, where)
    if declared > size - file.tell():
        raise DataError(
            f"{where}: the header declares an array of shape {shape} and type {dtype}, {declared} bytes, and "
            f"{size - file.tell()} follow it; save it again with numpy.save"
        )
    require_memory(declared, where)


def _declared(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> int:
    if any(length < 0 for length in shape) or len(shape) > 32:
        raise DataError(f"{where}: the header declares an array of shape {shape}; save it again with numpy.save")
    return array_bytes(shape, dtype)


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
    ``csv`` is a folder of tables; ``npy``, ``parquet`` and ``hdf5`` are for data that are larger than the memory.
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
