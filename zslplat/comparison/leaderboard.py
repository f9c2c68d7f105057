"""The leaderboard of one task on one data set: every method's score, and how far it is from one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zslplat.comparison.naming import the_one
from zslplat.comparison.paired import Interval, Scored, difference, interval, same_rows
from zslplat.errors import UnknownNameError
from zslplat.tasks.base import Metric

BASELINE = "method to compare with"
OTHER_ROWS = "other rows"
# What an evaluation costs, as the tracking calls it: better when smaller, while other metrics are better when larger.
COSTS = frozenset({"seconds", "cpu_seconds", "peak_memory_bytes"})


def leaderboard(
    scored: Sequence[Scored], metric: str, primary: Metric, against: str | None = None
) -> list[dict[str, Any]]:
    """Return a row per method, best test score first: validation, test, spread over repeats, interval, difference.

    ``against`` names a method, label, study or run; by default the one with the best validation value of the primary
    metric: to compare with the winner on test would favour whoever was lucky there. Values are None where there is
    none; an entry that scored other rows than the baseline has a difference without an interval, and the verdict
    ``other rows``. Raises :class:`UnknownNameError` for an unknown metric or ``against``, :class:`UsageError` for an
    ``against`` that fits several entries.
    """
    known = set.intersection(*(set(entry.values) for entry in scored))
    if metric not in known:
        raise UnknownNameError("metric", metric, known)
    sign = 1.0 if primary.maximise else -1.0
    baseline = _baseline(scored, primary.name, sign, against)
    direction = sign if metric == primary.name else -1.0 if metric in COSTS else 1.0
    rows = []
    for entry in sorted(scored, key=lambda e: -direction * float(np.mean(e.values[metric]))):
        own = interval(entry, metric)
        gap = None if entry is baseline else difference(entry, baseline, metric)
        values = entry.values[metric]
        rows.append(
            {
                "method": entry.label,
                "study": entry.study,
                "knows": entry.knows,
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
        )
    return rows


def _baseline(scored: Sequence[Scored], primary: str, sign: float, against: str | None) -> Scored:
    if against is not None:
        return scored[the_one(against, scored, BASELINE)]
    validated = [entry for entry in scored if primary in entry.validation]
    return max(validated or scored, key=lambda entry: sign * entry.validation.get(primary, 0.0))


def _verdict(gap: Interval | None, direction: float) -> str:
    if gap is None:
        return ""
    return gap.verdict if direction > 0 else {"ahead": "behind", "behind": "ahead"}.get(gap.verdict, gap.verdict)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
