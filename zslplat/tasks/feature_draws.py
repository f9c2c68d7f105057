"""Several draws of seen and unseen classes in one problem: their arrays side by side, their results averaged.

Arrays of draw r > 1 have the suffix ``:r`` (:mod:`zslplat.tasks.array_names`); ``meta["draws"]`` holds what belongs to
each. :func:`parts` takes such a problem apart into one problem per draw, named as if it were alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.metrics.jackknife import ClassValues
from zslplat.tables import Table
from zslplat.tasks.array_names import suffixes_of
from zslplat.tasks.base import Arrays, Problem
from zslplat.tasks.row_outcomes import RowOutcomes


def beside_each_other(problems: Sequence[Problem]) -> Problem:
    """Return one problem with the arrays of all; a single one stays as it is."""
    first = problems[0]
    if len(problems) == 1:
        return first
    inputs: dict[str, Any] = {}
    truth: Arrays = {}
    for suffix, problem in zip(suffixes_of(len(problems)), problems, strict=True):
        inputs |= {name + suffix: value for name, value in problem.inputs.items()}
        truth |= {name + suffix: value for name, value in problem.truth.items()}
    return Problem(first.name, inputs, truth, {**first.meta, "draws": [dict(p.meta) for p in problems]})


def parts(problem: Problem) -> list[tuple[str, Problem]]:
    """Return the suffix and the problem of every draw."""
    described = problem.meta.get("draws")
    if described is None:
        return [("", problem)]
    suffixes = suffixes_of(len(described))
    return [
        (suffix, Problem(problem.name, of_draw(problem.inputs, suffix), of_draw(problem.truth, suffix), meta))
        for suffix, meta in zip(suffixes, described, strict=True)
    ]


def of_draw(arrays: Mapping[str, Any], suffix: str) -> dict[str, Any]:
    """Return the arrays of one draw by their plain names."""
    if not suffix:
        return {name: value for name, value in arrays.items() if ":" not in name}
    return {name.removesuffix(suffix): value for name, value in arrays.items() if name.endswith(suffix)}


def in_one(outcomes: Sequence[RowOutcomes], values: Mapping[str, Sequence[float]]) -> RowOutcomes:
    """Return the rows of all draws one draw after another, with the column ``draw`` (int32) that counts from 1.

    ``meta`` keeps the metrics of every draw, ``values``: an interval over draws is made of them.
    """
    names = sorted({name for outcome in outcomes for name in outcome.meta["classes"]})
    columns: dict[str, list[np.ndarray]] = {}
    for number, outcome in enumerate(outcomes, start=1):
        places = np.array([names.index(name) for name in outcome.meta["classes"]], dtype=np.int32)
        for name, column in outcome.columns.items():
            columns.setdefault(name, []).append(places[column] if name in ("true", "predicted") else column)
        columns.setdefault("draw", []).append(np.full(len(outcome), number, dtype=np.int32))
    kept = {name: list(map(float, numbers)) for name, numbers in values.items()}
    return RowOutcomes({n: np.concatenate(c) for n, c in columns.items()}, {"classes": names, "by_draw": kept})


def values_of_draws(outcomes: RowOutcomes) -> ClassValues | None:
    """Return the metrics of every draw as values of what is drawn; None where there is one draw.

    Draws that have classes in common are not quite independent, which an interval over them does not know.
    """
    by_draw = outcomes.meta.get("by_draw")
    if by_draw is None:
        return None
    values = {name: np.asarray(found, dtype=np.float64) for name, found in by_draw.items()}
    return ClassValues(values, np.zeros(len(next(iter(values.values()))), dtype=np.int64))


def in_one_table(tables: Sequence[Table]) -> Table:
    """Return the lines of all draws one after another, with a column ``draw`` that counts from 1."""
    columns: dict[str, list[Any]] = {name: [] for name in tables[0].columns}
    columns["draw"] = []
    for number, table in enumerate(tables, start=1):
        lengths = set()
        for name, values in table.columns.items():
            columns[name] += list(values)
            lengths.add(len(values))
        columns["draw"] += [number] * lengths.pop()
    return Table(columns)
