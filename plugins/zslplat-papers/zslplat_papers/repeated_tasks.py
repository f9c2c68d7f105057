"""Tasks of papers that average one test over several splits of the data, with hyperparameters of one search.

The test problem holds the arrays of all splits side by side: those of the first have plain names, those of split
r > 1 the suffix ``:r``; ``meta["parts"]`` holds what belongs to each. The search sees the first split alone, whose
training rows, or seen classes, are in part those that another one tests, as in the usual protocol of repeated splits.
``zslplat cross-validate`` and ``zslplat bench --draws`` tune on every split by itself, and are free of that.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset, row_folds
from zslplat.errors import DataError, OutcomeWarning
from zslplat.families.coding.task import Coding
from zslplat.families.selection.task import FeatureSelection
from zslplat.figures import Table
from zslplat.metrics.intervals import ClassValues
from zslplat.space import Integer, Space, parameter
from zslplat.tasks.base import Arrays, Outcome, Problem, Task
from zslplat.tasks.row_outcomes import RowOutcomes


class RepeatedTask(Task):
    """Stands before a task and averages its test over several splits; ``part`` names them, in tables and outcomes."""

    part: ClassVar[str]
    takes_scores = False  # scores made elsewhere are of one split

    @property
    @abstractmethod
    def numbers(self) -> range:
        """The numbers of the splits that the test is the mean of."""

    @abstractmethod
    def test_of(self, dataset: Dataset, number: int, seed: int) -> Problem:
        """Return the test problem of one split."""

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: that of every split, side by side."""
        problems = [self.test_of(dataset, number, seed) for number in self.numbers]
        inputs: dict[str, Any] = {}
        truth: Arrays = {}
        for suffix, problem in zip(suffixes_of(len(problems)), problems, strict=True):
            inputs |= {name + suffix: value for name, value in problem.inputs.items()}
            truth |= {name + suffix: value for name, value in problem.truth.items()}
        meta = {**problems[0].meta, "parts": [dict(problem.meta) for problem in problems]}
        return Problem(problems[0].name, inputs, truth, meta)

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return the groups of every split, each with its own training rows."""
        groups = super().preprocessing_groups(role)
        suffixes = suffixes_of(len(self.numbers))
        return tuple(tuple(name + suffix for name in group) for suffix in suffixes for group in groups)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return the statistics of every split, by copies of the method that saw no other."""
        prepared: Arrays = {}
        for suffix, part in parts_of(problem):
            arrays = super().prepare(copy.deepcopy(method), part, space)
            prepared |= {name + suffix: array for name, array in arrays.items()}
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and score every split; the first comes last, so that the method keeps what it learned there."""
        outputs: Arrays = {}
        for suffix, part in reversed(parts_of(problem)):
            fresh = copy.deepcopy(method) if suffix else method
            ((_, of_part),) = super().run(fresh, part, arrays_of(statistics, suffix))  # type: ignore[safe-super]
            outputs |= {name + suffix: value for name, value in of_part.items()}
        yield 1, outputs

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of one split; of several their standard deviations, too."""
        names = super().metric_names()
        return (*names, *(f"{name}_std" for name in names if len(self.numbers) > 1))

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return means and standard deviations over the splits; ``full`` adds tables, and one of the splits."""
        parts = parts_of(problem)
        scored = []
        for suffix, part in parts:
            of_part = arrays_of(outputs, suffix)
            scored.append(super().score(part, of_part, validation_choices, full=full))  # type: ignore[safe-super]
        if len(scored) == 1:
            return scored[0]
        values = {name: [one.metrics[name] for one in scored] for name in scored[0].metrics}
        deviations = {f"{name}_std": float(np.std(v, ddof=1)) for name, v in values.items()}
        outcome = Outcome({name: float(np.mean(v)) for name, v in values.items()} | deviations)
        if full:
            for name in scored[0].tables:
                outcome.tables[name] = joined_table([one.tables[name] for one in scored], self.part)
            trained = [", ".join(part.meta["seen_classes"]) for _, part in parts if "seen_classes" in part.meta]
            seen = {"seen": trained} if trained else {}
            outcome.tables[f"{self.part}s"] = Table({self.part: list(self.numbers), **seen, **values})
        return outcome

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return what is scored in every split, and in which."""
        rows = []
        for _, part in parts_of(problem):
            rows.append(super().scored_rows(part))
        joined = {name: np.concatenate([arrays[name] for arrays in rows]) for name in rows[0]}
        sizes = [len(next(iter(arrays.values()))) for arrays in rows]
        return {**joined, self.part: np.repeat(np.arange(1, len(rows) + 1), sizes)}

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the rows of one split after another, with a column of 4 bytes that counts splits from 1 on."""
        rows = []
        for suffix, part in parts_of(problem):
            of_part = super().outcomes(part, arrays_of(outputs, suffix), validation_choices)
            assert of_part is not None
            rows.append(of_part)
        return joined_outcomes(rows, self.part)

    def chance(self, problem: Problem) -> float:
        """Return the mean over the splits."""
        values = []
        for _, part in parts_of(problem):
            values.append(super().chance(part))  # type: ignore[safe-super]
        return float(np.mean(values))

    def outcomes_of_parts(self, outcomes: RowOutcomes) -> list[tuple[np.ndarray, RowOutcomes]]:
        """Return the mask (m,) of the rows of every split, and what is kept of them."""
        number = outcomes.columns[self.part]
        columns = {name: column for name, column in outcomes.columns.items() if name != self.part}
        masks = [number == one for one in range(1, int(number.max()) + 1)]
        return [(rows, RowOutcomes({n: c[rows] for n, c in columns.items()}, outcomes.meta)) for rows in masks]


class RepeatedCoding(RepeatedTask, Coding):
    """Accuracy of a coding method, the mean over ``splits`` splits from ``split`` on.

    Equations
    ---------
    $$\\mathrm{acc} = \\frac{1}{R} \\sum_{r} \\mathrm{acc}_r$$

    Related
    -------
    ``coding`` is one of the splits, and ``zslplat cross-validate`` tunes on each.
    """

    name = "coding-splits"
    summary = "the mean of task coding over several splits, with the hyperparameters found in the first"
    part = "split"
    splits = parameter("number of splits that are averaged, from split on", Integer(1), default=10)

    @property
    def numbers(self) -> range:
        """The numbers of the splits that the test is the mean of."""
        return range(self.split, self.split + self.splits)

    def test_of(self, dataset: Dataset, number: int, seed: int) -> Problem:
        """Return the test problem of one split."""
        single = copy.copy(self)
        single.split = number
        return Coding.test(single, dataset, seed=seed)

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: that of every split, side by side."""
        if self.splits > 1 and row_folds(dataset):
            text = (
                f"{dataset.name}: the parameters of all {self.splits} folds are those found in the training rows of "
                f"fold {self.split}, which hold the test rows of the others; `zslplat cross-validate -t coding` tunes "
                "each fold inside its own training rows"
            )
            warnings.warn(OutcomeWarning(text), stacklevel=2)
        return super().test(dataset, seed=seed)

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows; classes keep their sizes, apart for every split."""
        units = []
        for number, (_, part) in enumerate(self.outcomes_of_parts(outcomes)):
            ids, strata = Coding.units(self, part)
            units.append((ids, strata + number * len(outcomes.meta["classes"])))
        ids, strata = (np.concatenate(arrays) for arrays in zip(*units, strict=True))
        return ids, strata

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) of each draw, as means over the splits."""
        drawn = [Coding.resampled(self, part, counts[:, rows]) for rows, part in self.outcomes_of_parts(outcomes)]
        return {name: np.mean([metrics[name] for metrics in drawn], axis=0) for name in drawn[0]}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return the means over the splits of the values per class, or per label where rows have several."""
        parts = [Coding.class_values(self, part) for _, part in self.outcomes_of_parts(outcomes)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a label that no split has
            values = {n: np.nanmean([part.values[n] for part in parts], axis=0) for n in parts[0].values}
        return ClassValues(values, parts[0].kinds)


class RepeatedFeatureSelection(RepeatedTask, FeatureSelection):
    r"""Clustering of unseen rows on selected features, the mean over ``draws`` draws of the seen classes.

    As many classes are drawn as the data set has seen ones, 0.8 of all where it has no split. Intervals are over draws:
    within one nothing is resampled.

    Equations
    ---------
    $$\bar m = \frac{1}{R} \sum_{r} m_r$$

    Related
    -------
    ``feature-selection`` is one split; ``zslplat bench --draws`` tunes on every draw.
    """

    name = "feature-selection-draws"
    summary = "the mean of task feature-selection over draws of the seen classes, tuned inside those of the first"
    part = "draw"
    draw = parameter("number of the first draw, from 1", Integer(1), default=1)
    draws = parameter("number of draws that are averaged", Integer(1, 1000), default=10)

    @property
    def numbers(self) -> range:
        """The numbers of the draws that the test is the mean of."""
        return range(self.draw, self.draw + self.draws)

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold of the classes that are seen in the first draw."""
        return super().validation(with_drawn_classes(dataset, self.draw), seed=seed)

    def test_of(self, dataset: Dataset, number: int, seed: int) -> Problem:
        """Return the test problem of one draw."""
        return FeatureSelection.test(self, with_drawn_classes(dataset, number), seed=seed)

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the rows of one draw after another; ``meta`` keeps the metrics of every draw."""
        rows = super().outcomes(problem, outputs, validation_choices)
        judged = [
            FeatureSelection.score(self, part, arrays_of(outputs, suffix), validation_choices, full=False).metrics
            for suffix, part in parts_of(problem)
        ]
        by_draw = {name: [float(metrics[name]) for metrics in judged] for name in judged[0]}
        return RowOutcomes(rows.columns, {**rows.meta, "by_draw": by_draw})

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the draws, where there are several."""
        count = int(outcomes.columns["draw"].max())
        return (np.arange(count), np.zeros(count, dtype=np.int64)) if count > 1 else None

    def things(self, outcomes: RowOutcomes) -> None:
        """Draws are what is drawn, and no row."""
        return

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) as means over drawn draws."""
        return {name: counts @ np.asarray(v) / len(v) for name, v in outcomes.meta["by_draw"].items()}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues | None:
        """Return the values of the draws of unseen classes, where there are several: a draw is a set of new classes.

        Draws that have classes in common are not independent: the variance of their mean is not s^2 / J. The values are
        moved away from their mean until it is (:func:`overlap`). None, too, where all draws have the same classes.
        """
        draw, true = outcomes.columns["draw"], outcomes.columns["true"]
        if draw.max() == 1:
            return None
        member = np.zeros((int(draw.max()), int(true.max()) + 1), dtype=bool)
        member[draw - 1, true] = True
        ratio = overlap(member)
        if not np.isfinite(ratio):
            return None
        metrics = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in outcomes.meta["by_draw"].items()}
        values = {name: v.mean() + np.sqrt(ratio) * (v - v.mean()) for name, v in metrics.items()}
        return ClassValues(values, np.zeros(len(member), dtype=np.int64))


def with_drawn_classes(dataset: Dataset, draw: int) -> Dataset:
    """Return the data set with as many seen classes as its own split has, drawn with ``draw``.

    0.8 of them where it has no split. Its own folds go with its split.
    """
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: feature selection needs one class per row, got labels {dataset.y.shape}")
    classes = np.unique(dataset.y)
    trained = np.unique(dataset.y[dataset.splits["train"]]) if "train" in dataset.splits else classes[:0]
    count = len(trained) or math.ceil(0.8 * len(classes))
    if count >= len(classes):
        raise DataError(f"{dataset.name}: all of its {len(classes)} classes are seen, and a draw leaves none unseen")
    seen = np.random.default_rng([draw, 8]).permutation(classes)[:count]
    is_seen = np.isin(dataset.y, seen)
    splits = {"train": np.flatnonzero(is_seen), "test_unseen": np.flatnonzero(~is_seen)}
    # The arrays were checked when the data set was made; a known fingerprint leaves that out here.
    return replace(
        dataset, splits=splits, folds=(), groups=None, made_of=None, known_fingerprint=dataset.known_fingerprint or "-"
    )


def suffixes_of(count: int) -> list[str]:
    """Return the suffixes of so many splits."""
    return [""] + [f":{number}" for number in range(2, count + 1)]


def parts_of(problem: Problem) -> list[tuple[str, Problem]]:
    """Return the suffix and the problem of every split; a problem of validation is the one that it is."""
    if "parts" not in problem.meta:
        return [("", problem)]
    parts = []
    for suffix, meta in zip(suffixes_of(len(problem.meta["parts"])), problem.meta["parts"], strict=True):
        inputs, truth = arrays_of(problem.inputs, suffix), arrays_of(problem.truth, suffix)
        parts.append((suffix, Problem(problem.name, inputs, truth, meta)))
    return parts


def arrays_of(arrays: Mapping[str, Any], suffix: str) -> dict[str, Any]:
    """Return the arrays of one split by their plain names."""
    if not suffix:
        return {name: value for name, value in arrays.items() if ":" not in name}
    return {name.removesuffix(suffix): value for name, value in arrays.items() if name.endswith(suffix)}


def joined_outcomes(outcomes: Sequence[RowOutcomes], part: str) -> RowOutcomes:
    """Return the rows of all splits one after another, with the column ``part`` (int32) that counts from 1."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.meta["classes"]))
    columns: dict[str, list[np.ndarray]] = {}
    for number, outcome in enumerate(outcomes, start=1):
        places = np.array([names.index(name) for name in outcome.meta["classes"]], dtype=np.int32)
        for name, column in outcome.columns.items():
            columns.setdefault(name, []).append(places[column] if name in ("true", "predicted") else column)
        columns.setdefault(part, []).append(np.full(len(outcome), number, dtype=np.int32))
    meta = {**outcomes[0].meta, "classes": names}
    return RowOutcomes({name: np.concatenate(column) for name, column in columns.items()}, meta)


def joined_table(tables: Sequence[Table], part: str) -> Table:
    """Return the mean of tables with the same lines; others one after another, with a column that counts them from 1.

    Tables have the same lines where their first columns and all their texts are equal.
    """
    first = tables[0].columns
    leading = next(iter(first))
    same = [name for name, values in first.items() if name == leading or any(isinstance(v, str) for v in values)]
    if all(list(table.columns[name]) == list(first[name]) for table in tables for name in same):
        means = {n: np.mean([table.columns[n] for table in tables], axis=0).tolist() for n in first if n not in same}
        return Table({**{name: list(first[name]) for name in same}, **means})
    columns: dict[str, list[Any]] = {name: [v for table in tables for v in table.columns[name]] for name in first}
    lengths = [len(table.columns[leading]) for table in tables]
    columns[part] = [number for number, length in enumerate(lengths, start=1) for _ in range(length)]
    return Table(columns)


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
