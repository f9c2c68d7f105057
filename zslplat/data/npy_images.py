"""Features that lie in one ``.npy`` file per image, beside a list of names that gives their order.

The list is ``names.txt``, ``images.txt`` or ``ids.txt`` (or ``.csv``), with a name a line, such as ``birds/7.jpg``, and
behind a comma, the class, where there are no labels elsewhere. The file of ``birds/7.jpg`` is ``birds/7.npy``, in the
folder of the list, or in ``features`` there. Labels and splits may stand beside names, too: ``birds/7.jpg,wren``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from zslplat.data import csv_tables
from zslplat.data.npy_header import load_npy
from zslplat.data.rows import RowStream
from zslplat.data.streams import Piece, rows_of_a_block, stream_of
from zslplat.errors import DataError

LISTS = tuple(f"{name}.{ending}" for name in ("names", "images", "ids") for ending in ("txt", "csv"))
_FOLDERS = ("", "features", "X")


@dataclass(frozen=True)
class Images:
    """The list, the file of each image by its name, in the order of the list, and the classes where it has them."""

    listed: Path
    files: Mapping[str, Path]
    classes: tuple[str, ...]

    def stream(self) -> RowStream:
        """Return the images as rows; raises :class:`DataError`, while they are read, for one of another shape."""
        paths = list(self.files.values())
        first = _row(paths[0])
        count = rows_of_a_block(first.shape, first.itemsize)

        def read() -> Iterator[np.ndarray]:
            for start in range(0, len(paths), count):
                yield np.stack([_like(path, first, paths[0]) for path in paths[start : start + count]])

        piece = Piece(len(paths), read, str(self.listed))
        return stream_of([piece], first.shape, first.dtype, str(self.listed))

    def column(self, path: Path) -> list[str] | None:
        """Return what a list of names says of each image, None where its lines hold no names of images."""
        lines = csv_tables.read_cells(path)
        if not all(len(line) == 2 for line in lines):
            return None
        values = {_plain(name): value for name, value in lines}
        lost = next((name for name in self.files if name not in values), None)
        if lost is not None:
            raise DataError(
                f"{path}: says nothing of {lost!r}, which {self.listed.name} lists; give every image a line"
            )
        return [values[name] for name in self.files]


def has_images(folder: Path) -> bool:
    """Tell whether a folder holds a list of names, and a file for the first of them."""
    return _place(folder) is not None


def images_in(folder: Path) -> Images | None:
    """Return the images of a folder, None where it has none; raises :class:`DataError` for names without a file."""
    place = _place(folder)
    if place is None:
        return None
    listed, base = place
    lines = csv_tables.read_cells(listed)
    outside = next((line[0] for line in lines if ".." in Path(line[0]).parts or Path(line[0]).is_absolute()), None)
    if outside is not None:
        raise DataError(f"{listed}: {outside!r} leads out of the folder; names are those of files in {base}")
    files = {_plain(line[0]): _file(base, line[0]) for line in lines}
    if len(files) < len(lines):
        twice = next(name for name in files if sum(_plain(line[0]) == name for line in lines) > 1)
        raise DataError(f"{listed}: {twice!r} is there twice; list every image once")
    lost = [name for name, file in files.items() if not file.is_file()]
    if lost:
        raise DataError(f"{listed}: {len(lost)} of {len(lines)} names have no file, first {files[lost[0]]}")
    classes = tuple(line[1] for line in lines) if all(len(line) == 2 for line in lines) else ()
    return Images(listed, files, classes)


def _place(folder: Path) -> tuple[Path, Path] | None:
    """Return the list of names of a folder and the folder that the files lie in."""
    for listed in (folder / name for name in LISTS):
        if listed.is_file():
            with listed.open(encoding="utf-8-sig", errors="replace") as file:
                first = file.readline().partition(",")[0]
            base = next(
                (folder / name for name in _FOLDERS if first.strip() and _file(folder / name, first).is_file()), None
            )
            return None if base is None else (listed, base)
    return None


def _plain(name: str) -> str:
    """Return a name without a suffix, as it stands for an image."""
    path = PurePosixPath(name.strip())
    return str(path.with_suffix("")) if path.suffix[1:].isalpha() else str(path)


def _file(base: Path, name: str) -> Path:
    return base / f"{_plain(name)}.npy"


def _row(path: Path) -> np.ndarray:
    try:
        array = load_npy(path)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as an .npy file ({error}); save it again with numpy.save") from error
    return array[0] if array.ndim > 1 and len(array) == 1 else array


def _like(path: Path, first: np.ndarray, of: Path) -> Any:
    row = _row(path)
    if (row.shape, row.dtype) != (first.shape, first.dtype):
        raise DataError(
            f"{path}: holds {row.shape} of type {row.dtype}, but {of.name} {first.shape} of {first.dtype}; the files "
            "of all images are alike"
        )
    return row
