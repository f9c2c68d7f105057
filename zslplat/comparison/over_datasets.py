"""Methods over several data sets, with mean ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat import statistics
from zslplat.comparison.paired import known_value
from zslplat.comparison.ranks import Across, Standing, across_sets
from zslplat.data.class_draws import draw_of, families
from zslplat.metrics.intervals import margin_of
from zslplat.names import counted
from zslplat.statistics import AHEAD, BEHIND, LEAST_CLASSES, NOT_ENOUGH, Pooled, holm

Row = Mapping[str, Any]
LEAST_POOLED = 2


@dataclass(frozen=True)
class Difference:
    """A difference on one data set, ``low`` and ``high`` the ends of its 95 % interval over new classes.

    ``classes`` is how many classes the interval is made from, and None where it is over something else; data sets of
    the same ``images`` count once.
    """

    data: str
    value: float
    low: float | None
    high: float | None
    classes: int | None
    images: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval, None where there is none."""
        if self.low is None or self.high is None or not math.isfinite(self.low + self.high):
            return None
        return self.low, self.high


def pool(differences: Sequence[Difference]) -> Pooled | None:
    """Return the pooled estimate (:func:`zslplat.statistics.pool`); None for fewer than two data sets."""
    if len(differences) < LEAST_POOLED:
        return None
    ends = [one.ends or (math.nan, math.nan) for one in differences]
    images = [one.images or number for number, one in enumerate(differences)]
    values = [one.value for one in differences]
    return statistics.pool(values, [low for low, _ in ends], [high for _, high in ends], images)


def reasons_not_pooled(differences: Sequence[Difference]) -> list[str]:
    """Return why each difference is no part of the pooled estimate, empty for those that are."""
    reasons: list[str] = []
    for one in differences:
        if one.ends is None:
            reasons.append("no interval")
        elif one.classes is None:
            reasons.append("not over new classes")
        elif one.classes < LEAST_CLASSES:
            reasons.append(f"{one.classes} classes")
        elif one.ends[1] - one.ends[0] <= 1e-12:
            reasons.append("no spread")
        else:
            reasons.append("")
    return reasons


