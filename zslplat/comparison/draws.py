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

from zslplat.comparison.classes import holm
from zslplat.comparison.paired import LEVEL, Interval, known_value
from zslplat.comparison.ranks import over_splits
from zslplat.data.class_draws import draw_number, draw_of
from zslplat.metrics.intervals import TOO_FEW_DRAWS, within

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
    rows: Sequence[Row],
    classes: Mapping[str, Classes],
    metric: str,
    group: str,
    against: str | None = None,
    *,
    maximise: bool,
) -> list[dict[str, Any]]:
    """Return a dictionary for each data set of which a group of rows has two draws or more, ready for JSON.

    ``rows`` are those of all groups on any data sets, ``classes`` the numbers of seen and unseen classes of each draw
    by its spec, as far as records say it. ``against`` is the short name of what differences are taken from, by default
    the method of the group with the best mean on validation. Draws are those that it has.

    ``dataset``, what is drawn from; ``draws``, how many; ``baseline``, None where nothing has a difference;
    ``methods``, best mean first, each with ``method``, ``draws``, its ``mean`` with ``low`` and ``high``, and its
    ``difference`` from the baseline with ``difference_low``, ``difference_high``, ``p_value``, ``p_holm`` and
    ``verdict``, None where there is none. Methods that lack a draw stand last, with the mean of those that they have.
    """
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        source = draw_of(str(row["dataset"]))
        if source is not None and not np.isnan(row["test"]):
            by_source.setdefault(source, []).append(row)
    tables = []
    for name, on_draws in by_source.items():
        members = [row for row in on_draws if row["group"] == group]
        if len({draw_number(str(row["dataset"])) for row in members}) > 1:
            tables.append(
                {"dataset": name, **_drawn(on_draws, members, _by_number(on_draws, classes), metric, against, maximise)}
            )
    return tables


def _by_number(rows: Sequence[Row], classes: Mapping[str, Classes]) -> dict[int, Classes]:
    names = dict.fromkeys(str(row["dataset"]) for row in rows)
    return {draw_number(name): classes[name] for name in names if name in classes}


def _scores(rows: Sequence[Row]) -> dict[str, dict[int, float]]:
    """Return {method: {draw: score}}."""
    scores: dict[str, dict[int, float]] = {}
    for row in rows:
        scores.setdefault(str(row["short"]), {})[draw_number(str(row["dataset"]))] = float(row["test"])
    return scores


def _drawn(
    rows: Sequence[Row],
    members: Sequence[Row],
    classes: Mapping[int, Classes],
    metric: str,
    against: str | None,
    maximise: bool,
) -> dict[str, Any]:
    sign = -1.0 if maximise else 1.0
    scores, every = _scores(members), _scores(rows)
    baseline = against if against is not None and len(every.get(against, ())) > 1 else _best_validated(members, sign)
    draws = set(every[baseline])
    complete = {method: by_draw for method, by_draw in scores.items() if draws <= set(by_draw)}
    methods = []
    for method, by_draw in scores.items():
        shared = {draw: value for draw, value in by_draw.items() if draw in draws}
        rival = every[baseline] if method in complete and method != baseline else None
        methods.append(_method(method, shared or by_draw, rival, classes, metric))
    corrected = holm(np.array([np.nan if m["p_value"] is None else m["p_value"] for m in methods]))
    turned = {} if maximise else {"ahead": "behind", "behind": "ahead"}
    for row, p_holm in zip(methods, corrected.tolist(), strict=True):
        gap = row.pop("gap")
        means = [row["mean"], row["mean"] - (row["difference"] or 0.0)]
        verdict = "" if gap is None else draw_verdict(gap, p_holm, means)
        row |= {"p_holm": known_value(p_holm), "verdict": turned.get(verdict, verdict) or None}
    return {
        "draws": len(draws),
        "baseline": baseline if any(row["difference"] is not None for row in methods) else None,
        "methods": sorted(methods, key=lambda row: (row["method"] not in complete, sign * row["mean"])),
    }


def _best_validated(rows: Sequence[Row], sign: float) -> str:
    """Return the short name of the method with the best mean on validation, of those with the most draws."""
    values: dict[str, list[float]] = {}
    for row in rows:
        value = row["validation"]
        values.setdefault(str(row["short"]), []).append(np.nan if value is None else float(value))
    most = max(map(len, values.values()))
    means = {name: float(np.mean(validations)) for name, validations in values.items() if len(validations) == most}
    return min(means, key=lambda name: np.inf if np.isnan(means[name]) else sign * means[name])


def _method(
    method: str,
    scores: Mapping[int, float],
    baseline: Mapping[int, float] | None,
    classes: Mapping[int, Classes],
    metric: str,
) -> dict[str, Any]:
    mean = _interval(scores, classes)
    low, high = within(metric, mean.estimate, mean.low, mean.high)
    gap = None if baseline is None else _interval({d: value - baseline[d] for d, value in scores.items()}, classes)
    return {
        "method": method,
        "draws": len(scores),
        "mean": mean.estimate,
        "low": known_value(low),
        "high": known_value(high),
        "difference": None if gap is None else gap.estimate,
        "difference_low": None if gap is None else known_value(gap.low),
        "difference_high": None if gap is None else known_value(gap.high),
        "p_value": None if gap is None else known_value(draw_p_value(gap, len(scores))),
        "gap": gap,
    }


def _interval(values: Mapping[int, float], classes: Mapping[int, Classes]) -> Interval:
    """Return the mean with its ends; without ends where it is not known how many classes a draw has."""
    counts = [classes[draw] for draw in values if draw in classes]
    numbers = [values[draw] for draw in values]
    if len(counts) < len(numbers):
        return Interval(float(np.mean(numbers)), float("nan"), float("nan"))
    return over_splits(numbers, counts)
