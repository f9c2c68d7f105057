"""Variables of MATLAB files, whatever the version of the file.

Up to version 7 a file is read by SciPy, version 7.3 (HDF5, where every matrix is stored transposed and a cell array is
a matrix of references) by h5py. Either way a matrix comes in MATLAB's own orientation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import DataError, MissingDataError


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
        self.names: tuple[str, ...] = self._read_names()

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def numbers(self, name: str) -> np.ndarray:
        """Return a numeric (or logical, or sparse) variable as a dense array of its own type, at least 2-d.

        Raises :class:`DataError` when there is no such variable or it holds something else.
        """
        self._require(name)
        value = self._read_hdf5_numbers(name) if self._is_hdf5 else self._read_v5(name)
        if hasattr(value, "toarray"):
            value = value.toarray()
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            raise DataError(f"{self.path}: variable {name!r} is no numeric matrix")
        return value

    def vector(self, name: str) -> np.ndarray:
        """Return an (n, 1) or (1, n) variable as a vector (n,); an empty matrix is an empty vector."""
        value = self.numbers(name)
        if value.size and value.size != max(value.shape):
            raise DataError(f"{self.path}: variable {name!r} is {_by(value.shape)}; expected a vector")
        return value.reshape(-1)

    def strings(self, name: str) -> list[str]:
        """Return a cell array of strings, or the rows of a character matrix, stripped of surrounding blanks."""
        self._require(name)
        if self._is_hdf5:
            return [text.strip() for text in self._read_hdf5_strings(name)]
        value = np.asarray(self._read_v5(name))
        if value.dtype.kind == "U":
            return [str(text).strip() for text in value.ravel()]
        if value.dtype != object:
            raise DataError(f"{self.path}: variable {name!r} holds numbers; expected a cell array of strings")
        return [_cell_text(cell).strip() for cell in value.ravel()]

    def _require(self, name: str) -> None:
        if name not in self.names:
            raise DataError(f"{self.path}: no variable {name!r}; the file holds {', '.join(self.names) or 'none'}")

    def _read_names(self) -> tuple[str, ...]:
        try:
            if self._is_hdf5:
                import h5py

                with h5py.File(self.path, "r") as file:
                    return tuple(key for key in file if not key.startswith("#"))
            import scipy.io

            return tuple(name for name, _, _ in scipy.io.whosmat(self.path))
        except Exception as error:
            raise self._unreadable(error) from error

    def _read_v5(self, name: str) -> Any:
        import scipy.io

        try:
            return scipy.io.loadmat(self.path, variable_names=[name])[name]
        except Exception as error:
            raise self._unreadable(error) from error

    def _read_hdf5_numbers(self, name: str) -> Any:
        import h5py

        try:
            with h5py.File(self.path, "r") as file:
                node = file[name]
                if isinstance(node, h5py.Group):
                    return _sparse(node)
                value = np.asarray(node[()])
                if _matlab_class(node) == "char" or value.dtype.kind not in "biuf":
                    return None
                if node.attrs.get("MATLAB_empty", 0):
                    return np.zeros(tuple(int(v) for v in value.ravel()))
                return np.atleast_2d(value.T)
        except Exception as error:
            raise self._unreadable(error) from error

    def _read_hdf5_strings(self, name: str) -> list[str]:
        import h5py

        try:
            with h5py.File(self.path, "r") as file:
                node = file[name]
                value = np.asarray(node[()]) if isinstance(node, h5py.Dataset) else np.zeros(0)
                if value.dtype == object:
                    # MATLAB runs through a cell array by columns, which are the rows of the stored transpose.
                    return [_hdf5_text(file[reference][()], file[reference]) for reference in value.ravel()]
                if _matlab_class(node) == "char":
                    return ["".join(map(chr, column)) for column in np.atleast_2d(value).T.astype(int)]
        except Exception as error:
            raise self._unreadable(error) from error
        raise DataError(f"{self.path}: variable {name!r} is no cell array of strings")

    def _unreadable(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return DataError(f"{self.path}: cannot be read as a MATLAB file ({reason}); copy or save it again")


def _starts_as_hdf5(path: Path) -> bool:
    """Look for the HDF5 signature, which MATLAB puts behind a text header of 512 bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(520)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:])


def _cell_text(cell: Any) -> str:
    array = np.asarray(cell)
    return str(array.ravel()[0]) if array.size else ""


def _hdf5_text(value: Any, node: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if node.attrs.get("MATLAB_empty", 0):
        return ""
    return "".join(map(chr, np.asarray(value).ravel().astype(int)))


def _matlab_class(node: Any) -> str:
    value = node.attrs.get("MATLAB_class", b"")
    return value.decode() if isinstance(value, bytes) else str(value)


def _sparse(group: Any) -> Any:
    """Read MATLAB's compressed sparse columns; the number of rows is an attribute."""
    from scipy.sparse import csc_matrix

    if "MATLAB_sparse" not in group.attrs or "jc" not in group:
        return None
    starts = group["jc"][()]
    rows = int(group.attrs["MATLAB_sparse"])
    data = group["data"][()] if "data" in group else np.zeros(0)
    index = group["ir"][()] if "ir" in group else np.zeros(0, dtype=int)
    return csc_matrix((data, index, starts), shape=(rows, len(starts) - 1))


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
