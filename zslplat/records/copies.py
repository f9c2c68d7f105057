"""Where a store's database lies, by which a copy of it is told from one that was moved."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path


def place_facts(database: Path | None, facts: Mapping[str, str]) -> dict[str, str]:
    """Return what is to be noted of where a database lies, which is nothing where it is noted in ``facts`` already.

    ``place``: its device with its inode, and its path; ``copy``: what tells it from the one that is at its former
    place still.
    """
    if database is None:
        return {}
    file, path = _file_key(database), str(database.absolute())
    place, former = f"{file} {path}", facts.get("place", "")
    if place == former:
        return {}
    former_file, _, former_path = former.partition(" ")
    with contextlib.suppress(OSError):
        if file != former_file == _file_key(Path(former_path)):
            return {"place": place, "copy": uuid.uuid4().hex[:16]}
    return {"place": place}


def _file_key(path: Path) -> str:
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}"
