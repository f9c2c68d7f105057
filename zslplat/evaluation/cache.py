"""A content-addressed, bounded cache of named arrays on disk.

An entry is a folder ``<key>`` of ``.npy`` files and ``entry.json``; it is written beside its place and renamed, so a
reader finds a whole entry or none. Readers map the arrays into memory, so all workers share one copy. Every file is
recorded with its size and a checksum (of the whole file when it is small, of evenly spaced pieces when it is large); an
entry that does not agree with them is removed, and made again by whoever asks for it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.array_store import file_check
from zslplat.errors import StoreError

_FRESH_SECONDS = 6 * 3600


def key_of(*parts: Any) -> str:
    """Return a 32-digit key of JSON-able parts; equal inputs give equal keys in every process."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_arrays(
    folder: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], *, apart: Sequence[str] = ()
) -> None:
    """Write an entry atomically; an entry that is already there is left as it is.

    ``apart``: what names may begin with, before a ``/``; the files of these arrays lie in a folder of that name.
    """
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        files = {}
        for number, (name, array) in enumerate(arrays.items()):
            part = name.partition("/")[0]
            files[name] = f"{part}/{number}.npy" if part in apart else f"{number}.npy"
            (temporary / files[name]).parent.mkdir(exist_ok=True)
            np.save(temporary / files[name], np.asarray(array), allow_pickle=False)
        checks = {file: file_check(temporary / file) for file in files.values()}
        content = {"arrays": files, "meta": meta, "checks": checks}
        (temporary / "entry.json").write_text(json.dumps({**content, "whole": key_of(content)}))
        os.rename(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return
        raise StoreError(
            f"cannot write {folder}: {error.strerror or error}; free space or choose another --store"
        ) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_arrays(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Open an entry: arrays mapped read-only, and its meta; raises :class:`StoreError` when it is not whole.

    An entry that is there and damaged is removed, so that the next command makes it anew. The contents of the arrays
    are not gone through here, which workers would do in every trial: :meth:`ArrayCache.has` does it once.
    """
    try:
        entry = _entry(folder)
        arrays = {name: np.load(folder / file, mmap_mode="r") for name, file in entry["arrays"].items()}
    except (OSError, ValueError, EOFError) as error:
        _remove(folder)
        raise StoreError(
            f"cache entry {folder} cannot be read: {error}; it is removed and will be made anew; "
            "give the same command again"
        ) from error
    # In use: not the entry to be evicted next, by whatever process.
    with suppress(OSError):
        os.utime(folder)
    return arrays, entry["meta"]


def _entry(folder: Path) -> dict[str, Any]:
    """Return the content of ``entry.json``; raises ValueError, or OSError, where it is not as it was written."""
    entry = json.loads((folder / "entry.json").read_text())
    if not isinstance(entry, dict) or entry.pop("whole", None) != key_of(entry):
        raise ValueError("entry.json was changed")
    return entry


@dataclass
class ArrayCache:
    """The cache folder with its bound in bytes; entries used by this process, or lately by any, are never evicted."""

    root: Path
    limit_bytes: float
    used: set[str] = field(default_factory=set)

    def path(self, key: str) -> Path:
        """Return the folder of an entry, whether or not it exists, and protect it from eviction."""
        self.used.add(key)
        return self.root / key

    def has(self, key: str) -> bool:
        """Tell whether the entry exists, whole; marks it as used."""
        folder = self.path(key)
        if not folder.exists():
            return False
        try:
            read_arrays(folder)
            if all(file_check(folder / file) == expected for file, expected in _entry(folder)["checks"].items()):
                return True
        except (StoreError, OSError, ValueError):
            pass
        _remove(folder)
        return False

    def evict(self, *others: Path) -> int:
        """Remove the entries that were not used for longest until the bound holds; return how many were removed.

        ``others``: further folders of such entries, which count towards the same bound.
        """
        entries = []
        for folder in (f for root in (self.root, *others) if root.is_dir() for f in root.iterdir()):
            try:
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                entries.append((folder.stat().st_mtime, size, folder))
            except OSError:
                continue
        total, removed = sum(size for _, size, _ in entries), 0
        for age, size, folder in sorted(entries):
            if total <= self.limit_bytes:
                break
            if folder.name in self.used or time.time() - age < _FRESH_SECONDS:
                continue
            _remove(folder)
            total, removed = total - size, removed + 1
        return removed


def _remove(folder: Path) -> None:
    """Remove an entry; when this is interrupted, what is left is no entry any more."""
    with suppress(OSError):
        away = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
        os.rename(folder, away / folder.name)
        shutil.rmtree(away, ignore_errors=True)