def over_datasets(
    rows: Sequence[Row],
    datasets: Sequence[str],
    images: Mapping[str, Iterable[str]],
    *,
    maximise: bool,
    metric: str = "",
    baselines: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return a dictionary per group of methods that are ranked among themselves, ready for JSON.

    An experiment has the same short name (``short``) on all data sets. ``images``: what tells the images of a data set
    from those of others (:func:`zslplat.data.class_draws.images_of`). ``baselines`` has the short name of what
    differences are taken from, by group.

    ``group``; ``methods``, best mean rank first and those without a rank last, each with ``method``, ``scores`` by data
    set (None where it has none), ``mean_rank`` with the ends of its interval over data sets, ``tied``, and of its
    ``difference`` from ``baseline``, pooled over data sets, the ends, ``p_holm`` and the ``verdict``; ``baseline``;
    ``sets``, how many data sets of different rows there are; ``families``, the first data set of those that show the
    same images, by data set, as a data set and draws of its classes do; ``p_value``, ``critical_difference`` and
    ``reservation`` of :class:`zslplat.comparison.ranks.Across`. Methods that lack a data set, or whose score there is
    no number, have no rank; where fewer than two have all, none has one.
    """
    tables = []
    shared = families({name: {draw_of(name) or name, *images.get(name, ())} for name in datasets})
    for group in dict.fromkeys(str(row["group"]) for row in rows):
        scores: dict[str, dict[str, float]] = {}
        for row in rows:
            if row["group"] == group:
                of_method = scores.setdefault(str(row["short"]), {})
                of_method |= {} if math.isnan(row["test"]) else {str(row["dataset"]): float(row["test"])}
        complete = {name: by_dataset for name, by_dataset in scores.items() if len(by_dataset) == len(datasets)}
        across = across_sets(complete, maximise=maximise, families=shared) if len(complete) > 1 else None
        ranked = [] if across is None else [standing.method for standing in across.standings]
        sign = -1.0 if maximise else 1.0
        rest = sorted(
            (name for name in scores if name not in ranked),
            key=lambda name: sign * sum(scores[name].values()) / len(scores[name]) if scores[name] else math.inf,
        )
        standings = {} if across is None else {standing.method: standing for standing in across.standings}
        methods = [_method(name, scores[name], datasets, standings.get(name)) for name in (*ranked, *rest)]
        baseline = (baselines or {}).get(group)
        judged = _pooled(rows, scores, baseline, shared, metric, maximise=maximise)
        methods = [{**one, **judged[one["method"]]} for one in methods]
        baseline = baseline if any(one["verdict"] for one in methods) else None
        table = {"group": group, "methods": methods, "baseline": baseline}
        tables.append({**table, **_summary(across), "families": shared})
    return tables


def _pooled(
    rows: Sequence[Row],
    methods: Iterable[str],
    baseline: str | None,
    images: Mapping[str, str],
    metric: str,
    *,
    maximise: bool,
) -> dict[str, dict[str, Any]]:
    """Return the difference of each method from the baseline, pooled over data sets, with its verdict."""
    called = {(row["dataset"], row.get("method")): row["short"] for row in rows}
    pooled: dict[str, Pooled | None] = {}
    undecided = set()
    for method in methods:
        compared = [
            row
            for row in rows
            if row["short"] == method
            and row.get("difference") is not None
            and called.get((row["dataset"], row["baseline"])) == baseline
        ]
        differences = [
            Difference(
                str(row["dataset"]),
                float(row["difference"]),
                row["difference_low_classes"],
                row["difference_high_classes"],
                row["classes"],
                images[str(row["dataset"])],
            )
            for row in compared
        ]
        reasons = reasons_not_pooled(differences)
        pooled[method] = pool([one for one, why in zip(differences, reasons, strict=True) if not why])
        if reasons.count("") == 1:  # the difference on the one data set, as it is judged there
            alone, p_value = differences[reasons.index("")], compared[reasons.index("")]["p_value"]
            low, high = alone.ends or (math.nan, math.nan)
            pooled[method] = Pooled(alone.value, low, high, math.nan, math.nan, math.nan, p_value, math.nan, 1)
        elif pooled[method] is None and any(one.ends for one in differences):
            undecided.add(method)
    corrected = holm(np.array([np.nan if one is None else one.p_value for one in pooled.values()]))
    turned = {} if maximise else {AHEAD: BEHIND, BEHIND: AHEAD}
    judged = {}
    for (method, one), p_holm in zip(pooled.items(), corrected.tolist(), strict=True):
        verdict = one.verdict(p_holm, margin_of(metric)) if one else NOT_ENOUGH if method in undecided else None
        judged[method] = {
            "difference": None if one is None else one.estimate,
            "difference_low": None if one is None else one.low,
            "difference_high": None if one is None else one.high,
            "p_holm": known_value(p_holm),
            "verdict": turned.get(verdict or "", verdict),
        }
    return judged


def rank_notes(table: Mapping[str, Any], of: str = "") -> list[str]:
    """Return how far apart mean ranks must be, what counts as one data set, and what so few of them cannot show.

    ``of``: whose ranks they are, in words that begin with a blank.
    """
    if table["sets"] is None:
        return [f"no ranks{of}: fewer than two methods have a score on every data set"]
    p = "" if table["p_value"] is None else f"; all alike: p = {table['p_value']:.2g} (Friedman)"
    text = (
        f"ranks{of}: 1 is best; those less than {table['critical_difference']:.2f} apart do not differ significantly "
        f"(Nemenyi, level .05, {counted(table['sets'], 'data set')}) and share a letter{p}"
    )
    return [text, *([table["reservation"]] if table["reservation"] else [])]


def _method(
    name: str, scores: Mapping[str, float], datasets: Sequence[str], standing: Standing | None
) -> dict[str, Any]:
    return {
        "method": name,
        "scores": {dataset: scores.get(dataset) for dataset in datasets},
        "mean_rank": None if standing is None else standing.mean_rank,
        "rank_low": None if standing is None else known_value(standing.rank_low),
        "rank_high": None if standing is None else known_value(standing.rank_high),
        "tied": None if standing is None else standing.tied,
    }


def ranks_of(table: Mapping[str, Any]) -> Across | None:
    """Return what a diagram of ranks shows of one of these tables; None where no method has a rank."""
    if table["sets"] is None:
        return None
    standings = tuple(
        Standing(
            method=row["method"],
            mean_rank=row["mean_rank"],
            rank_low=_number(row["rank_low"]),
            rank_high=_number(row["rank_high"]),
            tied=row["tied"],
        )
        for row in table["methods"]
        if row["mean_rank"] is not None
    )
    return Across(
        standings=standings,
        sets=table["sets"],
        left_out=(),
        p_value=_number(table["p_value"]),
        critical_difference=table["critical_difference"],
        reservation=table["reservation"],
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _summary(across: Across | None) -> dict[str, Any]:
    return {
        "sets": None if across is None else across.sets,
        "p_value": None if across is None else known_value(across.p_value),
        "critical_difference": None if across is None else across.critical_difference,
        "reservation": "" if across is None else across.reservation,
    }


def best_validated(rows: Sequence[Row], sign: float) -> str:
    """Return the short name of the method with the best mean on validation, of those with the most rows."""
    values: dict[str, list[float]] = {}
    for row in rows:
        value = row["validation"]
        values.setdefault(str(row["short"]), []).append(np.nan if value is None else float(value))
    most = max(map(len, values.values()))
    means = {name: float(np.mean(validations)) for name, validations in values.items() if len(validations) == most}
    return min(means, key=lambda name: np.inf if np.isnan(means[name]) else sign * means[name])
