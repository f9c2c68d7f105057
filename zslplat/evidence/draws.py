"""One entry of several draws of the classes of a data set: of its class folds, or of random draws.

| symbol | here | shape | meaning |
|---|---|---|---|
| m_k | ``values`` | | a metric in draw k |
| v_jk | ``classes`` | (C,) | value, or pseudo-value, of class j in draw k, moved so that the mean of its kind is m_k |
| U_j, S_j | | | the draws in which class j is unseen, and seen |
| x_j | | (C,) | value of class j over all draws |

A class counts once, however often it was drawn:

    x_j = mean over U_j of v_jk  +  mean over S_j of (v_jk - m_k)

The second part is there for metrics of the generalised task, in which a class is of both kinds, in different draws. The
score is the mean of the x_j over classes: of K class folds, in which each class is unseen once, every class has the
same weight. What is said of new classes treats the x_j like the values per class of a single split. So draws that
overlap need no correction: a class that is drawn twice has one value. How far that holds where training differs from
draw to draw is simulated in ``benchmarks/interval_coverage.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zslplat.evidence.results import Result
from zslplat.evidence.scores import Scored, with_outcomes
from zslplat.keys import key_of
from zslplat.metrics.intervals import interactions
from zslplat.tasks.base import Task

UNSEEN = 0  # the kind of classes that are unseen, or the only one


def join_draws(draws: Mapping[int, Scored]) -> Scored:
    """Return one entry of draws of classes, by their numbers.

    Of several it has no interval over test rows, and the names of all.
    """
    entries = [draws[number] for number in sorted(draws)]
    first = entries[0]
    if len(entries) == 1:
        return replace(first, draws=dict(draws))
    every = [name for name in first.values if all(name in one.values for one in entries)]
    values = {name: _mean_by_repeat([one.values[name] for one in entries]) for name in every}
    classes, exchanged = {}, {}
    names = sorted({str(name) for one in entries for name in (() if one.class_names is None else one.class_names)})
    for metric in every:
        if names and all(metric in one.classes and one.class_names is not None for one in entries):
            table = _values_of_classes(entries, metric, names)
            if np.isfinite(table).any():
                classes[metric] = table
                values[metric] = np.nanmean(table, axis=1).tolist()
            if all(metric in one.exchanged for one in entries):
                exchanged[metric] = _exchanged(entries, metric, names)
    validated = [name for name in first.validation if all(name in one.validation for one in entries)]
    return replace(
        first,
        values=values,
        replicates={},
        validation={name: float(np.mean([one.validation[name] for one in entries])) for name in validated},
        rows=key_of([one.rows for one in entries]),
        data=key_of([one.data for one in entries]),
        images=frozenset().union(*(one.images for one in entries)),
        names=frozenset().union(*(one.names | {one.study} for one in entries)),
        classes=classes,
        kinds=None,
        exchanged=exchanged,
        class_names=np.array(names) if classes else None,
        draws=dict(draws),
    )


def draws_with_outcomes(
    scored: Scored, result: Result, task: Task, warn: Callable[[str], None], metrics: Collection[str]
) -> Scored:
    """Return scores, of one split or of joined draws, as :func:`zslplat.evidence.scores.with_outcomes` does."""
    if not result.draws:
        return with_outcomes(scored, result, task, warn, metrics)
    draws = {n: with_outcomes(one, result.draws[n], task, warn, metrics) for n, one in scored.draws.items()}
    return replace(join_draws(draws), names=scored.names)


def same_rows(scored: Scored, other: Scored) -> bool:
    """Tell whether two scored the same rows of the same data.

    Records that do not say which rows are taken to agree among themselves.
    """
    return (scored.data, scored.rows) == (other.data, other.rows)


def shared_draws(scored: Scored, other: Scored) -> tuple[Scored, Scored]:
    """Return two entries with the draws of classes that both have alone; as they are where they share none."""
    if same_rows(scored, other):
        return scored, other
    shared = [n for n, draw in scored.draws.items() if n in other.draws and same_rows(draw, other.draws[n])]
    if not shared:
        return scored, other
    ours, theirs = (join_draws({number: one.draws[number] for number in shared}) for one in (scored, other))
    return ours, theirs


def _mean_by_repeat(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over draws in each repeat; one number where draws have different numbers of repeats."""
    if len({len(one) for one in values}) > 1:
        return [float(np.mean([np.mean(one) for one in values]))]
    return np.mean(np.asarray(values, dtype=float), axis=0).tolist()  # type: ignore[no-any-return]


