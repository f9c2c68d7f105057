"""Recorded warnings put into words, each under the code of the check that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zslplat.checks.base import UNNAMED, Warned
from zslplat.evaluation.warned import divided
from zslplat.registry import registry


def said(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[Warned]:
    """Return the warnings of entries as facts for checks; ``of`` says in which part of a study they arose.

    One whose text names no check that is registered belongs to :data:`~zslplat.checks.base.UNNAMED`.
    """
    known = registry().entries["checks"]
    found = []
    for entry in entries:
        text, code = divided(entry["text"])
        if code not in known:
            text, code = entry["text"], UNNAMED
        found.append(Warned(text, code, of, tuple(entry["where"])))
    return found


def in_words(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[str]:
    """Return a line for each entry: ``ZSP212 best trial: all codes are empty (fold-1, fold-3)``."""
    return [f"{warned.code} {warned.line}" for warned in said(entries, of)]


def warnings_tag(lines: Sequence[str]) -> dict[str, str]:
    """Return the MLflow tag that shows warnings; none where there are none."""
    return {"zslplat.warnings": "; ".join(lines)} if lines else {}
