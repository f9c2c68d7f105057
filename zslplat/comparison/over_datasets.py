"""Methods over several data sets: mean differences with a verdict, beside mean ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.comparison.paired import known_value
from zslplat.comparison.ranks import mean_ranks
from zslplat.data.class_draws import draw_of, same_images
from zslplat.metrics.intervals import margin_of
from zslplat.names import counted
from zslplat.pooling import Pooled, pool
from zslplat.statistics import AHEAD, BEHIND, LEAST_CLASSES, NOT_ENOUGH, holm

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A difference on one data set, ``low`` and ``high`` the ends of its 95 % interval over new classes.

    ``classes`` is how many classes the interval is made from, and None where it is over something else; data sets of
    the same ``images`` count once. ``p_value`` is not corrected for other comparisons.
    """

    data: str
    value: float
    low: float | None
    high: float | None
    classes: int | None
    images: str = ""
    p_value: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval, None where there is none."""
        if self.low is None or self.high is None or not math.isfinite(self.low + self.high):
            return None
        return self.low, self.high


def pool_differences(differences: Sequence[Difference]) -> Pooled | None:
    """Return the mean over data sets (:func:`zslplat.pooling.pool`) of what counts; None where nothing does."""
    pooled = [one for one, why in zip(differences, reasons_not_pooled(differences), strict=True) if not why]
    ends = [one.ends or (math.nan, math.nan) for one in pooled]
    return pool(
        [one.value for one in pooled],
        [low for low, _ in ends],
        [high for _, high in ends],
        [one.images or number for number, one in enumerate(pooled)],
        classes=[one.classes for one in pooled],
        p_values=[one.p_value for one in pooled],
    )


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
    set (None where it has none), ``mean_rank``, and of its ``difference`` from ``baseline``, pooled over data sets, the
    ends, ``p_holm`` and the ``verdict``; ``baseline``; ``sets``, how many data sets of different rows there are, None
    without ranks; ``families``, the first data set of those that show the same images, by data set, as a data set and
    draws of its classes do. Methods that lack a data set, or whose score there is no number, have no rank; where fewer
    than two have all, none has one.
    """
    tables = []
    families = same_images({name: {draw_of(name) or name, *images.get(name, ())} for name in datasets})
    judged = _verdicts(rows, baselines or {}, families, metric, maximise=maximise)
    for group in dict.fromkeys(str(row["group"]) for row in rows):
        scores: dict[str, dict[str, float]] = {}
        for row in rows:
            if row["group"] == group:
                of_method = scores.setdefault(str(row["short"]), {})
                of_method |= {} if math.isnan(row["test"]) else {str(row["dataset"]): float(row["test"])}
        complete = {name: by_dataset for name, by_dataset in scores.items() if len(by_dataset) == len(datasets)}
        ranks = mean_ranks(complete, families, maximise=maximise) if len(complete) > 1 else {}
        sign = -1.0 if maximise else 1.0
        rest = sorted(
            (name for name in scores if name not in ranks),
            key=lambda name: sign * sum(scores[name].values()) / len(scores[name]) if scores[name] else math.inf,
        )
        methods = [
            {
                "method": name,
                "scores": {dataset: scores[name].get(dataset) for dataset in datasets},
                "mean_rank": ranks.get(name),
                **judged[group, name],
            }
            for name in (*ranks, *rest)
        ]
        baseline = (baselines or {}).get(group) if any(one["verdict"] for one in methods) else None
        sets = len(set(families.values())) if ranks else None
        tables.append({"group": group, "methods": methods, "baseline": baseline, "sets": sets, "families": families})
    return tables


def _verdicts(
    rows: Sequence[Row],
    baselines: Mapping[str, str],
    images: Mapping[str, str],
    metric: str,
    *,
    maximise: bool,
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return, by group and method, the difference from the group's baseline over data sets, with its verdict.

    Holm's correction is over the rivals of one baseline, whatever groups they stand in.
    """
    called = {(row["dataset"], row.get("method")): row["short"] for row in rows}
    differences: dict[tuple[str, str], list[Difference]] = {}
    for row in rows:
        of_method = differences.setdefault((str(row["group"]), str(row["short"])), [])
        baseline = called.get((row["dataset"], row.get("baseline")))
        if row.get("difference") is not None and baseline == baselines.get(str(row["group"])):
            of_method.append(difference_of(row, str(row["dataset"]), images[str(row["dataset"])]))
    pooled = {name: pool_differences(of_method) for name, of_method in differences.items()}
    turned = {} if maximise else {AHEAD: BEHIND, BEHIND: AHEAD}
    judged = {}
    for baseline in dict.fromkeys(baselines.get(group) for group, _ in pooled):
        rivals = [name for name in pooled if baselines.get(name[0]) == baseline]
        values = [one.p_value if (one := pooled[name]) else np.nan for name in rivals]
        for name, p_holm in zip(rivals, holm(values).tolist(), strict=True):
            one, undecided = pooled[name], any(d.ends for d in differences[name])
            verdict = one.verdict(p_holm, margin_of(metric)) if one else NOT_ENOUGH if undecided else None
            judged[name] = {
                "difference": None if one is None else one.estimate,
                "difference_low": None if one is None else one.low,
                "difference_high": None if one is None else one.high,
                "p_holm": known_value(p_holm),
                "verdict": turned.get(verdict or "", verdict),
            }
    return judged


def difference_of(row: Row, data: str, images: str) -> Difference:
    """Return the difference of a row of a comparison, under the name ``data``."""
    ends = row["difference_low_classes"], row["difference_high_classes"]
    return Difference(data, float(row["difference"]), *ends, row["classes"], images, row.get("p_value"))


def rank_note(table: Mapping[str, Any], of: str = "") -> str:
    """Return what ranks are means over, and why there are none.

    ``of``: whose ranks they are, in words that begin with a blank.
    """
    if table["sets"] is None:
        return f"no ranks{of}: fewer than two methods have a score on every data set"
    return f"ranks{of}: 1 is best; means over {counted(table['sets'], 'data set')}, which no test is made of"


def best_validated(rows: Sequence[Row], sign: float) -> str:
    """Return the short name of the method with the best mean on validation, of those with the most rows."""
    values: dict[str, list[float]] = {}
    for row in rows:
        value = row["validation"]
        values.setdefault(str(row["short"]), []).append(np.nan if value is None else float(value))
    most = max(map(len, values.values()))
    means = {name: float(np.mean(validations)) for name, validations in values.items() if len(validations) == most}
    return min(means, key=lambda name: np.inf if np.isnan(means[name]) else sign * means[name])
