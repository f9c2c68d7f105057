"""Methods over several data sets, with mean ranks, and over draws of the classes of one, with the mean of the draws.

Of draws it is said how far apart methods are on further draws:

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

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat import statistics
from zslplat.comparison.paired import Interval, known_value
from zslplat.comparison.ranks import Across, Standing, across_sets, over_splits
from zslplat.data.class_draws import draw_number, draw_of, families
from zslplat.metrics.intervals import margin_of, within
from zslplat.names import counted
from zslplat.statistics import AHEAD, BEHIND, LEAST_CLASSES, NOT_ENOUGH, Pooled, holm, quantile_t, two_sided_p

Row = Mapping[str, Any]
LEAST_POOLED = 2
_DRAWS = "draws of "


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
    against: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return a dictionary per group of methods that are ranked among themselves, ready for JSON.

    An experiment has the same short name (``short``) on all data sets. Draws of the classes of one data set
    (``redrawn``) are one data set: a method's mean over them is its one score there, and is ranked. ``images``:
    what tells the images of a data set from those of others (:func:`zslplat.data.class_draws.images_of`). ``against``
    has the short name of what differences are taken from, by group.

    ``group``; ``methods``, best mean rank first and those without a rank last, each with ``method``, ``scores`` by data
    set (None where it has none), ``mean_rank`` with the ends of its interval over data sets, ``tied``, and of its
    ``difference`` from ``baseline``, pooled over data sets, the ends, ``p_holm`` and the ``verdict``; ``baseline``;
    ``sets``, how many data sets of different rows there are; ``families``, the first data set of those that show the
    same images, by data set; ``draws``, how many draws there are of each data set that is drawn anew; ``p_value``,
    ``critical_difference`` and ``reservation`` of :class:`zslplat.comparison.ranks.Across`. Methods that lack a data
    set, or whose score there is no number, have no rank; where fewer than two have all, none has one.
    """
    tables = []
    sets = {name: _counted_as(name) for name in datasets}
    shared = families({name: _marks(name, images, sets) for name in dict.fromkeys(sets.values())})
    for group in dict.fromkeys(str(row["group"]) for row in rows):
        scores: dict[str, dict[str, float]] = {}
        for row in rows:
            if row["group"] == group:
                of_method = scores.setdefault(str(row["short"]), {})
                of_method |= {} if math.isnan(row["test"]) else {str(row["dataset"]): float(row["test"])}
        complete = {
            name: _by_set(by_dataset, sets) for name, by_dataset in scores.items() if len(by_dataset) == len(datasets)
        }
        across = across_sets(complete, maximise=maximise, families=shared) if len(complete) > 1 else None
        ranked = [] if across is None else [standing.method for standing in across.standings]
        sign = -1.0 if maximise else 1.0
        rest = sorted(
            (name for name in scores if name not in ranked),
            key=lambda name: sign * sum(scores[name].values()) / len(scores[name]) if scores[name] else math.inf,
        )
        standings = {} if across is None else {standing.method: standing for standing in across.standings}
        methods = [_method(name, scores[name], datasets, standings.get(name)) for name in (*ranked, *rest)]
        same_images = {name: shared[sets[name]] for name in datasets}
        baseline = (against or {}).get(group)
        judged = _pooled(rows, scores, baseline, same_images, metric, maximise=maximise)
        methods = [{**one, **judged[one["method"]]} for one in methods]
        baseline = baseline if any(one["verdict"] for one in methods) else None
        summary = _summary(across, sets)
        tables.append({"group": group, "methods": methods, "baseline": baseline, **summary, "families": same_images})
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
    pooled, undecided = {}, set()
    for method in methods:
        differences = [
            Difference(
                str(row["dataset"]),
                float(row["difference"]),
                row["difference_low_classes"],
                row["difference_high_classes"],
                row["classes"],
                images[str(row["dataset"])],
            )
            for row in rows
            if row["short"] == method
            and row.get("difference") is not None
            and called.get((row["dataset"], row["baseline"])) == baseline
        ]
        reasons = reasons_not_pooled(differences)
        pooled[method] = pool([one for one, why in zip(differences, reasons, strict=True) if not why])
        if pooled[method] is None and any(one.ends for one in differences):
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
    return [text, *(words for words in (_draws_in_words(table), table["reservation"]) if words)]


