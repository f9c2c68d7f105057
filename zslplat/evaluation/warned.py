"""Warnings of outcomes that should be looked at: collected where they arise, recorded, and put into words.

A record holds ``warnings``: a list of ``{"text", "where", "count"}``, each text once, with the problems (folds, test)
that it came from and how often.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from zslplat.errors import OutcomeWarning

MOST_TEXTS = 20
MOST_CHARACTERS = 300
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
                found.append(" ".join(str(message).split())[:MOST_CHARACTERS])
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


def in_words(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[str]:
    """Return a line for each entry: ``best trial: all codes are empty (fold-1, fold-3)``."""
    lines = []
    for entry in entries:
        where = f" ({', '.join(entry['where'])})" if entry["where"] else ""
        lines.append((f"{of}: " if of else "") + entry["text"] + where)
    return lines


def warnings_tag(lines: Sequence[str]) -> dict[str, str]:
    """Return the MLflow tag that shows warnings; none where there are none."""
    return {"zslplat.warnings": "; ".join(lines)} if lines else {}
