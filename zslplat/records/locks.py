"""Advisory locks on files, by which processes that use one store keep out of each other's way."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from zslplat.errors import InUseError, StoreError


@contextlib.contextmanager
def file_lock(path: Path, *, wait_seconds: float = 60, holder: str = "", shared: bool = False) -> Iterator[None]:
    """Hold an advisory lock on a file; raises :class:`InUseError` when another process keeps it for too long,
    and :class:`StoreError` where the file cannot be written.

    ``shared``: others may hold it as well, who ask for no more than that.
    """
    import fcntl

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a+")  # noqa: SIM115
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; free space or permissions, or choose another --store"
        ) from error
    with handle:
        end = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise InUseError(f"{holder or path} is in use by another process; wait for it or stop it") from None
                time.sleep(0.05)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
