"""What a file of PyTorch holds, as PyTorch reads it: what happens in the reading process, with weights alone.

Nothing but tensors, numbers, texts, lists and dictionaries is unpickled (``weights_only=True``).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.bounds import require_memory
from zslplat.data.streams import rows_of_a_block
from zslplat.errors import DataError


def contents(file: Path) -> list[list[Any]]:
    """Return name, shape and type of everything in a file, names of nested dictionaries with ``/`` between.

    A tensor alone has the name ``""``; a pair of tensors with as many rows is ``features`` and ``labels``.
    """
    found = _items(file)
    return [[name, list(array.shape), array.dtype.str] for name, array in ((n, _array(file, n, v)) for n, v in found)]


def whole(file: Path, name: str) -> np.ndarray:
    """Return one of the things in a file as an array."""
    array = _array(file, name, dict(_items(file))[name])
    require_memory(array.nbytes, f"{file}, {name!r}")
    return array


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of one of the tensors in a file."""
    array = _array(file, name, dict(_items(file))[name])
    count = rows_of_a_block(array.shape[1:], array.dtype.itemsize)
    for start in range(0, len(array), count):
        yield array[start : start + count]


def _items(file: Path) -> list[tuple[str, Any]]:
    import torch

    try:
        try:
            # Tensors are mapped, and read where they are looked at; older files cannot be.
            content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:
            content = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{file}: holds Python objects beside tensors, which are never read; save tensors, lists and texts alone: "
            'torch.save({"features": X, "labels": y}, ...)'
        ) from error
    if isinstance(content, list | tuple) and any(isinstance(one, torch.Tensor) for one in content):
        pair = len(content) == 2 and all(isinstance(one, torch.Tensor) and one.ndim for one in content)
        names = ("features", "labels") if pair and len(content[0]) == len(content[1]) else map(str, range(len(content)))
        content = dict(zip(names, content, strict=True))
    return list(_flat("", content))


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