def _draws_in_words(table: Mapping[str, Any]) -> str:
    """Return in words which draws count as one data set; nothing where there are none."""
    counts = [f"{count} of {name}" for name, count in table["draws"].items() if count > 1]
    return f"draws of classes count as one data set, by their mean: {', '.join(counts)}" if counts else ""


def _counted_as(dataset: str) -> str:
    """Return what a data set counts as: itself, or all draws of the classes of one that is drawn anew."""
    drawn = draw_of(dataset)
    return dataset if drawn is None else f"{_DRAWS}{drawn}"


def _by_set(scores: Mapping[str, float], sets: Mapping[str, str]) -> dict[str, float]:
    """Return the mean of the scores of what counts as one data set."""
    by_set: dict[str, dict[str | int, float]] = {}
    for dataset, value in scores.items():
        by_set.setdefault(sets[dataset], {})[_draw(dataset, sets)] = value
    return {name: sum(values.values()) / len(values) for name, values in by_set.items()}


def _draw(dataset: str, sets: Mapping[str, str]) -> str | int:
    """Return what tells a draw from the others of its data set; a data set that is no draw by its name."""
    return draw_number(dataset) if sets[dataset].startswith(_DRAWS) else dataset


def _marks(name: str, images: Mapping[str, Iterable[str]], sets: Mapping[str, str]) -> set[str]:
    """Return what tells the images of what counts as one data set: their own name, and what its entries tell."""
    members = [dataset for dataset, of in sets.items() if of == name]
    return {name.removeprefix(_DRAWS)}.union(*(images.get(dataset, ()) for dataset in members))


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


def _summary(across: Across | None, sets: Mapping[str, str]) -> dict[str, Any]:
    draws = {(name, _draw(dataset, sets)) for dataset, name in sets.items() if name.startswith(_DRAWS)}
    sources = sorted(name.removeprefix(_DRAWS) for name, _ in draws)
    return {
        "sets": None if across is None else across.sets,
        "draws": {} if across is None else dict(Counter(sources)),
        "p_value": None if across is None else known_value(across.p_value),
        "critical_difference": None if across is None else across.critical_difference,
        "reservation": "" if across is None else across.reservation,
    }


Classes = tuple[int, int]


def draw_p_value(gap: Interval, draws: int) -> float:
    """Return the two-sided p-value of 0 by the test whose interval this is; NaN where it has no ends."""
    if np.isnan(gap.low):
        return float("nan")
    error = (gap.high - gap.estimate) / quantile_t(draws - 1)
    return two_sided_p(gap.estimate / error, draws - 1)


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
                {
                    "dataset": name,
                    **_table_of_draws(on_draws, members, _by_number(on_draws, classes), metric, against, maximise),
                }
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


def _table_of_draws(
    rows: Sequence[Row],
    members: Sequence[Row],
    classes: Mapping[int, Classes],
    metric: str,
    against: str | None,
    maximise: bool,
) -> dict[str, Any]:
    sign = -1.0 if maximise else 1.0
    scores, every = _scores(members), _scores(rows)
    baseline = against if against is not None and len(every.get(against, ())) > 1 else best_validated(members, sign)
    draws = set(every[baseline])
    complete = {method: by_draw for method, by_draw in scores.items() if draws <= set(by_draw)}
    methods = []
    for method, by_draw in scores.items():
        shared = {draw: value for draw, value in by_draw.items() if draw in draws}
        rival = every[baseline] if method in complete and method != baseline else None
        methods.append(_mean_of_method(method, shared or by_draw, rival, classes, metric))
    corrected = holm(np.array([np.nan if m["p_value"] is None else m["p_value"] for m in methods]))
    turned = {} if maximise else {AHEAD: BEHIND, BEHIND: AHEAD}
    for row, p_holm in zip(methods, corrected.tolist(), strict=True):
        gap = row.pop("gap")
        verdict = "" if gap is None else gap.verdict(metric, p_holm)
        row |= {"p_holm": known_value(p_holm), "verdict": turned.get(verdict, verdict) or None}
    return {
        "draws": len(draws),
        "baseline": baseline if any(row["difference"] is not None for row in methods) else None,
        "methods": sorted(methods, key=lambda row: (row["method"] not in complete, sign * row["mean"])),
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


def _mean_of_method(
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
