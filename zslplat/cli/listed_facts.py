"""What ``list`` says of zslplat's own components, kept from call to call: to import them all takes two seconds.

Of others' components nothing is kept: their packages may change in ways that cannot be seen from here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from zslplat.registry import OWN, Entry

_PREFIX = "listed-"
_SOURCES = (".py", ".toml")


class ListedFacts:
    """Facts {name: text or texts} of components by kind and name, those of an earlier call where there was one."""

    def __init__(self) -> None:
        self._path = _place()
        self._kept = _read(self._path)
        self._changed = False

    def find(self, entries: Sequence[Entry]) -> dict[str, Any] | None:
        """Return what is kept of a component of zslplat's own; None where nothing is, and for those of others."""
        kept = self._kept.get(_key(entries[0])) if _is_own(entries) else None
        return dict(kept) if isinstance(kept, Mapping) else None

    def keep(self, entries: Sequence[Entry], facts: Mapping[str, Any]) -> None:
        """Keep the facts of a component, where it is zslplat's own."""
        if _is_own(entries):
            self._kept[_key(entries[0])] = dict(facts)
            self._changed = True

    def write(self) -> None:
        """Write what was added, in one step; does nothing where there is no place for it."""
        if self._path is None or not self._changed:
            return
        from zslplat.data.store.atomic_files import remove_unused, replacing

        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._path) as new:
                new.write_text(json.dumps(self._kept), encoding="utf-8")
            remove_unused(self._path.parent.glob(f"{_PREFIX}*.json"))


def _is_own(entries: Sequence[Entry]) -> bool:
    return len(entries) == 1 and entries[0].plugin.distribution == OWN


def _key(entry: Entry) -> str:
    return f"{entry.kind}/{entry.name}"


def _place() -> Path | None:
    """Return the file of the package as it is: its name says path, size and time of every source file."""
    import platformdirs

    import zslplat

    digest = hashlib.sha256()
    with suppress(OSError, RuntimeError):
        for folder, folders, names in os.walk(Path(zslplat.__file__).parent):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_SOURCES):
                    path = os.path.join(folder, name)
                    state = os.stat(path)
                    digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
        return Path(platformdirs.user_cache_dir("zslplat")) / f"{_PREFIX}{digest.hexdigest()[:16]}.json"
    return None


def _read(path: Path | None) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        if path is not None:
            found = json.loads(path.read_text(encoding="utf-8"))
            os.utime(path)  # it is in use
            return found if isinstance(found, dict) else {}
    return {}
