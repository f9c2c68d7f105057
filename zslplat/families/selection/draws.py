"""Several draws of seen and unseen classes in one problem: their arrays side by side, their results averaged.

Arrays of draw r > 1 have the suffix ``:r`` (:mod:`zslplat.tasks.base`); ``meta["draws"]`` holds what belongs to
each. :func:`parts` takes such a problem apart into one problem per draw, named as if it were alone.

Other seen/unseen splits of a data set than its own: drawn at random, or every pair of classes as the seen ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError, UsageError
from zslplat.figures import Table
from zslplat.metrics.intervals import ClassValues
from zslplat.tasks.base import Arrays, Problem, suffixes_of
from zslplat.tasks.row_outcomes import RowOutcomes


def with_drawn_classes(dataset: Dataset, share: float | None, draw: int) -> Dataset:
    """Return the data set with ``share`` of its classes, drawn with ``draw``, as the seen ones.

    Without ``share``, as many as its own split has (0.8 of them where it has none). Its own folds go with its split.
    """
    classes = _classes(dataset)
    if share is None:
        trained = np.unique(dataset.y[dataset.splits["train"]]) if "train" in dataset.splits else classes[:0]
        count = len(trained) or math.ceil(0.8 * len(classes))
    else:
        count = max(1, round(share * len(classes)))
    if not 1 <= count < len(classes):
        raise DataError(f"{dataset.name}: {count} of {len(classes)} classes seen leaves none unseen; lower seen_share")
    chosen = np.random.default_rng([draw, 8]).permutation(classes)[:count]
    return _split_by(dataset, np.sort(chosen))


def with_seen_pair(dataset: Dataset, draw: int) -> Dataset:
    """Return the data set with two seen classes: pair number ``draw`` (from 1) of all pairs in the order of the ids."""
    classes, pairs = _classes(dataset), number_of_pairs(dataset)
    if draw > pairs:
        raise UsageError(f"draw={draw}: {dataset.name} has {pairs} pairs of {len(classes)} classes; give 1..{pairs}")
    pair = next(itertools.islice(itertools.combinations(classes, 2), draw - 1, None))
    return _split_by(dataset, np.asarray(pair))


def number_of_pairs(dataset: Dataset) -> int:
    """Return how many pairs of classes there are."""
    return math.comb(len(_classes(dataset)), 2)


def _classes(dataset: Dataset) -> np.ndarray:
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: feature selection needs one class per row, got labels {dataset.y.shape}")
    return np.unique(dataset.y)


def _split_by(dataset: Dataset, seen: np.ndarray) -> Dataset:
    is_seen = np.isin(dataset.y, seen)
    splits = {"train": np.flatnonzero(is_seen), "test_unseen": np.flatnonzero(~is_seen)}
    # The arrays were checked when the data set was made; a known fingerprint leaves that out here.
    return replace(
        dataset, splits=splits, folds=(), groups=None, made_of=None, known_fingerprint=dataset.known_fingerprint or "-"
    )


def joined_problem(problems: Sequence[Problem]) -> Problem:
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
        (
            suffix,
            Problem(problem.name, arrays_of_draw(problem.inputs, suffix), arrays_of_draw(problem.truth, suffix), meta),
        )
        for suffix, meta in zip(suffixes, described, strict=True)
    ]


def arrays_of_draw(arrays: Mapping[str, Any], suffix: str) -> dict[str, Any]:
    """Return the arrays of one draw by their plain names."""
    if not suffix:
        return {name: value for name, value in arrays.items() if ":" not in name}
    return {name.removesuffix(suffix): value for name, value in arrays.items() if name.endswith(suffix)}


def joined_outcomes(outcomes: Sequence[RowOutcomes], values: Mapping[str, Sequence[float]]) -> RowOutcomes:
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
    metrics = {name: list(map(float, numbers)) for name, numbers in values.items()}
    return RowOutcomes({n: np.concatenate(c) for n, c in columns.items()}, {"classes": names, "by_draw": metrics})


def values_of_draws(outcomes: RowOutcomes) -> ClassValues | None:
    """Return the metrics of every draw as values of what is drawn; None where there is one draw.

    Draws that have classes in common are not independent: the variance of their mean is not s^2 / J. The values are
    moved away from their mean until it is (:func:`overlap`). None, too, where all draws have the same classes.
    """
    by_draw = outcomes.meta.get("by_draw")
    if by_draw is None:
        return None
    draw, true = outcomes.columns["draw"], outcomes.columns["true"]
    member = np.zeros((int(draw.max()), int(true.max()) + 1), dtype=bool)
    member[draw - 1, true] = True
    ratio = overlap(member)
    if not np.isfinite(ratio):
        return None
    metrics = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in by_draw.items()}
    values = {name: v.mean() + np.sqrt(ratio) * (v - v.mean()) for name, v in metrics.items()}
    return ClassValues(values, np.zeros(len(member), dtype=np.int64))


def overlap(member: np.ndarray) -> float:
    """Return how many times s^2 / J the variance of the mean over J draws of classes is; ``member`` (J, C) is a mask.

    With w_c = sum over the draws of class c of 1 / (J u_j), where u_j is the size of draw j: values of the draws are
    means of independent effects of classes, whose mean has a variance in proportion to sum w^2, while E s^2 is
    J / (J - 1) (mean 1 / u - sum w^2). 1 for draws of one size without a common class, J (1 / J + u / s) in the mean
    for draws of u of u + s classes, which is the correction of Nadeau and Bengio ("Inference for the Generalization
    Error", 2003); infinite where all draws are the same.
    """
    sizes = member.sum(axis=1)
    shared = float(np.sum((member / sizes[:, None]).mean(axis=0) ** 2))
    apart = float(np.mean(1 / sizes)) - shared
    return max((len(member) - 1) * shared / apart, 1.0) if apart > 1e-12 else np.inf


def joined_table(tables: Sequence[Table]) -> Table:
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


def labelled_rows(dataset: Dataset, train: np.ndarray, ratio: float, by: str, seed: int) -> np.ndarray:
    """Return the share of the training rows that is labelled, by rows of every class or by whole classes."""
    if ratio == 1:
        return train
    y, generator = dataset.y[train], np.random.default_rng([seed, 9])
    classes = np.unique(y)
    if by == "classes":
        labelled = generator.permutation(classes)[: max(2, round(ratio * len(classes)))]
        return train[np.isin(y, labelled)]
    chosen = []
    for label in classes:
        rows = train[y == label]
        chosen.append(generator.permutation(rows)[: max(1, round(ratio * len(rows)))])
    return np.sort(np.concatenate(chosen))
