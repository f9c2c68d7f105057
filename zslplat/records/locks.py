"""Advisory locks on files, by which processes that use one store keep out of each other's way."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from zslplat.errors import InUseError, StoreError
from zslplat.platforms import lock_file, unlock_file


@contextlib.contextmanager
def file_lock(path: Path, *, wait_seconds: float = 60, holder: str = "", shared: bool = False) -> Iterator[None]:
    """Hold an advisory lock on a file; raises :class:`InUseError` when another process keeps it for too long,
    and :class:`StoreError` where the file cannot be written, or its file system has no locks.

    ``shared``: other processes may hold it at the same time, if they take it as shared, too.
    """
    handle = _opened(path)
    try:
        end = time.monotonic() + wait_seconds
        while True:
            try:
                lock_file(handle.fileno(), shared=shared)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise InUseError(f"{holder or path} is in use by another process; wait for it or stop it") from None
                time.sleep(0.05)
            except OSError as error:
                raise StoreError(
                    f"cannot lock {path}: {error.strerror or error}; its file system keeps no locks (Lustre does "
                    "when it is mounted with the option flock); choose a --store on another one"
                ) from error
            else:
                if _is_there(handle, path):
                    break
                # The process that had it has removed the file, and others may have locked a new one.
                handle.close()
                handle = _opened(path)
        try:
            yield
        finally:
            unlock_file(handle.fileno())
    finally:
        handle.close()


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a+")
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; free space or permissions, or choose another --store"
        ) from error


def _is_there(handle: IO[str], path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(handle.fileno()), os.stat(path))
    return False
