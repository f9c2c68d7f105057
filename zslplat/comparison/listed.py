"""Names in lists with commas."""

from __future__ import annotations

import json


def unmistakable(name: str) -> str:
    """Return a name as a list with commas has it: in quotes where it could be read as two."""
    return json.dumps(name, ensure_ascii=False) if {",", '"'} & set(name) else name
