"""A content-addressed, bounded cache of named arrays on disk: problems and prepared statistics.

Entries are those of :mod:`zslplat.data.store.array_store`. Readers map the arrays into memory, so all workers share one
copy.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.array_store import DAMAGED, EntryWriter, open_entry, place_entry, remove_entry
from zslplat.errors import StoreError

FOLD = "fold-"  # begins the names of entries that can be made again from others at any time
_FRESH_SECONDS = 6 * 3600


def write_arrays(
    folder: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], *, apart: Sequence[str] = ()
) -> None:
    """Write an entry atomically; an existing entry is left as it is.

    ``apart``: what names may begin with, before a ``/``; the files of these arrays are in a folder of that name.
    """

    def fill(writer: EntryWriter) -> Mapping[str, Any]:
        writer.apart = tuple(apart)
        for name, array in arrays.items():
            writer.save(name, array)
        return meta

    if not folder.exists():
        write_entry(folder, fill)


def write_entry(folder: Path, fill: Callable[[EntryWriter], Mapping[str, Any]]) -> None:
    """Write an entry atomically, see :func:`place_entry`; raises :class:`StoreError` where it cannot be written."""
    try:
        place_entry(folder, fill)
    except OSError as error:
        raise StoreError(
            f"cannot write {folder}: {error.strerror or error}; free space or choose another --store"
        ) from error


def read_arrays(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Open an entry: arrays mapped read-only, and its meta; raises :class:`StoreError` when it is incomplete.

    A damaged entry is removed, so that the next command makes it again; one that the system cannot read is left as it
    is. The contents of the arrays are not checked here, which workers would do in every trial: :meth:`ArrayCache.has`
    does it once.
    """
    try:
        return open_entry(folder)
    except DAMAGED as error:
        remove_entry(folder)
        raise StoreError(
            f"cache entry {folder} cannot be read: {error}; it is removed and will be made anew; "
            "give the same command again"
        ) from error
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: OSError) -> StoreError:
    to_do = "raise the limit of open files (ulimit -n)" if error.errno == errno.EMFILE else "repair that"
    return StoreError(
        f"cache entry {folder} cannot be read: {error.strerror or error}; it is left as it is; {to_do} and give the "
        "same command again"
    )


@dataclass
class ArrayCache:
    """The cache folder with its limit in bytes; entries used by this process, or lately by any, are never evicted."""

    root: Path
    limit_bytes: float
    used: set[str] = field(default_factory=set)

    def path(self, key: str) -> Path:
        """Return the folder of an entry, whether or not it exists, and protect it from eviction."""
        self.used.add(key)
        return self.root / key

    def has(self, key: str) -> bool:
        """Tell whether the entry exists and is complete, and mark it as used; a damaged one is removed.

        Raises :class:`StoreError` where the system cannot read it.
        """
        folder = self.path(key)
        if not folder.exists():
            return False
        try:
            open_entry(folder, contents=True)
        except DAMAGED:
            remove_entry(folder)
            return False
        except OSError as error:
            raise _unreadable(folder, error) from error
        return True

    def evict(self, *others: Path) -> int:
        """Remove folds, then the entries unused for longest, until the limit holds; return how many.

        ``others``: further folders of such entries, which count towards the same limit.
        """
        entries = []
        for folder in (f for root in (self.root, *others) if root.is_dir() for f in root.iterdir()):
            try:
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                entries.append((folder.stat().st_mtime, size, folder))
            except OSError:
                continue
        total, removed = sum(size for _, size, _ in entries), 0
        for age, size, folder in sorted(entries, key=lambda e: (not e[2].name.startswith(FOLD), e)):
            if total <= self.limit_bytes:
                break
            if folder.name in self.used or time.time() - age < _FRESH_SECONDS:
                continue
            remove_entry(folder)
            total, removed = total - size, removed + 1
        return removed
