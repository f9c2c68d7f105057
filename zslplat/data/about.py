"""``about.json`` beside the files of a data set: what it is, its licence and how to cite it."""

from __future__ import annotations

import json
from pathlib import Path

from zslplat.errors import DataError

FILE = "about.json"
KEYS = ("description", "licence", "citation")


def read_about(folder: Path, file: str = FILE) -> dict[str, str]:
    """Return the texts under ``KEYS`` of the file, empty where there is none; raises DataError for a broken one."""
    path = folder / file
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {key: str(content[key]) for key in KEYS if content.get(key)}
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read as a JSON object ({error}); correct it or remove it") from error
