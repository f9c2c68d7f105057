"""Short titles of data sets: of the options that each was given, those in which the data sets beside it differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from zslplat.data.redrawn import draw_number, draw_of
from zslplat.spec import Spec, format_value


def set_titles(datasets: Iterable[str]) -> dict[str, str]:
    """Return {data set: its title}: its name, with options where others are called so, and ``birds #3`` of a draw.

    No two have one title; a data set whose title would be another's, too, has its whole spec.
    """
    places = list(dict.fromkeys(datasets))
    of = {place: draw_of(place) or place for place in places}
    short = _shortest(list(dict.fromkeys(of.values())))
    titles = {p: short[of[p]] if of[p] == p else f"{short[of[p]]} #{draw_number(p)}" for p in places}
    counts = Counter(titles.values())
    return {place: title if counts[title] == 1 else place for place, title in titles.items()}


def _shortest(datasets: list[str]) -> dict[str, str]:
    specs = {dataset: Spec.parse(dataset) for dataset in datasets}
    values: dict[tuple[str, str], set[str | None]] = {}
    for spec in specs.values():
        values |= {(spec.name, key): set() for key in spec.parameters if (spec.name, key) not in values}
    for (name, key), found in values.items():
        found |= {_text(spec, key) for spec in specs.values() if spec.name == name}
    return {
        dataset: str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if len(values[spec.name, k]) > 1}))
        for dataset, spec in specs.items()
    }


def _text(spec: Spec, key: str) -> str | None:
    return format_value(spec.parameters[key]) if key in spec.parameters else None
