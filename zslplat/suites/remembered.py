"""What a store remembers of a suite: its cells as the last command left them, so that a report says what that did.

``suites/NAME.json`` in the store, and ``NAME-splits.json`` of classes that were drawn anew. It holds nothing that is
computed, and ``store merge`` takes it along. Without it a report counts what is recorded of a suite, and what one asks
for that is known by its name.
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


def place_of(settings: Settings, suite: str, *, drawn: bool) -> Path:
    """Return the folder in a store that tables of a suite go to where nothing is said; ``drawn``: of drawn classes."""
    return settings.suites / (f"{suite}-splits" if drawn else suite)


def remember(facts: SuiteFacts, settings: Settings, *, drawn: bool, origin: str = "") -> None:
    """Write the cells of a suite as they are now, and where it is from."""
    file = _file(settings, facts.subject, drawn)
    file.parent.mkdir(exist_ok=True)
    with replacing(file) as path:
        path.write_text(json.dumps({**asdict(facts), "origin": origin}, indent=1) + "\n", encoding="utf-8")


def remembered(settings: Settings, suite: str, *, drawn: bool) -> tuple[CellFacts, ...]:
    """Return the cells of a suite as they were left; none where nothing is remembered."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return tuple(_cell(cell) for cell in _content(settings, suite, drawn)["cells"])
    return ()


def whose(settings: Settings, suite: str, *, drawn: bool) -> str:
    """Return where the suite is from of which cells were left under a name; empty where nobody knows."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return str(_content(settings, suite, drawn)["origin"])
    return ""


def _content(settings: Settings, suite: str, drawn: bool) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(_file(settings, suite, drawn).read_text(encoding="utf-8"))
    return content


def _cell(content: Mapping[str, Any]) -> CellFacts:
    """Return a cell; an earlier version kept the hash of its test rows, which tells nothing of their contents."""
    told = {name: value for name, value in content.items() if name != "rows"}
    return CellFacts(**{**told, "images": tuple(told.get("images", ()))})


def _file(settings: Settings, suite: str, drawn: bool) -> Path:
    folder = place_of(settings, suite, drawn=drawn)
    return folder.with_name(f"{folder.name}.json")
