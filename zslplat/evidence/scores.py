"""The numbers of test evaluations that statistics are made of: values, replicates and values per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import StoreError
from zslplat.evaluation.scoring.outcomes import class_values, read_outcomes, replicates
from zslplat.evidence.results import Evaluation, Result
from zslplat.metrics.intervals import ClassValues
from zslplat.records.costs import costs
from zslplat.tasks.base import Metric, Task


@dataclass(frozen=True)
class Scored:
    """The final evaluations of one study or run.

    ``values`` maps a metric to its value in each repeat, ``replicates`` to an array (repeats, b), where there are any;
    ``validation`` maps metrics to the mean over validation folds. ``rows`` is the hash of the scored rows (see
    :func:`zslplat.metrics.intervals.rows_digest`), ``data`` the fingerprint of their data set, ``images`` tells which
    data sets show the same (:func:`zslplat.data.class_draws.images_of`), ``knows`` what the method knows of the batch
    that it scores (``Method.knows_of_batch`` in words), None where it is not recorded; ``names`` are further names of
    the entry beside label, study and method, its run ids among them, ``suite_rows`` the names of the suites' rows that
    it is; ``from_memory`` says that its method was written down without its source at hand; ``primary`` is the metric
    that tuning optimised, where it is recorded. ``classes`` maps a metric to the values, or pseudo-values, of the
    scored classes (repeats, C), where there are any, ``kinds`` (C,) says which sample each class belongs to, and
    ``exchanged`` maps metrics to what each two classes take from each other (C, C), a mean over repeats;
    ``class_names`` (C,) are the classes (:class:`zslplat.metrics.intervals.ClassValues`). ``draws`` are what an entry
    of several draws of classes is joined of, by number (:func:`zslplat.evidence.draws.join_draws`).
    """

    label: str
    study: str
    method: str
    values: Mapping[str, Sequence[float]]
    replicates: Mapping[str, np.ndarray]
    validation: Mapping[str, float]
    rows: str | None = None
    data: str = ""
    images: frozenset[str] = field(default_factory=frozenset)
    knows: str | None = None
    code: str = ""
    names: frozenset[str] = field(default_factory=frozenset)
    suite_rows: frozenset[str] = field(default_factory=frozenset)
    from_memory: bool = False
    primary: Metric | None = None
    classes: Mapping[str, np.ndarray] = field(default_factory=dict)
    kinds: np.ndarray | None = None
    exchanged: Mapping[str, np.ndarray] = field(default_factory=dict)
    class_names: np.ndarray | None = None
    draws: Mapping[int, Scored] = field(default_factory=dict)

    @property
    def bare(self) -> str:
        """The method's name without parameters."""
        return self.method.partition("(")[0]


def scores_of(results: Sequence[Result]) -> list[Scored]:
    """Return what the records of each result say, without what is made from outcomes, which are files.

    A result is labelled by its method, and by its study or run as well where several have the same method.
    """
    counts = Counter(result.method for result in results)
    return [_scored(result, counts[result.method] > 1) for result in results]


def with_outcomes(
    scored: Scored, result: Result, task: Task, warn: Callable[[str], None], metrics: Collection[str] | None = None
) -> Scored:
    """Return scores with what their intervals are made of; ``warn`` is called for outcomes that cannot be read.

    ``metrics``: those that are needed, all where it is None.
    """
    drawn = _replicates(result, task, warn, metrics)
    return replace(scored, replicates=drawn, **_over_classes(result, task, metrics))


def _scored(result: Result, ambiguous: bool) -> Scored:
    labelled = f"{result.method} [{result.name}]"
    words = {f"[{text}]" for text in (result.tag, result.digest, *result.particulars.values())}
    values = [_values(evaluation) for evaluation in result.tested]
    return Scored(
        label=labelled if ambiguous else result.method,
        study=result.name,
        method=result.method,
        values={name: [one[name] for one in values] for name in values[0] if all(name in one for one in values)},
        replicates={},
        validation=result.validation,
        knows=result.tested[0].record.get("knows"),
        rows=result.rows,
        data=result.data,
        images=result.images,
        names=frozenset({labelled, *result.aliases, *words}),
        code=result.code_mark,
        from_memory=bool(result.about.get("from_memory")),
        primary=result.primary,
    )


def _values(evaluation: Evaluation) -> dict[str, float]:
    """Return metrics, what the method reports of itself (incoherence, say), seconds and memory of an evaluation."""
    metrics = {name: float(value) for name, value in evaluation.record["metrics"].items()}
    return {**evaluation.numbers, **costs(evaluation.record), **metrics}


def _replicates(
    result: Result, task: Task, warn: Callable[[str], None], metrics: Collection[str] | None
) -> dict[str, np.ndarray]:
    """Return {metric: (repeats, b)} of the metrics whose replicates all evaluations have."""
    tables = [_repeat_replicates(task, one, warn, metrics) for one in result.tested]
    if any(not table and _is_one_group(one.folder) for one, table in zip(result.tested, tables, strict=True)):
        warn(
            f"{result.name}: no interval over these test rows: its rows are recorded as one group, of which nothing "
            "can be drawn; where its data set says what rows are made of, as digit-pairs does, an evaluation by this "
            "version records it"
        )
    shared = [name for name in tables[0] if all(len(t.get(name, ())) == len(tables[0][name]) for t in tables)]
    return {name: np.array([table[name] for table in tables]) for name in shared}


def _is_one_group(folder: Path) -> bool:
    """Tell whether recorded outcomes say of all rows that they are of one group, and not what each is made of."""
    try:
        columns = read_outcomes(folder).columns
    except StoreError:
        return False
    return "made_of" not in columns and "group" in columns and len(np.unique(columns["group"])) == 1


def _repeat_replicates(
    task: Task, evaluation: Evaluation, warn: Callable[[str], None], metrics: Collection[str] | None
) -> dict[str, np.ndarray]:
    """Return {metric: (b,)} of one evaluation; nothing where no outcomes were written."""
    if not any("outcomes" in fold for fold in evaluation.record["folds"]):
        return {}
    try:
        return replicates(task, evaluation.folder, only=metrics)
    except StoreError as error:
        warn(f"{error}; until then it has no intervals")
        return {}


def _over_classes(result: Result, task: Task, metrics: Collection[str] | None) -> dict[str, Any]:
    """Return ``classes``, ``kinds``, ``exchanged`` and ``class_names`` of scores; nothing where a record lacks them.

    Outcomes that cannot be read have been warned of with the replicates.
    """
    tables = []
    for evaluation in result.tested:
        try:
            table = class_values(task, evaluation.folder, metrics)
        except StoreError:
            return {}
        if table is None:
            return {}
        tables.append(table)
    return fields_of_classes(tables)


def fields_of_classes(tables: Sequence[ClassValues]) -> dict[str, Any]:
    """Return ``classes``, ``kinds``, ``exchanged`` and ``class_names`` of scores, by the values per class of repeats.

    Nothing where the repeats have other classes.
    """
    kinds = tables[0].kinds
    if any(not np.array_equal(table.kinds, kinds) for table in tables):
        return {}
    shared = [name for name in tables[0].values if all(name in table.values for table in tables)]
    return {
        "classes": {name: np.array([t.values[name] for t in tables]) for name in shared},
        "kinds": kinds,
        "exchanged": {name: np.mean([t.exchanged[name] for t in tables], axis=0) for name in tables[0].exchanged},
        "class_names": tables[0].names,
    }
