"""Comparisons of several tasks and metrics: a table each, as exports and the command show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zslplat.comparison.compare import Comparison, compare
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.evidence.matching import EVERYTHING, Filters
from zslplat.evidence.table import ResultTable, is_among, nothing_recorded
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.spec import Spec


def compare_each(
    settings: Settings,
    datasets: Sequence[str] = (),
    tasks: Sequence[str] = (),
    filters: Filters = EVERYTHING,
    *,
    against: str | None = None,
    metrics: Sequence[str] = (),
    every: bool = False,
    warn: Callable[[str], None],
) -> list[Comparison]:
    """Return a comparison for each of these tasks and metrics, in this order; see :func:`compare`.

    No ``tasks`` stand for all that have results of what the filters name on these data sets, no ``metrics`` for each
    task's own, which may be another one on some data sets. Where some of them have a result, ``warn`` is called for the
    others; where none has one, the first reason is raised.
    """
    for task in tasks:
        build_component("tasks", Spec.parse(task))  # refuses what makes no sense before anything is read
    with existing_records(settings, warn) as records:
        table = ResultTable(records, warn)
        by_task = _filters_by_task(table, datasets, filters) if filters.select_results else {}
        requested = list(tasks or (by_task if filters.select_results else table.tasks(datasets)))
        if not requested:
            raise nothing_recorded(settings, datasets[0] if datasets else None, None, table)
        comparisons: list[Comparison] = []
        refused: list[tuple[str, StoreError | UsageError]] = []
        for task in dict.fromkeys(requested):
            aliases = build_component("tasks", Spec.parse(task)).aliases if metrics else {}
            pending: list[str | None] = [aliases.get(metric, metric) for metric in dict.fromkeys(metrics)] or [None]
            for metric in pending:
                subject = f"task {task}" + (f", metric {metric}" if metric else "")
                if filters.select_results and task not in by_task:
                    others = [name for name in by_task if name not in requested]
                    refused.append((subject, _of_other_tasks(task, others)))
                    continue
                options: dict[str, Any] = {"against": against, "metric": metric, "every": every, "table": table}
                try:
                    one = compare(settings, datasets, task, by_task.get(task, filters), **options, warn=warn)
                except (StoreError, UsageError) as error:
                    refused.append((subject, error))
                    continue
                comparisons.append(one)
                pending += one.other_metrics
    if not comparisons:
        raise refused[0][1]
    for subject, reason in refused:
        # Where no tasks were chosen, names of what is shown say which are meant.
        if tasks or not isinstance(reason, UnknownNameError) or reason.name == against:
            warn(f"{subject} is left out: {reason}")
    return comparisons


def _filters_by_task(table: ResultTable, datasets: Sequence[str], filters: Filters) -> dict[str, Filters]:
    """Return the filters of each task of which something fits on these data sets.

    Raises :class:`UnknownNameError` for a name that fits nothing in the store, and :class:`StoreError` where nothing
    fits all, or what does is of other data sets.
    """
    results = table.by_task()
    everything = [result for of_task in results.values() for result in of_task]
    fitting = list(dict.fromkeys(everything[place].dataset for place in filters.results(everything)))
    on_datasets = {task: [r for r in of_task if is_among(r.dataset, datasets)] for task, of_task in results.items()}
    by_task = filters.by_task(on_datasets)
    if not by_task:
        hint = f" on {', '.join(datasets)}; on {', '.join(fitting)} some do: --dataset chooses" if fitting else ""
        raise StoreError(f"no recorded result fits all filters{hint or '; leave one out'}")
    return by_task


def _of_other_tasks(task: str, others: Sequence[str]) -> StoreError:
    """Return the error that says that the results that the filters select are of other tasks than this one."""
    hint = f"; of task {', '.join(others)} some do: --task chooses" if others else ""
    return StoreError(f"no result of task {task} fits all filters{hint}")
