"""Where a store's database lies, by which a copy of it is told from one that was moved."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path


def place_facts(database: Path | None, facts: Mapping[str, str]) -> dict[str, str]:
    """Return what is to be noted of where a database lies, which is nothing where it is noted in ``facts`` already.

    ``place``: its inode and path; ``copy``: what tells it from the one that is at its former place still.
    """
    if database is None:
        return {}
    inode, path = str(database.stat().st_ino), str(database.absolute())
    place, former = f"{inode} {path}", facts.get("place", "")
    if place == former:
        return {}
    former_inode, _, former_path = former.partition(" ")
    with contextlib.suppress(OSError):
        if inode != former_inode == str(Path(former_path).stat().st_ino):
            return {"place": place, "copy": uuid.uuid4().hex[:16]}
    return {"place": place}