def _values_of_classes(entries: Sequence[Scored], metric: str, names: Sequence[str]) -> np.ndarray:
    """Return the x_j (repeats, C) of a metric, NaN for a class that has no say in it."""
    place = {name: i for i, name in enumerate(names)}
    alike = len({one.classes[metric].shape[0] for one in entries}) == 1
    parts = [_parts(one, metric, mean_of_repeats=not alike) for one in entries]
    of_unseen = any((kind[np.isfinite(table).all(axis=0)] == UNSEEN).any() for table, _, kind, _ in parts)
    shape = len(parts[0][0]), len(names)
    sums = {part: np.zeros(shape) for part in ("value", "deviation")}
    counts = {part: np.zeros(shape) for part in sums}
    for table, whole, kind, classes in parts:
        where = np.array([place[name] for name in classes])
        for number in np.unique(kind):
            chosen = np.flatnonzero((kind == number) & np.isfinite(table).all(axis=0))
            if not len(chosen):
                continue
            deviations = table[:, chosen] - table[:, chosen].mean(axis=1, keepdims=True)
            counted = number == UNSEEN or not of_unseen
            part = "value" if counted else "deviation"
            sums[part][:, where[chosen]] += deviations + (whole[:, None] if counted else 0.0)
            counts[part][:, where[chosen]] += 1
    value = np.where(counts["value"] > 0, sums["value"] / np.maximum(counts["value"], 1), np.nan)
    return np.asarray(value + sums["deviation"] / np.maximum(counts["deviation"], 1))


def _exchanged(entries: Sequence[Scored], metric: str, names: Sequence[str]) -> np.ndarray:
    """Return what each two classes take from each other (C, C) in the score of all draws, effects of a class left out.

    It is a sum over draws, each weighted by the share of its unseen classes, as the score is their mean.
    """
    place = {name: i for i, name in enumerate(names)}
    total = np.zeros((len(names), len(names)))
    parts = [_parts(entry, metric, mean_of_repeats=False) for entry in entries]
    tested = [np.count_nonzero(kind == UNSEEN) for _, _, kind, _ in parts]
    for entry, (_, _, _, classes), count in zip(entries, parts, tested, strict=True):
        where = np.array([place[name] for name in classes])
        pairs = np.zeros((len(where), len(where)))
        pairs[np.triu_indices(len(where), 1)] = interactions(entry.exchanged[metric])
        total[np.ix_(where, where)] += (pairs + pairs.T) * count / sum(tested)
    # :func:`~zslplat.metrics.intervals.interactions` corrects for the number of classes, which has been done by draw.
    return total * math.sqrt((len(names) - 3) / (len(names) - 1)) if len(names) > 3 else total


def _parts(
    entry: Scored, metric: str, *, mean_of_repeats: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return values per class (repeats, C), the metric (repeats,), the kinds (C,) and the names of the classes."""
    table, whole = entry.classes[metric], np.asarray(entry.values[metric], dtype=float)
    if mean_of_repeats:
        table, whole = table.mean(axis=0, keepdims=True), whole.mean(keepdims=True)
    names = [] if entry.class_names is None else [str(name) for name in entry.class_names]
    return table, whole, np.zeros(len(names), dtype=int) if entry.kinds is None else entry.kinds, names
