"""Texts that methods write: made fit to be printed, recorded and used as names; warnings are collected as they arise.

A record has ``warnings``: a list of ``{"text", "where", "count"}``, each text once, with the problems (folds, test)
that it came from and how often. A text that belongs to a check ends with its code in brackets.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from zslplat.errors import MethodError, OutcomeWarning, split_code
from zslplat.names import visible

MOST_TEXTS = 20
MOST_WARNING = 300
MOST_PRINTED = 2000  # characters of a warning with its code
Entries = list[dict[str, Any]]


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the texts of every :class:`OutcomeWarning` in a block; other warnings are shown as usual."""
    texts: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", OutcomeWarning)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **named: Any) -> None:
            if issubclass(category, OutcomeWarning):
                text, code = split_code(printable(str(message), MOST_PRINTED))
                texts.append(text[:MOST_WARNING] + (f" [{code}]" if code else ""))
            else:
                usual(message, category, *place, **named)

        warnings.showwarning = show
        yield texts


def warning_entries(warned: Iterable[tuple[str, Iterable[str]]]) -> Entries:
    """Return the entries of a record from (where, texts); after :data:`MOST_TEXTS` texts the rest is only counted."""
    entries: dict[str, dict[str, Any]] = {}
    left_out = 0
    for where, texts in warned:
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


MOST_CHARACTERS = 1000
_NAME = re.compile(r"\w[\w .-]{0,99}")
# Diagnostics name no files and may be formulas: mean k(x, x).
_DIAGNOSTIC = re.compile(r"\w[\w .,:;()=+*^|<>%'-]{0,99}")


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text as one line that every terminal, file and database takes, cut after ``most`` characters.

    Characters that move the cursor, are invisible or are half of a pair are escaped. A text that was cut ends with its
    length.
    """
    # Only the beginning of a text of many megabytes is processed.
    head = " ".join(text[: 10 * most].split())
    escaped = visible(head[:most])
    if len(head) <= most and len(escaped) <= most and len(text) <= 10 * most:
        return escaped
    return f"{escaped[:most]}... ({len(text)} characters)"


def message_of(error: BaseException) -> str:
    """Return the text of an exception as :func:`printable` does, even if making it fails."""
    try:
        return printable(str(error))
    except Exception as unreadable:
        return f"its text cannot be made: {type(unreadable).__name__}"


def require_names(kind: str, names: Iterable[object]) -> None:
    """Raise :class:`MethodError` for a name that cannot be that of a metric and of a file."""
    pattern, more = (_DIAGNOSTIC, ", and signs of formulas") if kind == "diagnostic" else (_NAME, "")
    for name in names:
        if not (isinstance(name, str) and pattern.fullmatch(name)):
            raise MethodError(
                f"a {kind} of the method is named {printable(ascii(name), 120)}; expected 1 to 100 letters, digits, "
                f"underscores, hyphens, dots and blanks{more}, the first a letter, digit or underscore"
            )
