"""Warnings of outcomes that should be looked at: collected where they arise, and recorded.

A record holds ``warnings``: a list of ``{"text", "where", "count"}``, each text once, with the problems (folds, test)
that it came from and how often. A text that names its check ends with the code, in brackets.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from zslplat.errors import OutcomeWarning
from zslplat.evaluation.told import printable

_CODE = re.compile(r"(?P<text>.*) \[(?P<code>[A-Z]+[0-9]+)\]")
MOST_TEXTS = 20
MOST_CHARACTERS = 300
MOST_PRINTED = 2000  # before the code at the end of a text is looked for
Entries = list[dict[str, Any]]


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the texts of every :class:`OutcomeWarning` of a block; other warnings go their usual way."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", OutcomeWarning)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **named: Any) -> None:
            if issubclass(category, OutcomeWarning):
                text, code = divided(printable(str(message), MOST_PRINTED))
                found.append(text[:MOST_CHARACTERS] + (f" [{code}]" if code else ""))
            else:
                usual(message, category, *place, **named)

        warnings.showwarning = show
        yield found


def entries_of(found: Iterable[tuple[str, Iterable[str]]]) -> Entries:
    """Return the entries of a record from (where, texts); beyond :data:`MOST_TEXTS` texts the rest is counted only."""
    entries: dict[str, dict[str, Any]] = {}
    left_out = 0
    for where, texts in found:
        for text in texts:
            if text not in entries and len(entries) == MOST_TEXTS:
                left_out += 1
                continue
            entry = entries.setdefault(text, {"text": text, "where": [], "count": 0})
            entry["count"] += 1
            if where and where not in entry["where"]:
                entry["where"].append(where)
    further = [{"text": f"{left_out} further warnings", "where": [], "count": left_out}] if left_out else []
    return [*entries.values(), *further]


def divided(text: str) -> tuple[str, str]:
    """Return the text of a warning, and the code that stands at its end, empty where there is none."""
    found = _CODE.fullmatch(text)
    return (found["text"], found["code"]) if found else (text, "")
