"""Headers of ``.npy`` files, and of those inside ``.npz`` files: what they declare is compared with what is there.

NumPy takes the memory for an array before it reads it, by the shape that the header declares.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from zslplat.data.bounds import MOST_RATIO, array_bytes, require_memory
from zslplat.errors import DataError

_MOST_HEADER = 10_000  # bytes; as NumPy has it


def load_npy(path: Path) -> np.ndarray:
    """Return the array of an ``.npy`` file, never by unpickling; raises what NumPy and :func:`require_whole` do."""
    with path.open("rb") as file:
        require_whole(file, path.stat().st_size, str(path))
        file.seek(0)
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array


def load_member(path: Path, name: str) -> np.ndarray:
    """Return an array of an ``.npz`` file by its key; errors are NumPy's and zipfile's own, and those of the checks."""
    with zipfile.ZipFile(path) as archive:
        held = archive.namelist()
        info = archive.getinfo(f"{name}.npy" if f"{name}.npy" in held else name)
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
