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


def tables_folder(settings: Settings, suite: str, scheme: str = "") -> Path:
    """Return the folder in a store that tables of a suite go to where nothing is said.

    ``scheme`` is how its classes are drawn (:attr:`~zslplat.suites.suite.Suite.scheme`).
    """
    return settings.suites / "-".join([suite, *scheme.split()])


def save_cells(facts: SuiteFacts, settings: Settings, scheme: str = "", origin: str = "") -> None:
    """Write the cells of a suite as they are now, and where it is from."""
    file = _file(settings, facts.subject, scheme)
    file.parent.mkdir(exist_ok=True)
    with replacing(file) as path:
        path.write_text(json.dumps({**asdict(facts), "origin": origin}, indent=1) + "\n", encoding="utf-8")


def load_cells(settings: Settings, suite: str, scheme: str = "") -> tuple[CellFacts, ...]:
    """Return the cells of a suite as they were left; none where nothing is remembered."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return tuple(_cell(cell) for cell in _content(settings, suite, scheme)["cells"])
    return ()


def saved_origin(settings: Settings, suite: str, scheme: str = "") -> str:
    """Return where the suite is from of which cells were left under a name; empty where nobody knows."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return str(_content(settings, suite, scheme)["origin"])
    return ""


def _content(settings: Settings, suite: str, scheme: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(_file(settings, suite, scheme).read_text(encoding="utf-8"))
    return content


def _cell(content: Mapping[str, Any]) -> CellFacts:
    return CellFacts(**{**content, "images": tuple(content["images"])})


def _file(settings: Settings, suite: str, scheme: str) -> Path:
    folder = tables_folder(settings, suite, scheme)
    return folder.with_name(f"{folder.name}.json")
