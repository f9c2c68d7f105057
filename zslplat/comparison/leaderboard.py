"""The leaderboard of one task on one data set: every method's score, and how far it is from one of them.

Methods that score the rows of a batch jointly know more than those that see one row at a time. The two kinds are kept
apart: inductive entries first, each kind in the order of its scores and, unless one entry is asked for, beside the best
of its own kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zslplat.comparison.naming import the_one
from zslplat.comparison.paired import Interval, Scored, difference, interval, same_rows
from zslplat.errors import UnknownNameError
from zslplat.methods.base import TRANSDUCTIVE
from zslplat.tasks.base import Metric

BASELINE = "method to compare with"
OTHER_ROWS = "other rows"
# How an entry's rows were scored, in the order in which a leaderboard shows them.
INDUCTIVE, JOINT, UNSAID = GROUPS = ("inductive", "transductive", "not recorded")
# What an evaluation costs, as the tracking calls it: better when smaller, while other metrics are better when larger.
COSTS = frozenset({"seconds", "cpu_seconds", "peak_memory_bytes"})


def leaderboard(
    scored: Sequence[Scored], metric: str, primary: Metric, against: str | None = None
) -> list[dict[str, Any]]:
    """Return a row per method, by group, best test score first: validation, test, spread, interval, difference.

    ``group`` is ``inductive``, ``transductive``, or ``not recorded`` in older records. ``against`` names a method,
    label, study or run, from which all differences are taken; by default each group has a ``baseline`` of its own, the
    one with the best validation value of the primary metric: to compare with the winner on test would favour whoever
    was lucky there. Values are None where there is none; an entry that scored other rows than its baseline has a
    difference without an interval, and the verdict ``other rows``. Raises :class:`UnknownNameError` for an unknown
    metric or ``against``, :class:`UsageError` for an ``against`` that fits several entries.
    """
    known = set.intersection(*(set(entry.values) for entry in scored))
    if metric not in known:
        raise UnknownNameError("metric", metric, known)
    sign = 1.0 if primary.maximise else -1.0
    direction = sign if metric == primary.name else -1.0 if metric in COSTS else 1.0
    asked = None if against is None else scored[the_one(against, scored, BASELINE)]
    rows = []
    for group in GROUPS:
        entries = [entry for entry in scored if group_of(entry.knows) == group]
        if not entries:
            continue
        baseline = asked or _best_validated(entries, primary.name, sign)
        for entry in sorted(entries, key=lambda e: -direction * float(np.mean(e.values[metric]))):
            rows.append({**_row(entry, baseline, metric, direction), "group": group, "baseline": baseline.label})
    return rows


def group_of(knows: str | None) -> str:
    """Return the group of an entry by what its method knows of the batch, in words."""
    if knows is None:
        return UNSAID
    return JOINT if TRANSDUCTIVE in knows.split(", ") else INDUCTIVE


def _row(entry: Scored, baseline: Scored, metric: str, direction: float) -> dict[str, Any]:
    own = interval(entry, metric)
    gap = None if entry is baseline else difference(entry, baseline, metric)
    values = entry.values[metric]
    return {
        "method": entry.label,
        "study": entry.study,
        "knows": entry.knows,
        "from_memory": entry.from_memory,
        "code": entry.code,
        "validation": entry.validation.get(metric),
        "test": own.estimate,
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "low": _known(own.low),
        "high": _known(own.high),
        "difference": gap.estimate if gap else None,
        "difference_low": _known(gap.low) if gap else None,
        "difference_high": _known(gap.high) if gap else None,
        "verdict": _verdict(gap, direction) if same_rows(entry, baseline) else OTHER_ROWS,
    }


def _best_validated(entries: Sequence[Scored], primary: str, sign: float) -> Scored:
    validated = [entry for entry in entries if primary in entry.validation]
    return max(validated or entries, key=lambda entry: sign * entry.validation.get(primary, 0.0))


def _verdict(gap: Interval | None, direction: float) -> str:
    if gap is None:
        return ""
    return gap.verdict if direction > 0 else {"ahead": "behind", "behind": "ahead"}.get(gap.verdict, gap.verdict)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
