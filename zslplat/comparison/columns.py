"""The columns of a comparison for people: titles, rounded numbers, and which of them a page has room for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zslplat.comparison.leaderboard import NO_PAIR

Row = Mapping[str, Any]
NO_CLASSES = (
    "{} has no interval over new classes here: that takes two classes of each kind that it is made of (seen, unseen), "
    "or two draws of classes, that are not all alike"
)
FURTHER_DRAWS = (
    "further draws: what the mean would be on other draws of seen and unseen classes of this data set (Student t, "
    "95 %, corrected for draws that overlap); verdicts are by this one, after Holm's correction over the rivals"
)
NO_DRAWS = (
    "no interval over draws: it takes two of them that are not all alike, and records that say how many classes each "
    "has (those of earlier versions do not)"
)
LACKING_DRAWS = (
    "methods that lack one of the draws, or have no number there, stand last, with the mean of those that they have; "
    "it is no match for the others, and they have no difference"
)
ON_THESE_ROWS = "(these rows)"  # behind a verdict over the test rows, where there is none over new classes
CUT = "a score on new classes that ends at 0 or 1 was cut there: Student's t reaches beyond, and no score does"


@dataclass(frozen=True)
class Column:
    """A column: its title, the text of a row in it, and its ``rank``: the higher, the sooner it is left out."""

    title: str
    text: Callable[[Row], str]
    rank: int
    right: bool = True


COLUMNS = (
    Column("method", lambda row: row["short"] + (" *" if row["from_memory"] else ""), 0, right=False),
    Column("validation", lambda row: number(row["validation"]), 9),
    Column("test", lambda row: _with_spread(row), 0),
    Column("score on\nthese rows", lambda row: ends(row["low"], row["high"]), 12),
    Column("score on\nnew classes", lambda row: ends(row["low_classes"], row["high_classes"]), 11),
    Column("difference", lambda row: number(row["difference"], sign=True), 1),
    Column("difference on\nthese rows", lambda row: ends(row["difference_low"], row["difference_high"], sign=True), 4),
    Column(
        "difference on\nnew classes",
        lambda row: ends(row["difference_low_classes"], row["difference_high_classes"], sign=True),
        3,
    ),
    Column("verdict", lambda row: verdict(row), 2, right=False),
    Column("p (Holm)", lambda row: p_value(row["p_holm"]), 7),
    Column("smallest\nvisible", lambda row: number(row["smallest_difference"]), 13),
    Column("tied", lambda row: row["tied"] or "", 5, right=False),
    Column("trials", lambda row: whole(row["trials"]), 6),
    Column("seconds\nof search", lambda row: seconds(row["trial_seconds"]), 14),
    Column("seconds\nof test", lambda row: seconds(row["test_seconds"]), 10),
    Column("epochs", lambda row: whole(row["epochs"]), 8),
    Column("knows of batch", lambda row: knows(row), 15, right=False),
    Column("unequal", lambda row: row["unequal"], 16, right=False),
    Column(
        "stands for", lambda row: f"{row['folded'] + 1} of this experiment" if row["folded"] else "", 17, right=False
    ),
    Column("study", lambda row: row["study"], 18, right=False),
)


def draw_notes(table: Mapping[str, Any]) -> list[str]:
    """Return what has to be said under a table over draws (:func:`zslplat.comparison.draws.over_draws`)."""
    complete = [row for row in table["methods"] if row["draws"] == table["draws"]]
    lines = [FURTHER_DRAWS]
    if any(row["low"] is None for row in complete):
        lines.append(NO_DRAWS)
    if len(complete) < len(table["methods"]):
        lines.append(LACKING_DRAWS)
    return lines


def cut(row: Row) -> bool:
    """Tell whether the interval of a score over new classes ends where the metric does."""
    low, high = row.get("low_classes"), row.get("high_classes")
    return low is not None and high is not None and low < high and (low == 0 or high == 1)


def filled(rows: Sequence[Row], columns: Sequence[Column]) -> list[Column]:
    """Return the columns in which a row has something to show."""
    return [column for column in columns if any(column.text(row) for row in rows)]


def fitting(columns: Sequence[Column], rows: Sequence[Row], width: int, gap: int) -> list[Column]:
    """Return those of the columns, in order, that fit into ``width`` characters with ``gap`` between two of them.

    A column that does not fit is passed over for the next one in rank; that of the names may be folded to a third.
    """
    widths = {
        id(c): max(len(line) for line in (*c.title.splitlines(), *(c.text(row) for row in rows))) for c in columns
    }
    left = width
    shown: set[int] = set()
    for column in sorted(columns, key=lambda c: c.rank):
        needed = widths[id(column)] + gap
        if column.title == "method":
            needed = min(needed, width // 3)
        if not shown or needed <= left or column.rank == 0:
            shown.add(id(column))
            left -= needed
    return [column for column in columns if id(column) in shown]


def verdict(row: Row) -> str:
    """Return the verdict over new classes; where there is none, that over the test rows, saying so."""
    if row["verdict"] or not row["verdict_rows"]:
        return str(row["verdict"])
    return str(row["verdict_rows"]) if row["verdict_rows"] in NO_PAIR else f"{row['verdict_rows']} {ON_THESE_ROWS}"


def knows(row: Row) -> str:
    """Return what a row's method knows of the batch that it scores."""
    return "not recorded" if row["knows"] is None else str(row["knows"])


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a score with four digits behind the point; nothing for None."""
    return "" if value is None else f"{value:+.4f}" if sign else f"{value:.4f}"


def ends(low: float | None, high: float | None, *, sign: bool = False) -> str:
    """Return an interval; nothing where it is not known."""
    return "" if low is None or high is None else f"{number(low, sign=sign)} .. {number(high, sign=sign)}"


def p_value(value: float | None) -> str:
    """Return a p-value with two digits that count; the smallest ones as a bound."""
    return "" if value is None else "< .0001" if value < 1e-4 else f"{value:.2g}"


def whole(value: float | None) -> str:
    """Return a count, or a mean of counts."""
    return "" if value is None else f"{value:g}"


def seconds(value: float | None) -> str:
    """Return a time with three digits, whole seconds from a hundred on."""
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _with_spread(row: Row) -> str:
    return number(row["test"]) + (f" ± {row['spread']:.4f}" if row["spread"] is not None else "")


def same_score(one: float, other: float) -> bool:
    """Tell whether scores are equal but for rounding, which means over different numbers of equal repeats have."""
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def letters_of(tied: str | None) -> set[str]:
    """Return the groups of a label: ``ab`` and ``a1b`` are two each."""
    return set(re.findall(r"[a-z]\d*", tied or ""))
