"""What the results of all functions have in common: a table, a picture, answers to the names of other libraries."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zslplat.front.habits import attribute_hint
from zslplat.summary import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Result(Shown):
    """What a function gives: small, read from the store where it is asked for more than it holds."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the content as a table of pandas."""

    @abstractmethod
    def plot(self) -> Figure:
        """Return a picture, a figure of matplotlib."""

    if not TYPE_CHECKING:  # a type checker reports what is not there

        def __getattr__(self, name: str) -> Any:
            attributes = [one for one in dir(type(self)) if not one.startswith("_")]
            hint = attribute_hint(name, attributes, study=hasattr(type(self), "best_trial"))
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; {hint}", name=name, obj=self)


def scores_table(
    splits: Mapping[str, Sequence[Mapping[str, float]]], primary: str, chance: Mapping[str, float]
) -> dict[str, Sequence[Any]]:
    """Return a line for each metric, the mean of each split with its spread over repeats, and what guessing reaches.

    ``splits``: the metrics of each repeat; ``chance``: the level of each split by the primary metric, NaN where it is
    not known.
    """
    names = dict.fromkeys([primary, *(name for repeats in splits.values() for name in (repeats or [{}])[0])])
    table: dict[str, Sequence[Any]] = {"metric": [*names, f"{primary} by chance"]}
    for split, repeats in splits.items():
        if repeats:
            level = chance[split]
            means = [mean_and_spread([one[name] for one in repeats if name in one]) for name in names]
            table[split] = [*means, None if math.isnan(level) else level]
    return table


def mean_and_spread(values: Sequence[float]) -> str:
    """Return the mean with the standard deviation over repeats, where there are several."""
    import numpy as np

    if not values:
        return ""
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def legend_below(figure: Figure) -> None:
    """Name the lines of a figure below it, where nothing is in the way."""
    axes = figure.axes[0]
    inside = axes.get_legend()
    if inside is not None:
        inside.remove()
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)


def warning_lines(warnings: Sequence[str], silenced: int) -> list[str]:
    """Return a line for every warning, and one that counts those that are silenced."""
    return [*(f"warning: {line}" for line in warnings), f"{silenced} silenced" if silenced else ""]
