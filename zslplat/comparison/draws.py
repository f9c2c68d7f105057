"""Methods over draws of the classes of one data set: their means, and how far apart they are on further draws.

| symbol | here | shape | meaning |
|---|---|---|---|
| J | ``draws`` | | draws of which classes are seen and unseen |
| x_j | ``values`` | (J,) | a score in draw j, or the difference of two methods there |
| u / c | ``classes`` | (J,) | unseen classes beside seen ones in a draw |

The interval of the mean is Student's t with J - 1 degrees of freedom and the variance (1 / J + u / c) s^2, which allows
for draws that have classes in common (Nadeau and Bengio, "Inference for the Generalization Error", 2003); p-values are
of the same test, and Holm's correction is over the rivals of one baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.comparison.across import over_splits
from zslplat.comparison.classes import holm
from zslplat.comparison.paired import LEVEL, Interval, known_value
from zslplat.data.redrawn import draw_of
from zslplat.metrics.few_classes import TOO_FEW_DRAWS
from zslplat.metrics.shares import within

Row = Mapping[str, Any]
Classes = tuple[int, int]


def draw_p_value(gap: Interval, draws: int) -> float:
    """Return the two-sided p-value of 0 by the test whose interval this is; NaN where it has no ends."""
    if np.isnan(gap.low):
        return float("nan")
    from scipy.special import stdtr, stdtrit

    error = (gap.high - gap.estimate) / stdtrit(draws - 1, (1 + LEVEL) / 2)
    return float(2 * stdtr(draws - 1, -abs(gap.estimate) / error))


def draw_verdict(gap: Interval, p_holm: float, means: Sequence[float]) -> str:
    """Return ``ahead``, ``behind``, ``level`` or ``too few draws to tell``; empty without an interval.

    A difference counts where Holm's p-value is at most .05. There are *too few draws* where the interval reaches
    further than both scores (``means``): a method that gets nothing right could not be told from them.
    """
    if np.isnan(p_holm):
        return ""
    if p_holm <= 1 - LEVEL:
        return "ahead" if gap.estimate > 0 else "behind"
    return TOO_FEW_DRAWS if gap.high - gap.estimate > max(means) else "level"


def over_draws(
    rows: Sequence[Row], classes: Mapping[str, Classes], metric: str, *, maximise: bool
) -> list[dict[str, Any]]:
    """Return a dictionary for each data set of which a group of rows has two draws or more, ready for JSON.

    ``rows`` are those of one group on any data sets, ``classes`` the numbers of seen and unseen classes of each draw
    by its spec, as far as records say it. ``dataset``, what is drawn from; ``draws``, how many; ``baseline``;
    ``methods``, best mean first, each with ``method``, ``draws``, its ``mean`` with ``low`` and ``high``, and its
    ``difference`` from the baseline on the draws that both have, with ``difference_low``, ``difference_high``,
    ``p_value``, ``p_holm`` and ``verdict``, None where there is none. The baseline is the one that all draws are
    compared with, or the one with the best mean on validation.
    """
    of: dict[str, list[str]] = {}
    for dataset in dict.fromkeys(str(row["dataset"]) for row in rows):
        drawn = draw_of(dataset)
        if drawn is not None:
            of.setdefault(drawn, []).append(dataset)
    return [
        _drawn(name, [row for row in rows if row["dataset"] in draws], classes, metric, maximise)
        for name, draws in of.items()
        if len(draws) > 1
    ]


def _drawn(
    name: str, rows: Sequence[Row], classes: Mapping[str, Classes], metric: str, maximise: bool
) -> dict[str, Any]:
    scores: dict[str, dict[str, float]] = {}
    for row in rows:
        scores.setdefault(str(row["short"]), {})[str(row["dataset"])] = float(row["test"])
    sign = -1.0 if maximise else 1.0
    baseline = _baseline(rows, sign)
    methods = [_method(method, scores, baseline, classes, metric) for method in scores]
    corrected = holm(np.array([np.nan if m["p_value"] is None else m["p_value"] for m in methods]))
    for found, p_holm in zip(methods, corrected.tolist(), strict=True):
        gap = found.pop("gap")
        means = [found["mean"], found["mean"] - (found["difference"] or 0.0)]
        verdict = "" if gap is None else draw_verdict(gap, p_holm, means)
        turned = {"ahead": "behind", "behind": "ahead"} if not maximise else {}
        found |= {"p_holm": known_value(p_holm), "verdict": turned.get(verdict, verdict) or None}
    ordered = sorted(methods, key=lambda found: np.inf if np.isnan(found["mean"]) else sign * found["mean"])
    for found in ordered:
        found["mean"] = known_value(found["mean"])
    return {
        "dataset": name,
        "draws": len({row["dataset"] for row in rows}),
        "baseline": baseline,
        "methods": ordered,
    }


def _baseline(rows: Sequence[Row], sign: float) -> str:
    """Return the short name of what the others are compared with."""
    given = {str(row["short"]) for row in rows if row["method"] == row["baseline"]}
    if len(given) == 1:
        return given.pop()
    values: dict[str, list[float]] = {}
    for row in rows:
        value = row["validation"]
        values.setdefault(str(row["short"]), []).append(np.nan if value is None else float(value))
    most = max(map(len, values.values()))
    known = {name: float(np.mean(found)) for name, found in values.items() if len(found) == most}
    return min(known, key=lambda name: np.inf if np.isnan(known[name]) else sign * known[name])


def _method(
    method: str,
    scores: Mapping[str, Mapping[str, float]],
    baseline: str,
    classes: Mapping[str, Classes],
    metric: str,
) -> dict[str, Any]:
    own = scores[method]
    mean = _interval(own, classes)
    low, high = within(metric, mean.estimate, mean.low, mean.high)
    shared = {draw: value - scores[baseline][draw] for draw, value in own.items() if draw in scores[baseline]}
    gap = _interval(shared, classes) if shared and method != baseline else None
    return {
        "method": method,
        "draws": len(own),
        "mean": mean.estimate,
        "low": known_value(low),
        "high": known_value(high),
        "difference": None if gap is None else known_value(gap.estimate),
        "difference_low": None if gap is None else known_value(gap.low),
        "difference_high": None if gap is None else known_value(gap.high),
        "p_value": None if gap is None else known_value(draw_p_value(gap, len(shared))),
        "gap": gap,
    }


def _interval(values: Mapping[str, float], classes: Mapping[str, Classes]) -> Interval:
    """Return the mean with its ends; without ends where it is not known how many classes a draw has."""
    counts = [classes[draw] for draw in values if draw in classes]
    numbers = [values[draw] for draw in values]
    if len(counts) < len(numbers):
        return Interval(float(np.mean(numbers)), float("nan"), float("nan"))
    return over_splits(numbers, counts)
