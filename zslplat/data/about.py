"""``about.json`` beside the files of a data set: what it is, its licence, how to cite it, and options to load it with.

``{"description": "...", "licence": "...", "citation": "...", "options": {"features": "mnv2"}}``; every key may be left
out. Options given in a spec win over those of the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.errors import DataError, UsageError
from zslplat.space import Parameter, check_value

FILE = "about.json"
KEYS = ("description", "licence", "citation")


@dataclass(frozen=True)
class About:
    """Texts and options of one data set; empty where there is no file."""

    description: str = ""
    licence: str = ""
    citation: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the content of the file."""
        content = {key: getattr(self, key) for key in (*KEYS, "options") if getattr(self, key)}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def about_path(data: Path) -> Path:
    """Return where the file of a data set is: inside its folder, or beside its single file."""
    return data / FILE if data.is_dir() else data.with_suffix("." + FILE)


def read_about(data: Path, parameters: Mapping[str, Parameter]) -> About:
    """Return what is known of the data set at ``data``; raises DataError for a broken file or an illegal option."""
    path = about_path(data)
    if not path.is_file():
        return About()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        options = dict(content.get("options") or {})
        texts = {key: str(content[key]) for key in KEYS if content.get(key)}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as a JSON object ({error}); correct it or remove it") from error
    for name, value in options.items():
        if name not in parameters or name in ("folder", "file", "path"):
            raise DataError(f"{path}: unknown option {name!r}; options: {', '.join(parameters)}")
        try:
            check_value(str(path), name, value, parameters)
        except UsageError as error:
            raise DataError(str(error)) from error
    return About(**texts, options=options)
