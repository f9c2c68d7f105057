"""Methods x data sets: the scores of a comparison on several data sets, with mean ranks over those that all have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zslplat.comparison.paired import known_value
from zslplat.comparison.ranks import Across, Standing, across_sets
from zslplat.data.class_draws import draw_number, draw_of, families

Row = Mapping[str, Any]
_DRAWS = "draws of "


def over_datasets(
    rows: Sequence[Row],
    datasets: Sequence[str],
    images: Mapping[str, Iterable[str]],
    *,
    maximise: bool,
    against: str | None = None,
) -> list[dict[str, Any]]:
    """Return a dictionary per group of methods that are ranked among themselves, ready for JSON.

    An experiment has the same short name (``short``) on all data sets. Draws of the classes of one data set
    (``redrawn``) are one data set: a method's mean over them is its one score there, and is ranked. ``images``:
    what tells the images of a data set from those of others (:func:`zslplat.data.class_draws.images_of`). ``against``
    is the short name of what differences are taken from, by default what has the best mean rank.

    ``group``; ``methods``, best mean rank first and those without a rank last, each with ``method``, ``scores`` by data
    set (None where it has none), ``mean_rank`` with the ends of its interval over data sets, ``difference`` from
    ``baseline`` with its ends (means over data sets), and ``tied``; ``baseline``; ``sets``, how many data sets of
    different rows there are; ``draws``, how many draws there are of each data set that is drawn anew; ``p_value``,
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
        origin = against if against in complete else None
        several = len(complete) > 1
        across = across_sets(complete, maximise=maximise, families=shared, against=origin) if several else None
        ranked = [] if across is None else [standing.method for standing in across.standings]
        sign = -1.0 if maximise else 1.0
        rest = sorted(
            (name for name in scores if name not in ranked),
            key=lambda name: sign * sum(scores[name].values()) / len(scores[name]) if scores[name] else math.inf,
        )
        standings = {} if across is None else {standing.method: standing for standing in across.standings}
        methods = [_method(name, scores[name], datasets, standings.get(name)) for name in (*ranked, *rest)]
        baseline = None if across is None else origin or ranked[0]
        tables.append({"group": group, "methods": methods, "baseline": baseline, **_summary(across, sets)})
    return tables


def draws_words(table: Mapping[str, Any]) -> str:
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
    gap = None if standing is None else standing.difference
    low, high = (None, None) if gap is None else (known_value(gap.low), known_value(gap.high))
    return {
        "method": name,
        "scores": {dataset: scores.get(dataset) for dataset in datasets},
        "mean_rank": None if standing is None else standing.mean_rank,
        "rank_low": None if standing is None else known_value(standing.rank_low),
        "rank_high": None if standing is None else known_value(standing.rank_high),
        "difference": None if gap is None else gap.estimate,
        "difference_low": low,
        "difference_high": high,
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
            difference=None,
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
