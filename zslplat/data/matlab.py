"""Variables of MATLAB files, whatever the version of the file, each read in another process.

What the libraries do is in :mod:`zslplat.data.matlab_variables`: damaged files end SciPy's reader by a segmentation
fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data import matlab_variables, reader_process
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
        self._shapes: dict[str, list[int] | None] = self._read(matlab_variables.variables)
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
        value = self._read(matlab_variables.numbers, name)
        if not isinstance(value, np.ndarray):
            raise DataError(f"{self.path}: variable {name!r} is no numeric matrix")
        return value

    def slices(self, name: str, axis: int, length: int) -> Iterator[np.ndarray]:
        """Yield a numeric variable in slices of some length along an axis, which comes first in each.

        No more than one of them is held here. Raises what :meth:`numbers` does.
        """
        self._require(name)
        arguments = (self._is_hdf5, name, axis, length)
        yield from reader_process.stream(matlab_variables.slices, self.path, *arguments, unreadable=self._unreadable)

    def vector(self, name: str) -> np.ndarray:
        """Return an (n, 1) or (1, n) variable as a vector (n,); an empty matrix is an empty vector."""
        value = self.numbers(name)
        if value.size and value.size != max(value.shape):
            raise DataError(f"{self.path}: variable {name!r} is {_by(value.shape)}; expected a vector")
        return value.reshape(-1)

    def strings(self, name: str) -> list[str]:
        """Return a cell array of strings, or the rows of a character matrix, stripped of surrounding blanks."""
        self._require(name)
        value = self._read(matlab_variables.strings, name)
        if value is None:
            raise DataError(f"{self.path}: variable {name!r} is no cell array of strings")
        return [str(text).strip() for text in value]

    def _require(self, name: str) -> None:
        if name not in self.names:
            raise DataError(f"{self.path}: no variable {name!r}; the file holds {', '.join(self.names) or 'none'}")

    def _read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return reader_process.read(function, self.path, self._is_hdf5, *arguments, unreadable=self._unreadable)

    def _unreadable(self, reason: str) -> DataError:
        return DataError(f"{self.path}: cannot be read as a MATLAB file ({reason}); copy or save it again")


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
