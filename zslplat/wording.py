"""Counts and names in words."""

from __future__ import annotations

import json


def counted(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: ``1 trial``, ``3 trials``."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def unmistakable(name: str) -> str:
    """Return a name as a list with commas has it: in quotes where it could be read as two."""
    return json.dumps(name, ensure_ascii=False) if {",", '"'} & set(name) else name
