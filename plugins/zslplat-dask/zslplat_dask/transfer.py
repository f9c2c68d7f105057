"""Cache entries on their way between the leader and a worker on another machine: file by file, in pieces.

An entry is named by its path in the store: ``cache/prepared/KEY``, ``cache/data/KEY``, and ``data/KEY`` for data that
were passed as arrays. It has the same path at the worker, since problems refer to their rows by relative paths. The
digest of its index, which has the checksums of its files, distinguishes it from other entries of that name. It is
written beside its path, checked and renamed, so that no reader gets half of one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from zslplat.data.store.array_store import DAMAGED, open_entry, remove_entry
from zslplat.data.store.atomic_files import temporary_folder
from zslplat.errors import StoreError
from zslplat.evaluation.cache.problems import entries_of_problem
from zslplat.evaluation.jobs import EvaluateJob, PrepareJob

PIECE_BYTES = 16 * 2**20
_INDEX = "entry.json"


@dataclass(frozen=True)
class FileList:
    """The files of a folder by relative name, with their sizes; ``content`` has their bytes where they are small."""

    sizes: dict[str, int]
    content: dict[str, bytes] | None = None

    def pieces(self) -> Iterator[tuple[str, int]]:
        """Yield (name, offset) of the pieces of all files, those of each in order; an empty file is one piece."""
        for name, size in self.sizes.items():
            for offset in range(0, max(size, 1), PIECE_BYTES):
                yield name, offset


def list_files(folder: Path) -> FileList:
    """Return the files below a folder, without their content."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return FileList({path.relative_to(folder).as_posix(): path.stat().st_size for path in files})


def pack_files(folder: Path) -> FileList:
    """Return the files below a folder, with their content where they fit into one piece together."""
    files = list_files(folder)
    if sum(files.sizes.values()) > PIECE_BYTES:
        return files
    return FileList(files.sizes, {name: (folder / name).read_bytes() for name in files.sizes})


def read_piece(folder: Path, name: str, offset: int) -> bytes:
    """Return a piece of a file below a folder."""
    with _inside(folder, name).open("rb") as file:
        file.seek(offset)
        return file.read(PIECE_BYTES)


def write_piece(folder: Path, name: str, offset: int, content: bytes) -> None:
    """Write a piece of a file below a folder; the pieces of a file come in order."""
    path = _inside(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(content)


def begin_entry(root: Path, name: str) -> Path:
    """Return a temporary folder beside the path of an entry, for its files."""
    folder = _inside(root, name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return temporary_folder(folder.parent)


def end_entry(root: Path, name: str, temporary: Path) -> None:
    """Check the files of an entry and move it to its path; raises ValueError where they are not as they were sent."""
    folder = _inside(root, name)
    try:
        open_entry(temporary, contents=True)
        if folder.exists() and digest_of(folder) != digest_of(temporary):
            remove_entry(folder)
        try:
            os.rename(temporary, folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # another process has put the same entry there
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def digest_of(folder: Path) -> str:
    """Return the digest of an entry's index; empty where there is none. Raises OSError where it cannot be read."""
    try:
        return str(json.loads((folder / _INDEX).read_text())["whole"])
    except (*DAMAGED, KeyError, TypeError):
        return ""


def missing_entries(root: Path, needed: dict[str, str]) -> list[str]:
    """Return the needed entries that a cache lacks, and mark the others as used."""
    missing = []
    for name, digest in needed.items():
        folder = root / name
        if digest_of(folder) != digest:
            missing.append(name)
            continue
        with contextlib.suppress(OSError):
            os.utime(folder)
    return missing


def needed_entries(job: Any, cache: Path) -> dict[str, str]:
    """Return {name: digest} of the entries that a job reads; raises :class:`StoreError` where one is gone.

    ``cache``: the folder of the entries that the job names, ``cache/prepared`` in a store. Rows are sent as the array
    of the fold where the method takes arrays, and as the data set, once for all folds, where it takes blocks.
    """
    folders: list[Path] = []
    if isinstance(job, PrepareJob | EvaluateJob):
        problems = [(job.problem, None)] if isinstance(job, PrepareJob) else job.problems
        for problem, statistics in problems:
            folders += [cache / problem, *entries_of_problem(cache / problem, blocks=job.blocks)]
            folders += [cache / statistics] if statistics else []
    digests = {}
    for folder in dict.fromkeys(folders):
        digest = digest_of(folder)
        if not digest:
            raise StoreError(f"cache entry {folder} cannot be read; give the same command again")
        digests[_name(folder, cache)] = digest
    return digests


def root_of(cache: Path) -> Path:
    """Return the folder that entries are named from: the store to which this cache belongs."""
    return cache.parent.parent


def _name(folder: Path, cache: Path) -> str:
    name = os.path.relpath(folder, root_of(cache))
    if name.startswith(os.pardir):
        raise StoreError(f"{folder} lies outside of the store {root_of(cache)} and cannot be sent to a cluster")
    return PurePosixPath(name).as_posix()


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a name below a folder; raises ValueError for a name that leads out of it."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise ValueError(f"{name!r} leads out of its folder")
    return folder.joinpath(*parts.parts)
