"""Comparisons of several tasks and metrics: a table each, as exports and the command show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zslplat.comparison.filters import EVERYTHING, Filters
from zslplat.comparison.recorded import Reader, is_of
from zslplat.comparison.selection import Comparison, compared
from zslplat.comparison.test_evaluations import nothing_recorded
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.spec import Spec


def compared_each(
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
    """Return a comparison for each of these tasks and metrics, in this order; see :func:`compared`.

    Without ``tasks`` those are meant of which what the filters name is recorded on these data sets, without ``metrics``
    each task's own, which may be another one on some data sets. Where something of what was asked for is recorded of
    some of them, ``warn`` is told of the others; where it is of none, the first reason is raised.
    """
    for task in tasks:
        build_component("tasks", Spec.parse(task))  # refuses what makes no sense before anything is read
    records = existing_records(settings, warn)
    try:
        reader = Reader(records, warn)
        of_task = _by_task(reader, datasets, filters) if filters.are_recorded else {}
        wanted = dict.fromkeys(tasks or (of_task if filters.are_recorded else reader.tasks(datasets)))
        if not wanted and datasets:
            raise nothing_recorded(settings, datasets[0], None, reader)
        if not wanted:
            raise StoreError(f"no test evaluation in {settings.store}; tune something first")
        elsewhere = [task for task in of_task if task not in wanted]
        found: list[Comparison] = []
        refused: list[tuple[str, StoreError | UsageError]] = []
        for task in wanted:
            pending: list[str | None] = list(dict.fromkeys(metrics)) or [None]
            for metric in pending:
                what = f"task {task}" + (f", metric {metric}" if metric else "")
                if filters.are_recorded and task not in of_task:
                    refused.append((what, _of_other_tasks(task, elsewhere)))
                    continue
                try:
                    asked = {"against": against, "metric": metric}
                    own = of_task.get(task, filters)
                    one = compared(settings, datasets, task, own, every=every, reader=reader, warn=warn, **asked)
                except (StoreError, UsageError) as error:
                    refused.append((what, error))
                    continue
                found.append(one)
                pending += one.further
    finally:
        records.close()
    if not found:
        raise refused[0][1]
    for what, reason in refused:
        # Where nobody chose tasks, names of what is shown say which are meant.
        if tasks or not isinstance(reason, UnknownNameError) or reason.name == against:
            warn(f"{what} is left out: {reason}")
    return found


def _by_task(reader: Reader, datasets: Sequence[str], filters: Filters) -> dict[str, Filters]:
    """Return the filters of each task of which something fits on these data sets.

    Raises :class:`UnknownNameError` for a name that fits nothing in the store, and :class:`StoreError` where nothing
    fits all, or what does is of other data sets.
    """
    everything = reader.by_task()
    groups = [group for own in everything.values() for group in own]
    fitting = list(dict.fromkeys(groups[place].dataset for place in filters.recorded(groups)))
    found = filters.by_task({task: [g for g in own if is_of(g.dataset, datasets)] for task, own in everything.items()})
    if not found:
        hint = f" on {', '.join(datasets)}; on {', '.join(fitting)} it does: --dataset chooses" if fitting else ""
        raise StoreError(f"nothing that is recorded fits all of what was asked for{hint or '; leave a filter out'}")
    return found


def _of_other_tasks(task: str, others: Sequence[str]) -> StoreError:
    """Return the error that says that what was asked for is recorded, of other tasks than this one."""
    hint = f"; of task {', '.join(others)} it is: --task chooses" if others else ""
    return StoreError(f"nothing of task {task} fits all of what was asked for{hint}")
