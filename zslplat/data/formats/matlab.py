"""Variables of MATLAB files, whatever the version of the file, each read when it is asked for.

Up to version 7 a file is read by SciPy, version 7.3 (HDF5, where every matrix is stored transposed and a cell array is
a matrix of references) by h5py. Either way a matrix comes in MATLAB's own orientation. :class:`MatlabFile` names the
file in errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.bounds import array_bytes, reading, require_memory
from zslplat.errors import DataError, MissingDataError, require_package

_NUMBERS = (
    "double",
    "single",
    "logical",
    "sparse",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)


def variables(path: Path, is_hdf5: bool) -> dict[str, list[int] | None]:
    """Return {name: shape} of all variables, None in place of the shape of what holds no numbers."""
    if is_hdf5:
        require_package("h5py", "files", f"{path}: reading a .mat file of version 7.3")
        import h5py

        with h5py.File(path, "r") as file:
            names = [key for key in file if not key.startswith("#")]
            return {name: _hdf5_shape(file, name) for name in names}
    import scipy.io

    return {
        name: [int(length) for length in shape] if kind in _NUMBERS else None
        for name, shape, kind in scipy.io.whosmat(path)
    }


def numbers(path: Path, is_hdf5: bool, name: str) -> np.ndarray | None:
    """Return a variable as a dense array, at least 2-d; None where it is no numeric matrix."""
    value = _hdf5_numbers(path, name) if is_hdf5 else _old_variable(path, name)
    if hasattr(value, "toarray"):
        require_memory(array_bytes(value.shape, value.dtype), f"{path}, variable {name!r}")
        value = value.toarray()
    return value if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" else None


def strings(path: Path, is_hdf5: bool, name: str) -> list[str] | None:
    """Return a cell array of strings, or the rows of a character matrix; None where it holds something else.

    A cell in a cell is taken out of it. Raises :class:`DataError`, with the place, for a cell that holds anything but
    one text.
    """
    if is_hdf5:
        return _hdf5_strings(path, name)
    value = _inside(_old_variable(path, name))
    if value.dtype.kind == "U":
        return [str(text) for text in value.ravel()]
    if value.dtype != object:
        return None
    cells = [_inside(cell) for cell in value.ravel()]
    for number, cell in enumerate(cells, start=1):
        if cell.dtype.kind != "U" or cell.size > 1:
            raise _no_text(path, name, number, _kind_of(cell))
    return [str(cell.item()) if cell.size else "" for cell in cells]


def _inside(cell: Any) -> np.ndarray:
    """Return what lies in cells of one element each."""
    value = np.asarray(cell)
    while value.dtype == object and value.size == 1:
        value = np.asarray(value.item())
    return value


def _kind_of(cell: np.ndarray) -> str:
    if cell.dtype.names:
        return "a struct"
    if not cell.size:
        return "empty"
    kind = {"U": "texts", "O": "cells"}.get(cell.dtype.kind, "numbers")
    return f"{cell.size} {kind}" if cell.size > 1 else f"the number {cell.item()}"


def _no_text(path: Path, name: str, number: int, kind: str) -> DataError:
    return DataError(
        f"{path}: cell {number} of {name!r} is {kind}; expected one text, as in {{'ox'; 'mole'}}; write names there"
    )


def _old_variable(path: Path, name: str) -> Any:
    import scipy.io

    return scipy.io.loadmat(path, variable_names=[name])[name]


def _hdf5_shape(file: Any, name: str) -> list[int] | None:
    import h5py

    node = file[name]
    if isinstance(node, h5py.Group):
        if "MATLAB_sparse" not in node.attrs or "jc" not in node:
            return None
        return [int(node.attrs["MATLAB_sparse"]), len(node["jc"]) - 1]
    if _matlab_class(node) == "char" or node.dtype.kind not in "biuf" or node.shape is None:
        return None
    if node.attrs.get("MATLAB_empty", 0):
        return [int(length) for length in np.asarray(node[()]).ravel()]
    shape = [int(length) for length in reversed(node.shape)]
    return [1] * (2 - len(shape)) + shape


def _hdf5_numbers(path: Path, name: str) -> Any:
    import h5py

    with h5py.File(path, "r") as file:
        node = file[name]
        if isinstance(node, h5py.Group):
            return _sparse(path, name, node)
        require_memory(array_bytes(node.shape or (), node.dtype), f"{path}, variable {name!r}")
        value = np.asarray(node[()])
        if _matlab_class(node) == "char" or value.dtype.kind not in "biuf":
            return None
        if node.attrs.get("MATLAB_empty", 0):
            return np.zeros([int(length) for length in value.ravel()])
        return np.atleast_2d(value.T)


def _hdf5_strings(path: Path, name: str) -> list[str] | None:
    import h5py

    with h5py.File(path, "r") as file:
        node = file[name]
        if not isinstance(node, h5py.Dataset):
            return None
        require_memory(array_bytes(node.shape or (), node.dtype), f"{path}, variable {name!r}")
        value = np.asarray(node[()])
        if value.dtype == object and value.size == 1:
            node = _hdf5_inside(path, name, 1, file, value.item())
            value = np.asarray(node[()])
        if value.dtype == object:
            # MATLAB runs through a cell array by columns, which are the rows of the stored transpose.
            return [_hdf5_text(path, name, n, file, cell) for n, cell in enumerate(value.ravel(), start=1)]
        if _matlab_class(node) == "char":
            return ["".join(map(chr, column)) for column in np.atleast_2d(value).T.astype(int)]
        return None


def _hdf5_text(path: Path, name: str, number: int, file: Any, reference: Any) -> str:
    """Return the text of a cell."""
    cell = _hdf5_inside(path, name, number, file, reference)
    kind, value = _matlab_class(cell), np.asarray(cell[()])
    if isinstance(cell[()], bytes):
        return str(cell[()].decode())
    if cell.attrs.get("MATLAB_empty", 0):
        value = np.zeros(0)
    if kind != "char" or (value.ndim == 2 and value.shape[1] > 1):
        raise _no_text(path, name, number, f"{value.shape[1]} texts" if kind == "char" else _kind_of(value))
    return "".join(map(chr, value.ravel().astype(int)))


def _hdf5_inside(path: Path, name: str, number: int, file: Any, reference: Any) -> Any:
    """Return what lies in cells of one element each."""
    import h5py

    cell = file[reference]
    while isinstance(cell, h5py.Dataset) and _matlab_class(cell) == "cell" and cell.size == 1:
        if cell.attrs.get("MATLAB_empty", 0):
            break
        cell = file[np.asarray(cell[()]).item()]
    if not isinstance(cell, h5py.Dataset):
        raise _no_text(path, name, number, "a struct")
    return cell


def _matlab_class(node: Any) -> str:
    value = node.attrs.get("MATLAB_class", b"")
    return value.decode() if isinstance(value, bytes) else str(value)


def _sparse(path: Path, name: str, group: Any) -> Any:
    """Read MATLAB's compressed sparse columns; the number of rows is an attribute."""
    from scipy.sparse import csc_matrix

    if "MATLAB_sparse" not in group.attrs or "jc" not in group:
        return None
    parts = {part: group[part] for part in ("jc", "ir", "data") if part in group}
    for part in parts.values():
        require_memory(array_bytes(part.shape or (), part.dtype), f"{path}, variable {name!r}")
    starts = parts["jc"][()]
    rows = int(group.attrs["MATLAB_sparse"])
    data = parts["data"][()] if "data" in parts else np.zeros(0)
    index = parts["ir"][()] if "ir" in parts else np.zeros(0, dtype=int)
    return csc_matrix((data, index, starts), shape=(rows, len(starts) - 1))


