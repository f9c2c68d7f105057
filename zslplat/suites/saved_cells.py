"""The cells of a suite as the last command left them, saved in the store, so that a report says what that did.

``suites/NAME.json`` in the store, and ``NAME-splits.json`` of classes that were drawn anew. It holds nothing that is
computed, and ``store merge`` copies it. Without it a report counts what is recorded of a suite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zslplat.checks.facts import CellFacts, SuiteFacts
from zslplat.data.store.atomic_files import replacing
from zslplat.settings import Settings


def tables_folder(settings: Settings, suite: str, *, drawn: bool) -> Path:
    """Return the folder in a store that tables of a suite go to where nothing is said; ``drawn``: of drawn classes."""
    return settings.suites / (f"{suite}-splits" if drawn else suite)


def save_cells(facts: SuiteFacts, settings: Settings, *, drawn: bool, origin: str = "") -> None:
    """Write the cells of a suite as they are now, and where it is from."""
    file = _file(settings, facts.subject, drawn)
    file.parent.mkdir(exist_ok=True)
    with replacing(file) as path:
        path.write_text(json.dumps({**asdict(facts), "origin": origin}, indent=1) + "\n", encoding="utf-8")


def load_cells(settings: Settings, suite: str, *, drawn: bool) -> tuple[CellFacts, ...]:
    """Return the cells of a suite as they were left; none where nothing is remembered."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return tuple(_cell(cell) for cell in _content(settings, suite, drawn)["cells"])
    return ()


def saved_origin(settings: Settings, suite: str, *, drawn: bool) -> str:
    """Return where the suite is from of which cells were left under a name; empty where nobody knows."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return str(_content(settings, suite, drawn)["origin"])
    return ""


def _content(settings: Settings, suite: str, drawn: bool) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(_file(settings, suite, drawn).read_text(encoding="utf-8"))
    return content


def _cell(content: Mapping[str, Any]) -> CellFacts:
    return CellFacts(**{**content, "images": tuple(content["images"])})


def _file(settings: Settings, suite: str, drawn: bool) -> Path:
    folder = tables_folder(settings, suite, drawn=drawn)
    return folder.with_name(f"{folder.name}.json")
