"""Folders and files that are written beside their place and renamed; what killed writers left is removed.

A writer holds a lock of its folder for as long as it writes; the system lets go of it when the writer ends, however
that comes about, and the next writer beside it removes the folder. Where there are no locks for folders (Windows), or
they are written by several calls (:func:`temporary_folder`), what is left is removed after a day.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zslplat.errors import StoreError, UsageError
from zslplat.keys import key_of
from zslplat.platforms import WINDOWS, lock_file, unlock_file

_STALE_SECONDS = 24 * 3600

_GONE_SECONDS = 60  # a folder of what is removed was made and filled in less

_UNUSED_SECONDS = 30 * 24 * 3600

_NEW, _SENT, _OLD = ".new-", ".sent-", ".old-"

_REPLACING = ".zslplat-new-"


@contextlib.contextmanager
def draft(parent: Path, prefix: str = _NEW) -> Iterator[Path]:
    """Give a new folder beside a final place, to be filled and renamed; it is gone afterwards, or left by a kill.

    ``prefix``: of its name, and of those that are removed where their writers were killed. With one of its own nothing
    else is removed, so that it may be written into folders that are not zslplat's.
    """
    _clear_up(parent, prefix)
    folder, lock = _locked_folder(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unlock(lock)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to be written, which takes the place of ``path`` at the end; an error leaves what was there.

    It lies in a hidden folder beside its place, locked as long as it is written; where this process is killed, the next
    writer there removes it. Raises OSError where it cannot be made or renamed.
    """
    with draft(path.absolute().parent, _REPLACING) as folder:
        yield folder / path.name
        os.replace(folder / path.name, path)


@contextlib.contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, for files in it that are read, changed and written again; other holders wait.

    Nothing is written there: on Windows, which locks no folders, the lock is a file of the temporary folder. On a file
    system without locks there is no wait.
    """
    place = Path(tempfile.gettempdir(), f"zslplat-{key_of(str(folder.resolve()))}.lock") if WINDOWS else folder
    lock = os.open(place, os.O_RDWR | os.O_CREAT if WINDOWS else os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            lock_file(lock, wait=True)
        yield
    finally:
        _unlock(lock)


def drafts_in(folder: Path) -> list[Path]:
    """Return the drafts in a folder; where no command writes there, they were left."""
    return sorted(path for prefix in (_NEW, _REPLACING) for path in folder.glob(f"{prefix}*"))


def mark_used(path: Path) -> None:
    """Mark a file or folder of a user's cache as used now."""
    with contextlib.suppress(OSError):
        os.utime(path)


def remove_unused(others: Iterable[Path]) -> None:
    """Remove files and folders of a user's cache that were not used for a month.

    Installations share the cache, each with files of its own: what this one does not need may be another's.
    """
    now = time.time()
    for path in others:
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > _UNUSED_SECONDS:
                _remove(path)


def temporary_folder(parent: Path) -> Path:
    """Return a new folder beside a final place that several calls write."""
    _clear_up(parent, _NEW)
    return Path(tempfile.mkdtemp(prefix=_SENT, dir=parent))


def folder_to_remove(parent: Path) -> Path:
    """Return a new folder that what is to be removed is moved to, so that it is not in its place any more."""
    return Path(tempfile.mkdtemp(prefix=_OLD, dir=parent))


def _unlock(lock: int | None) -> None:
    if lock is not None:
        unlock_file(lock)
        os.close(lock)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """Return a new folder and its open lock; None on Windows, where an open folder could not be renamed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        if WINDOWS:
            return folder, None
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            if parent.exists():
                continue  # it was taken for one that was left, before it was opened
            raise
        with contextlib.suppress(OSError):
            lock_file(lock, wait=True)
        if folder.exists():
            return folder, lock
        _unlock(lock)  # as above, before it was locked


def _clear_up(parent: Path, locked: str) -> None:
    """Remove what killed processes have left; ``locked`` begins the names of folders whose writers hold locks."""
    now = time.time()
    try:
        names = os.listdir(parent)
    except OSError:
        return  # what is written there next says so
    others = {_SENT: _STALE_SECONDS, _OLD: _GONE_SECONDS} if locked == _NEW else {}
    for prefix, seconds in {locked: _STALE_SECONDS, **others}.items():
        for left in (parent / name for name in names if name.startswith(prefix)):
            if prefix == locked and not WINDOWS:
                try:
                    _remove_unlocked(left)
                except BlockingIOError:
                    continue  # its writer runs, for however long, or that is not known
                except OSError:
                    pass
            with contextlib.suppress(OSError):
                if now - left.stat().st_mtime > seconds:
                    _remove(left)


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _remove_unlocked(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise BlockingIOError from error  # whether its writer runs is not known
    try:
        lock_file(lock)
        _remove(folder)
    finally:
        _unlock(lock)


@dataclass(frozen=True)
class WholeFile:
    """A kind of page: ``what`` it is called, the ``option`` that names its file, an ``example`` of its name.

    It is known by its ``mark``, which stands within the first ``reach`` characters.
    """

    what: str
    option: str
    example: str
    mark: str
    reach: int

    def is_there(self, path: Path) -> bool:
        """Tell whether there is an earlier page; raises :class:`UsageError` where there is something else."""
        if not path.exists():
            return False
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder; give {self.option} the name of a file, such as {path / self.example}"
            )
        other = f"give {self.option} another name"
        if not path.is_file():
            raise UsageError(f"{path} is no ordinary file, and a {self.what} is not written into it; {other}")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                marked = self.mark in file.read(self.reach)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror or error}; {other}") from error
        if not marked:
            raise UsageError(f"{path} exists and is no {self.what}; {other}, or move it away")
        return True

    def write(self, path: Path, text: str) -> None:
        """Write a page beside its place and rename it: a reader finds all of it, or what was there before."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as new:
                new.write_text(text, encoding="utf-8")
        except OSError as error:
            why = error.strerror or error
            raise StoreError(
                f"the {self.what} cannot be written to {path}: {why}; give {self.option} another name"
            ) from error