class MatlabFile:
    """A ``.mat`` file, read variable by variable; nothing is kept open.

    Raises :class:`DataError` when the file is missing or is no MATLAB file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            near = sorted(p.name for p in path.parent.glob("*.mat")) if path.parent.is_dir() else []
            hint = f"the folder has {', '.join(near)}" if near else "there is no .mat file in that folder"
            raise MissingDataError(f"{path}: no such file; {hint}")
        self.path = path
        self._is_hdf5 = _starts_as_hdf5(path)
        with self._reading():
            self._shapes = variables(path, self._is_hdf5)
        self.names: tuple[str, ...] = tuple(self._shapes)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a numeric variable, at least 2-d, unread; raises what :meth:`numbers` does."""
        self._require(name)
        shape = self._shapes[name]
        if shape is None:
            raise DataError(f"{self.path}: variable {name!r} is no numeric matrix")
        return tuple(shape)

    def numbers(self, name: str) -> np.ndarray:
        """Return a numeric (or logical, or sparse) variable as a dense array of its own type, at least 2-d.

        Raises :class:`DataError` when there is no such variable or it holds something else.
        """
        self._require(name)
        with self._reading():
            value = numbers(self.path, self._is_hdf5, name)
        if value is None:
            raise DataError(f"{self.path}: variable {name!r} is no numeric matrix")
        return value

    def slices(self, name: str, axis: int, length: int) -> Iterator[np.ndarray]:
        """Yield a numeric variable in slices of some length along an axis, which comes first in each.

        Raises what :meth:`numbers` does.
        """
        value = np.moveaxis(self.numbers(name), axis, 0)
        for start in range(0, len(value), length):
            yield value[start : start + length]

    def vector(self, name: str) -> np.ndarray:
        """Return an (n, 1) or (1, n) variable as a vector (n,); an empty matrix is an empty vector."""
        value = self.numbers(name)
        if value.size and value.size != max(value.shape):
            raise DataError(f"{self.path}: variable {name!r} is {_by(value.shape)}; expected a vector")
        return value.reshape(-1)

    def strings(self, name: str) -> list[str]:
        """Return a cell array of strings, or the rows of a character matrix, stripped of surrounding blanks."""
        self._require(name)
        with self._reading():
            value = strings(self.path, self._is_hdf5, name)
        if value is None:
            raise DataError(f"{self.path}: variable {name!r} is no cell array of strings")
        return [str(text).strip() for text in value]

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "a MATLAB file", "copy or save it again")

    def _require(self, name: str) -> None:
        if name not in self.names:
            raise DataError(f"{self.path}: no variable {name!r}; the file holds {', '.join(self.names) or 'none'}")


def _starts_as_hdf5(path: Path) -> bool:
    """Look for the HDF5 signature, which MATLAB puts behind a text header of 512 bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(520)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:])


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
