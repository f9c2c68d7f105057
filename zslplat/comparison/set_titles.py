"""Short titles of data sets: of the options that each was given, those in which the data sets beside it differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from zslplat.comparison.short_names import parameter_text
from zslplat.data.class_draws import draw_number, draw_of
from zslplat.spec import Spec


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

    def differs(name: str, key: str) -> bool:
        return len({parameter_text(spec, key) for spec in specs.values() if spec.name == name}) > 1

    return {
        dataset: str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if differs(spec.name, k)}))
        for dataset, spec in specs.items()
    }
