"""Named arrays on disk, read back as memory maps: stored data sets, problems and prepared statistics.

An entry is a folder of ``.npy`` files and ``entry.json``. It is written beside its place and renamed, so a reader
finds a whole entry or none. Every file is recorded with its size and a checksum (of the whole file when it is small, of
evenly spaced pieces when it is large), and ``entry.json`` with a checksum of its own; an entry that does not agree with
them is removed, and made again when it is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import mmap
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from zslplat.data.store.atomic_files import draft, folder_to_remove
from zslplat.errors import DataError
from zslplat.keys import key_of

_PIECES, _PIECE_BYTES = 32, 1 << 16

_BLOCK_ROWS = 8192

_MAP_FROM_BYTES = 1 << 20


def file_stamp(path: Path) -> list[Any]:
    """Return what tells one state of a file from another without reading it: path, size, time of change in ns."""
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class EntryWriter:
    """Collects the arrays of one entry in its temporary folder.

    ``apart``: what names may begin with, before a ``/``; the files of these arrays lie in a folder of that name.
    """

    folder: Path
    files: dict[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()

    def save(self, name: str, array: np.ndarray) -> None:
        """Write one array as it lies in memory, the order of its axes included."""
        np.save(self._file(name), np.asarray(array), allow_pickle=False)

    def add(self, name: str, array: np.ndarray) -> None:
        """Write one array, block by block."""
        blocks = (array[start : start + _BLOCK_ROWS] for start in range(0, len(array), _BLOCK_ROWS))
        self.add_blocks(name, array.shape, array.dtype, blocks)

    def add_blocks(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], blocks: Iterable[np.ndarray]) -> None:
        """Write one array from blocks of its rows, in order, without ever holding it whole.

        Plain writes, not a memory map: a full disk is then an error to report instead of a fatal signal.
        """
        with self._begin(name, shape, dtype) as file:
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype=dtype).reshape(-1).view(np.uint8).data)

    def add_rows(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], blocks: Iterable[tuple[np.ndarray, np.ndarray]]
    ) -> None:
        """Write one array from blocks of its rows in any order: pairs of the places of the rows, and the rows.

        Plain writes, too; what no block holds is zero.
        """
        with self._begin(name, shape, dtype) as file:
            begin, row = file.tell(), int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
            file.truncate(begin + shape[0] * row)
            for where, block in blocks:
                if not row or not len(where):
                    continue
                ascending = np.argsort(where, kind="stable")
                places = where[ascending]
                ends = [*(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
                content = np.ascontiguousarray(block[ascending], dtype=dtype).reshape(-1).view(np.uint8).data
                start = 0
                for end in ends:
                    file.seek(begin + int(places[start]) * row)
                    file.write(content[start * row : end * row])
                    start = end

    def _begin(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> BinaryIO:
        """Open the file of an array behind its header."""
        file = self._file(name).open("wb")
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        return file

    def _file(self, name: str) -> Path:
        part, number = name.partition("/")[0], len(self.files)
        # An array that is written again takes the place of the first.
        self.files.setdefault(name, f"{part}/{number}.npy" if part in self.apart else f"{number}.npy")
        path = self.folder / self.files[name]
        path.parent.mkdir(exist_ok=True)
        return path


# What reading an entry raises that is not as it was written. Other errors of the system, where it has no file handles,
# memory or rights left, or a disk does not answer, say nothing of the entry, and are no reason to remove it.
DAMAGED = (ValueError, EOFError, FileNotFoundError, NotADirectoryError, IsADirectoryError)


def place_entry(folder: Path, fill: Callable[[EntryWriter], Mapping[str, Any]]) -> None:
    """Write an entry atomically: ``fill`` adds the arrays and returns the JSON-able rest.

    Where another process was faster its entry stays. Raises OSError where the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with draft(folder.parent) as temporary:
        writer = EntryWriter(temporary)
        meta = dict(fill(writer))
        checks = {file: _file_check(temporary / file) for file in writer.files.values()}
        layouts = {file: _layout(temporary / file) for file in writer.files.values()}
        entry = {"arrays": writer.files, "meta": meta, "checks": checks, "layouts": layouts}
        (temporary / "entry.json").write_text(json.dumps({**entry, "whole": key_of(entry)}))
        try:
            os.rename(temporary, folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise


def open_entry(
    folder: Path, *, contents: bool = False, map_from: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays (those of ``map_from`` bytes on mapped read-only) and meta of an entry, and mark it as used.

    ``contents``: go through the contents of the arrays, too, not the index alone. Raises one of :data:`DAMAGED` where
    the entry is not as it was written, and OSError where it cannot be read for another reason.
    """
    entry = json.loads((folder / "entry.json").read_text())
    if not isinstance(entry, dict) or entry.pop("whole", None) != key_of(entry):
        raise ValueError("entry.json was changed")
    if contents:
        for file, expected in entry["checks"].items():
            if _file_check(folder / file) != expected:
                raise ValueError(f"{file} was changed")
    layouts = entry.get("layouts", {})
    arrays = {name: _load(folder / file, layouts.get(file), map_from) for name, file in entry["arrays"].items()}
    with contextlib.suppress(OSError):
        os.utime(folder)  # the time of last use, by which a bounded cache decides what to drop
    return arrays, entry["meta"]


def place_of(folder: Path, name: str) -> tuple[str, str, tuple[int, ...], int]:
    """Return where an array of an entry lies: file, type, shape, and where its elements begin in bytes.

    Raises what :func:`open_entry` does, KeyError where the entry has no such array.
    """
    entry = json.loads((folder / "entry.json").read_text())
    file = entry["arrays"][name]
    dtype, shape, offset, _ = entry["layouts"][file]
    return str(folder / file), dtype, tuple(shape), offset


def remove_entry(folder: Path) -> None:
    """Remove an entry; when this is interrupted, what is left is no entry any more."""
    with contextlib.suppress(OSError):
        away = folder_to_remove(folder.parent)
        os.rename(folder, away / folder.name)
        shutil.rmtree(away, ignore_errors=True)


def write_entry(root: Path, key: str, fill: Callable[[EntryWriter], Mapping[str, Any]]) -> None:
    """Keep loaded data as an entry; raises :class:`DataError` when the folder cannot be written."""
    try:
        place_entry(root / key, fill)
    except OSError as error:
        raise DataError(
            f"cannot keep the loaded data in {root}: {error.strerror or error}; free space or permissions there, or "
            "choose another place with --store"
        ) from error


def read_entry(root: Path, key: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """Return arrays (large ones mapped read-only) and meta, or None when there is no entry or a damaged one.

    A damaged one is removed. Raises OSError where it cannot be read for another reason.
    """
    folder = root / key
    if not folder.is_dir():
        return None
    try:
        return open_entry(folder, contents=True, map_from=_MAP_FROM_BYTES)
    except DAMAGED:
        remove_entry(folder)
        return None


def map_array(path: str, dtype: str, shape: tuple[int, ...], offset: int, order: Any) -> np.memmap:
    """Return an array of a file, mapped read-only: what :class:`numpy.memmap` gives, in a fifth of its time.

    A trial opens a dozen. Raises OSError where there is no such file, ValueError where it is shorter than the array.
    """
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        array = np.ndarray.__new__(np.memmap, shape, dtype, buffer=content, offset=offset, order=order)
    except TypeError as error:
        raise ValueError(f"{path} is shorter than its array: {error}") from error
    # The attributes that numpy.memmap documents, and the one by which slices know that they are mapped.
    array.filename, array.offset, array.mode, array._mmap = path, offset, "r", content  # type: ignore[attr-defined]
    return array


def file_of(array: Any) -> tuple[str, str, tuple[int, ...], int, str] | None:
    """Return path, type, shape, offset and order of an array that is a file as a whole, read-only; None for others."""
    if type(array) is np.memmap and isinstance(array.base, mmap.mmap) and array.filename and not array.flags.writeable:
        order = "C" if array.flags.c_contiguous else "F"
        return str(array.filename), array.dtype.str, array.shape, int(array.offset), order
    return None


def _load(path: Path, layout: Sequence[Any] | None, map_from: int) -> np.ndarray:
    if layout is not None and (map_from == 0 or path.stat().st_size >= map_from) and 0 not in layout[1]:
        dtype, shape, offset, order = layout
        return map_array(str(path), dtype, tuple(shape), offset, order)
    whole = path.stat().st_size < map_from
    array: np.ndarray = np.load(path, mmap_mode=None if whole else "r", allow_pickle=False)
    return array


def _layout(path: Path) -> list[Any]:
    """Return what :func:`map_array` takes beside the path: type, shape, offset and order of the elements."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return [array.dtype.str, list(array.shape), array.offset, "F" if np.isfortran(array) else "C"]


def _file_check(path: Path) -> list[Any]:
    """Return size and checksum of a file: of all of it, or of evenly spaced pieces where it is large."""
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= _PIECES * _PIECE_BYTES:
            digest.update(file.read())
        else:
            for piece in range(_PIECES):
                file.seek(piece * (size - _PIECE_BYTES) // (_PIECES - 1))
                digest.update(file.read(_PIECE_BYTES))
    return [size, digest.hexdigest()]
