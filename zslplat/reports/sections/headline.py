"""The result of a comparison in words, with what its intervals cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zslplat.comparison.leaderboard import OTHER_DATA, OTHER_ROWS
from zslplat.metrics.few_classes import TOO_FEW
from zslplat.reports.facts import Board
from zslplat.reports.sections.words import listed, metric_words, number, span, with_article

Row = Mapping[str, Any]
_SAID = {
    "ahead": "ahead of it",
    "behind": "behind it",
    "level": "level with it: no difference can be told on new classes",
    TOO_FEW: "not told apart from it: there are too few classes to tell",
    OTHER_ROWS: "scored on other test rows, so that no interval can be given",
    OTHER_DATA: "scored on another version of the data, so that no interval can be given",
}


def headline(board: Board) -> list[str]:
    """Return sentences: who was best on validation, what it scores on test, and how the others stand beside it."""
    sentences = []
    groups = list(dict.fromkeys(str(row["group"]) for row in board.rows))
    for group in groups:
        rows = [row for row in board.rows if row["group"] == group]
        first = next((row for row in rows if row["method"] == row["baseline"]), rows[0])
        if len(rows) > 1 and all(row["validation"] is None for row in rows):
            sentences.append(_range(board, rows, group if len(groups) > 1 else ""))
        sentences.append(_first(board, first, group if len(groups) > 1 else "", len(rows)))
        others = [row for row in rows if row is not first]
        sentences += _standing(others, first)
    return sentences


def ends(row: Row, key: str = "") -> str:
    """Return both intervals of a row in words; ``key`` is ``difference_`` for those of its difference."""
    signed = bool(key)
    parts = []
    for name, what in (("", "these test rows"), ("_classes", "new classes")):
        low, high = row.get(f"{key}low{name}"), row.get(f"{key}high{name}")
        if low is not None and high is not None:
            parts.append(f"{what} {span(low, high, sign=signed, digits=3)}")
    return f" (95% interval over {', over '.join(parts)})" if parts else " (no interval is recorded)"


def _first(board: Board, row: Row, group: str, count: int) -> str:
    metric = with_article(metric_words(board.primary.name))
    who = f"Of the {group} methods, {row['short']}" if group else str(row["short"])
    why = " was best on validation and" if count > 1 and row["validation"] is not None else ""
    return f"{who}{why} reaches {metric} of {number(row['test'], digits=3)} on the test split{ends(row)}."


def _range(board: Board, rows: list[Row], group: str) -> str:
    """Say what is reached where nothing but the test score could tell who is best."""
    low, high = (end(rows, key=lambda row: float(row["test"])) for end in (min, max))
    reached = " to ".join(f"{number(row['test'], digits=3)} ({row['short']})" for row in (low, high))
    whose = f"{group} methods" if group else "methods"
    metric = with_article(metric_words(board.primary.name))
    return (
        f"The {len(rows)} {whose} reach {metric} of {reached} on the test split; no score on validation chooses one of "
        "them."
    )


def _standing(rows: list[Row], first: Row) -> list[str]:
    sentences = []
    by_verdict: dict[str, list[Row]] = {}
    for row in rows:
        by_verdict.setdefault(str(row["verdict"]), []).append(row)
    for verdict, own in by_verdict.items():
        names = [f"{row['short']} ({number(row['difference'], sign=True, digits=3)})" for row in own]
        shown = listed([*names[:6], f"{len(names) - 6} more"] if len(names) > 7 else names)
        are = "is" if len(names) == 1 else "are"
        said = _SAID.get(verdict, verdict or "without an interval of the difference")
        sentences.append(f"Beside {first['short']}, {shown} {are} {said}.")
    return sentences
