"""Files of PyTorch (``.pt``, ``.pth``): tensors by name. PyTorch is an optional dependency.

A file holds a dictionary of tensors, whose keys are the names of :mod:`zslplat.data.formats.fields` (nested ones with
``/`` between: ``splits/train``), or a pair, features and labels.

Nothing but tensors, numbers, texts, lists and dictionaries is unpickled (``weights_only=True``).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.bounds import reading, require_memory
from zslplat.data.formats.feature_files import Piece, rows_of_a_block, stream_of
from zslplat.data.formats.fields import Fields, FieldsSource
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError


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
    """The tensors of a file, which are mapped where the file allows it."""

    thing = "tensor"

    def __init__(self, path: Path) -> None:
        self.path = path
        if find_spec("torch") is None:
            raise DataError(
                f"{path}: files of PyTorch are read where it is installed, which it is not here: pip install torch; or "
                'save arrays instead: numpy.savez("mine.npz", X=X.numpy(), y=y.numpy())'
            )
        self._arrays = {name: _array(path, name, value) for name, value in _items(path).items()}
        self.names = tuple(self._arrays)

    def read(self, name: str) -> np.ndarray:
        """Return a tensor as an array."""
        require_memory(self._arrays[name].nbytes, f"{self.path}, {name!r}")
        return self._arrays[name]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a tensor as a stream of its rows."""
        array, where = self._arrays[name], f"{self.path}, {name!r}"
        if not array.ndim:
            raise DataError(f"{where}: is a single value; expected rows of features")
        count = rows_of_a_block(array.shape[1:], array.dtype.itemsize)

        def read() -> Iterator[np.ndarray]:
            for start in range(0, len(array), count):
                yield array[start : start + count]

        return stream_of([Piece(len(array), read, where)], array.shape[1:], array.dtype, where)


class TorchSource(FieldsSource, thing="tensor"):
    """Tensors that PyTorch saved: a file with a dictionary of them.

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

    kind, expected, suffixes = "torch", "a file of PyTorch", (".pt", ".pth")
    summary = "tensors of your own that PyTorch saved (.pt): features, labels, signatures, splits; needs PyTorch"

    def files(self, path: Path) -> list[Path]:
        """Return the file alone."""
        return [path]

    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the tensors."""
        return TorchFields(path)
