"""The leaderboard of one task on one data set: every method's score, and how far it is from one of them.

Methods that score the rows of a batch jointly know more than those that see one row at a time. The two kinds are kept
apart: inductive entries first, each kind in the order of its scores and, unless one entry is asked for, beside the best
of its own kind.

Two intervals stand beside every score and every difference, and two verdicts: over *these test rows* (bootstrap,
:mod:`zslplat.comparison.paired`) and over *new classes like these* (:mod:`zslplat.comparison.classes`). The verdict is
the second: a zero-shot test has few classes, and rows within a class are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from zslplat.comparison.classes import (
    class_difference,
    class_differences,
    class_verdict,
    compared,
    family_p_values,
    over_classes,
    score_ends,
)
from zslplat.comparison.naming import the_one
from zslplat.comparison.paired import LEVEL, Scored, difference, interval, known_value, same_rows
from zslplat.comparison.tied import letters
from zslplat.errors import UnknownNameError, UsageError
from zslplat.methods.knowledge import TRANSDUCTIVE
from zslplat.metrics.few_classes import too_few
from zslplat.tasks.base import Metric

BASELINE = "method to compare with"
OTHER_ROWS, OTHER_DATA = NO_PAIR = ("other rows", "other data")
# How an entry's rows were scored, in the order in which a leaderboard shows them.
INDUCTIVE, JOINT, UNSAID = GROUPS = ("inductive", "transductive", "not recorded")
# How many of a group get letters; of 40 whose differences follow no order they take a tenth of a second, of 70 seven.
MOST_TIED = 40
# What an evaluation costs, as the tracking calls it: better when smaller, while other metrics are better when larger.
COSTS = frozenset({"seconds", "cpu_seconds", "peak_memory_bytes"})
# What methods report of themselves that is better when smaller.
_LESS = frozenset({"incoherence"})


def leaderboard(
    scored: Sequence[Scored], metric: str, primary: Metric, against: str | None = None
) -> list[dict[str, Any]]:
    """Return a row per method, by group, best test score first: validation, test, spread, interval, difference.

    ``group`` is ``inductive``, ``transductive``, or ``not recorded`` in older records. ``against`` names a method,
    label, study or run, from which all differences are taken; by default each group has a ``baseline`` of its own, the
    one with the best validation value of the primary metric (the first of ``scored`` where none has one): to compare
    with the winner on test would favour whoever was lucky there. Values are None where there is none; an entry that
    scored other rows than its baseline has a difference without an interval, and the verdict ``other rows``, or of
    other data ``other data``.

    Over these test rows: ``low``, ``high``, ``difference_low``, ``difference_high``, ``verdict_rows``. Over new
    classes: the same names with ``_classes``; ``classes``, how many there are; ``p_value`` of the difference and
    ``p_holm``, the same with Holm's correction over all rivals of one baseline; ``verdict``; ``smallest_difference``,
    the smallest that is seen with a power of 80 % among so many rivals; ``tied``, the letters of the entry within its
    group: two entries that share one are not told apart (Holm's correction over all pairs of the group: more
    comparisons than a verdict has. What is ``behind`` may share a letter with its baseline; what is ``level`` with it
    always does.)

    Raises :class:`UnknownNameError` for an unknown metric or ``against``, :class:`UsageError` for a metric that some
    of the entries lack, and for an ``against`` that fits several entries.
    """
    known = set.intersection(*(set(entry.values) for entry in scored))
    if metric not in known:
        lacking = [entry.label for entry in scored if metric not in entry.values]
        if len(lacking) < len(scored):
            raise UsageError(
                f"metric {metric!r} is not recorded of {', '.join(lacking)}; it is of "
                f"{', '.join(entry.label for entry in scored if metric in entry.values)}: name these alone, or give a "
                f"metric that all have: {', '.join(sorted(known))}"
            )
        raise UnknownNameError("metric", metric, known)
    sign = 1.0 if primary.maximise else -1.0
    direction = 1.0 if larger_is_better(metric, [primary]) else -1.0
    asked = None if against is None else scored[the_one(against, scored, BASELINE)]
    groups: list[tuple[list[Scored], list[dict[str, Any]], Scored]] = []
    for group in GROUPS:
        entries = [entry for entry in scored if group_of(entry.knows) == group]
        if not entries:
            continue
        baseline = asked or _best_validated(entries, primary.name, sign)
        ordered = sorted(entries, key=lambda e: _place(-direction * float(np.mean(e.values[metric]))))
        own = [
            {**_row(entry, baseline, metric, direction), "group": group, "baseline": baseline.label}
            for entry in ordered
        ]
        groups.append((ordered, own, baseline))
    rows = [row for _, own, _ in groups for row in own]
    _judge(rows, direction)
    for ordered, own, baseline in groups:
        told = [
            entry is baseline or row["verdict"] in ("ahead", "behind") for entry, row in zip(ordered, own, strict=True)
        ]
        for row, label in zip(own, _tied(ordered, baseline, told, metric), strict=True):
            row["tied"] = label
    return rows


def larger_is_better(metric: str, primaries: Iterable[Metric | None]) -> bool:
    """Tell whether larger values of a metric are better; the ``primaries`` of records say it of themselves."""
    told = (primary.maximise for primary in primaries if primary is not None and primary.name == metric)
    return next(told, metric not in COSTS | _LESS)


def group_of(knows: str | None) -> str:
    """Return the group of an entry by what its method knows of the batch, in words."""
    if knows is None:
        return UNSAID
    return JOINT if TRANSDUCTIVE in knows.split(", ") else INDUCTIVE


def _row(entry: Scored, baseline: Scored, metric: str, direction: float) -> dict[str, Any]:
    own, anew = interval(entry, metric), over_classes(entry, metric)
    gap = None if entry is baseline else difference(entry, baseline, metric)
    gap_anew = None if entry is baseline else class_difference(entry, baseline, metric)
    values = entry.values[metric]
    low_anew, high_anew = score_ends(anew, metric)
    gap_low, gap_high = gap_anew.ends if gap_anew else (np.nan, np.nan)
    return {
        "method": entry.label,
        "study": entry.study,
        "knows": entry.knows,
        "from_memory": entry.from_memory,
        "code": entry.code,
        "validation": entry.validation.get(metric),
        "test": own.estimate,
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "low": known_value(own.low),
        "high": known_value(own.high),
        "low_classes": known_value(low_anew),
        "high_classes": known_value(high_anew),
        "classes": anew.classes if anew else None,
        "difference": gap.estimate if gap else None,
        "difference_low": known_value(gap.low) if gap else None,
        "difference_high": known_value(gap.high) if gap else None,
        "difference_low_classes": known_value(gap_low),
        "difference_high_classes": known_value(gap_high),
        "p_value": None,
        "p_holm": None,
        "smallest_difference": None,
        "verdict": (gap_anew, own.estimate, own.estimate - (gap.estimate if gap else 0.0)),
        "verdict_rows": _unlike(entry, baseline) or _turned(gap.verdict if gap else "", direction),
    }


def _unlike(entry: Scored, baseline: Scored) -> str:
    """Return what makes two no pair, in words; empty where they are one."""
    if same_rows(entry, baseline):
        return ""
    return OTHER_DATA if entry.data != baseline.data else OTHER_ROWS


def _judge(rows: list[dict[str, Any]], direction: float) -> None:
    """Replace what a row's verdict is made of by the verdict over new classes, and set what belongs to it.

    The rivals of one baseline are one family of comparisons, whatever groups they stand in.
    """
    for baseline in dict.fromkeys(row["baseline"] for row in rows):
        family = [row for row in rows if row["baseline"] == baseline]
        values, adjusted = family_p_values([row["verdict"][0] for row in family])
        comparisons = compared(values)
        for row, p, p_holm in zip(family, values.tolist(), adjusted.tolist(), strict=True):
            gap, *scores = row["verdict"]
            row["p_value"], row["p_holm"] = known_value(p), known_value(p_holm)
            row["smallest_difference"] = known_value(gap.smallest_difference(comparisons)) if gap else None
            found = class_verdict(gap, p_holm, (scores[0], scores[1]), comparisons)
            row["verdict"] = row["verdict_rows"] if row["verdict_rows"] in NO_PAIR else _turned(found, direction)


def _tied(entries: Sequence[Scored], baseline: Scored, told: Sequence[bool], metric: str) -> list[str | None]:
    """Return the letters of the entries (n,), best first; None for those that cannot be compared over classes.

    Whatever the pairs say, entries that their verdict does not tell apart from the baseline (``told`` (n,)) are not:
    a verdict may rest on the exact test where so many pairs need the t test, and on more rivals than the group has.
    Those that scored other rows than the best entry with values per class are not compared with it. Of many entries
    the best :data:`MOST_TIED` have letters: pairs grow with the square of the entries, and letters much faster.
    """
    able = [i for i, entry in enumerate(entries) if metric in entry.classes]
    able = [i for i in able if same_rows(entries[i], entries[able[0]])][:MOST_TIED]
    pairs = [(a, b) for a in range(len(able)) for b in range(a + 1, len(able))]
    gaps = class_differences([entries[i] for i in able], pairs, metric)
    _, adjusted = family_p_values(gaps)
    different = np.zeros((len(able), len(able)), dtype=bool)
    for (a, b), gap, p in zip(pairs, gaps, adjusted.tolist(), strict=True):
        enough = gap is not None and not too_few(gap.classes)
        origin = any(entries[able[i]] is baseline for i in (a, b))
        agreed = not origin or (told[able[a]] and told[able[b]])
        different[a, b] = different[b, a] = enough and p <= 1 - LEVEL and agreed
    found: list[str | None] = [None] * len(entries)
    for i, label in zip(able, letters(different), strict=True):
        found[i] = label
    return found


def _best_validated(entries: Sequence[Scored], primary: str, sign: float) -> Scored:
    validated = [entry for entry in entries if primary in entry.validation]
    return max(validated or entries, key=lambda entry: sign * entry.validation.get(primary, 0.0))


def _turned(verdict: str, direction: float) -> str:
    """Return a verdict as it reads for a metric that is better when larger (``direction`` 1), or smaller (-1)."""
    return verdict if direction > 0 else {"ahead": "behind", "behind": "ahead"}.get(verdict, verdict)


def _place(value: float) -> tuple[bool, float]:
    """Return what entries are sorted by, smallest first: those without a value come last."""
    return (True, 0.0) if np.isnan(value) else (False, value)
