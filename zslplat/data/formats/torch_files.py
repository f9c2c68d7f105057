"""Files of PyTorch (``.pt``, ``.pth``): tensors by name. PyTorch is an optional dependency.

A file holds a dictionary of tensors, whose keys are the names of :mod:`zslplat.data.formats.fields` (nested ones with
``/`` between: ``splits/train``), or a pair, features and labels. Of a folder, files with features are parts, whose rows
follow each other (``train.pt`` and ``test.pt`` are splits); a file of one tensor is called what it is: ``labels.pt``.

Nothing but tensors, numbers, texts, lists and dictionaries is unpickled (``weights_only=True``).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.bounds import reading, require_memory
from zslplat.data.formats.feature_files import Piece, in_natural_order, rows_of_a_block, stream_of
from zslplat.data.formats.fields import VIEWS, Fields, FieldsSource
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError


def whole(file: Path, name: str) -> np.ndarray:
    """Return one of the things in a file as an array."""
    array = _array(file, name, _items(file)[name])
    require_memory(array.nbytes, f"{file}, {name!r}")
    return array


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of one of the tensors in a file."""
    array = _array(file, name, _items(file)[name])
    count = rows_of_a_block(array.shape[1:], array.dtype.itemsize)
    for start in range(0, len(array), count):
        yield array[start : start + count]


def _items(file: Path) -> dict[str, Any]:
    """Return what is in a file by name, names of nested dictionaries with ``/`` between.

    A tensor alone has the name ``""``; a pair of tensors with as many rows is ``features`` and ``labels``.
    """
    import torch

    with reading(file, "a file of PyTorch", "save it again with torch.save"):
        try:
            try:
                # Tensors are mapped, and read where they are looked at; older files cannot be.
                content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError:
                content = torch.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise DataError(
                f"{file}: holds Python objects beside tensors, which are never read; save tensors, lists and texts "
                'alone: torch.save({"features": X, "labels": y}, ...)'
            ) from error
    if isinstance(content, list | tuple) and any(isinstance(one, torch.Tensor) for one in content):
        pair = len(content) == 2 and all(isinstance(one, torch.Tensor) and one.ndim for one in content)
        names = ("features", "labels") if pair and len(content[0]) == len(content[1]) else map(str, range(len(content)))
        content = dict(zip(names, content, strict=True))
    return dict(_flat("", content))


def _flat(name: str, content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _flat(f"{name}/{key}" if name else str(key), value)
    else:
        yield name, content


def _array(file: Path, name: str, value: Any) -> np.ndarray:
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            raise DataError(f"{file}: {name!r} is a sparse or quantized tensor; save it dense, X.to_dense()")
        value = value.detach()
        array: np.ndarray = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
        return array
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "biufU":
        raise DataError(f"{file}: {name!r} is no tensor, and no list of numbers or of texts; leave it out")
    return array


class TorchFields(Fields):
    """The tensors of one or several files; those that belong to rows follow each other in the order of the parts."""

    thing = "tensor"

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path = path
        if find_spec("torch") is None:
            raise DataError(
                f"{path}: files of PyTorch are read where it is installed, which it is not here: pip install torch; or "
                'save arrays instead: numpy.savez("mine.npz", X=X.numpy(), y=y.numpy())'
            )
        self._by_file = {file: self._contents(file) for file in files}
        self.names = tuple(dict.fromkeys(name for contents in self._by_file.values() for name in contents))
        self._parts = [file for file, contents in self._by_file.items() if any(_is_features(name) for name in contents)]

    def read(self, name: str) -> np.ndarray:
        """Return a tensor that describes the classes, of the first file that has it."""
        file = next(file for file, contents in self._by_file.items() if name in contents)
        return whole(file, self._by_file[file][name][0])

    def column(self, name: str) -> np.ndarray:
        """Return a tensor with an entry for each row, of all parts."""
        holders = [file for file, contents in self._by_file.items() if name in contents]
        if len(holders) < 2:
            return self.read(name)
        if holders != self._parts:
            raise DataError(
                f"{self.path}: {len(holders)} of {len(self._parts)} files have {name!r}; every part needs one"
            )
        return np.concatenate([whole(file, self._by_file[file][name][0]) for file in holders])

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the names of the files with features, and the rows of each."""
        names = [next(name for name in self._by_file[file] if _is_features(name)) for file in self._parts]
        return [(file.name, self._by_file[file][name][1][0]) for file, name in zip(self._parts, names, strict=True)]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a tensor of all parts as a stream."""
        tensors = [(file, *self._by_file[file][name]) for file in self._by_file if name in self._by_file[file]]
        first, _, shape, dtype = tensors[0]
        pieces = []
        for file, key, extent, kind in tensors:
            if not extent or extent[1:] != shape[1:] or kind != dtype:
                raise DataError(
                    f"{file}: {name!r} has shape {extent} and type {kind}, but {shape} and {dtype} in {first.name}; "
                    "all files need rows of the same shape and type"
                )
            pieces.append(Piece(extent[0], partial(blocks, file, key), f"{file}, {name!r}"))
        return stream_of(pieces, shape[1:], dtype, f"{self.path}, {name!r}")

    def _contents(self, file: Path) -> dict[str, tuple[str, tuple[int, ...], np.dtype[Any]]]:
        """Return {name: (name in the file, shape, type)}; what has no features in it is called what the file is."""
        arrays = {key: _array(file, key, value) for key, value in _items(file).items()}
        named = self.path == file or any(map(_is_features, arrays))
        return {
            (key if key and named else "/".join(filter(None, (file.stem, key)))): (key, array.shape, array.dtype)
            for key, array in arrays.items()
        }


class TorchSource(FieldsSource, thing="tensor"):
    """Tensors that PyTorch saved: a file with a dictionary of them, or a folder of files.

    Equations
    ---------
    Reads tensors by name, features block by block, where PyTorch is installed. Python objects are never unpickled.

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
    >>> import torch, zslplat  # doctest: +SKIP
    >>> X, y, S = torch.rand(12, 3), torch.arange(12) % 4, torch.rand(4, 2)  # doctest: +SKIP
    >>> torch.save({"features": X, "labels": y, "signatures": S, "train": y < 3}, "mine.pt")  # doctest: +SKIP
    >>> zslplat.load_dataset("torch(path=mine.pt)").X.shape  # doctest: +SKIP
    (12, 3)

    Related
    -------
    ``npz`` is one file of arrays, and needs no PyTorch.
    """

    kind, expected, suffixes = "torch", "files of PyTorch", (".pt", ".pth")
    summary = "tensors of your own that PyTorch saved (.pt): features, labels, signatures, splits; needs PyTorch"

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder holds files of PyTorch."""
        return bool(cls().files(folder))

    def files(self, path: Path) -> list[Path]:
        """Return the files in the order of their rows."""
        if not path.is_dir():
            return [path]
        members = (file for file in path.iterdir() if file.suffix in self.suffixes and file.is_file())
        return in_natural_order(file for file in members if not file.name.startswith((".", "_")))

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the tensors."""
        return TorchFields(path, self.files(path))


def _is_features(name: str) -> bool:
    return name in VIEWS or any(name.startswith(f"{stem}{mark}") for stem in VIEWS for mark in "_-/")
