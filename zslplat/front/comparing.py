"""Which comparisons a command or a function asks for: data sets and tasks, with their defaults, and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from zslplat.comparison.filters import Filters
from zslplat.comparison.selection import Comparison
from zslplat.comparison.several import compared_each
from zslplat.data.catalogue import parse_dataset
from zslplat.errors import UnknownNameError, UsageError
from zslplat.front.asking import DEFAULT_DATASET, DEFAULT_TASK
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tracking.stores import show_what_is_left


def compared_as_asked(
    settings: Settings,
    filters: Filters,
    *,
    datasets: Sequence[str],
    all_datasets: bool,
    tasks: Sequence[str],
    all_tasks: bool,
    against: str | None,
    metrics: Sequence[str],
    every: bool,
    warn: Callable[[str], None],
) -> list[Comparison]:
    """Return a comparison for each task and metric, of the default data set and task where nothing else is said.

    A study, experiment, suite or tag that is asked for says which data sets and tasks are meant. Raises
    :class:`UsageError` for options that contradict each other, and like :func:`zslplat.comparison.selection.compared`.
    """
    if datasets and all_datasets:
        raise UsageError("--dataset names data sets and --all-datasets means all; give one of the two")
    if tasks and all_tasks:
        raise UsageError("--task names tasks and --all-tasks means all; give one of the two")
    everywhere = all_datasets or filters.are_recorded
    asked = datasets or ([] if everywhere else [DEFAULT_DATASET])
    specs = [str(parse_dataset(dataset)) for dataset in asked]
    default = [] if all_tasks or filters.are_recorded else [DEFAULT_TASK]
    wanted = [str(Spec.parse(task)) for task in tasks or default]
    show_what_is_left(settings, warn)

    def found(specs: Sequence[str], wanted: Sequence[str], filters: Filters) -> list[Comparison]:
        return compared_each(settings, specs, wanted, filters, against=against, metrics=metrics, every=every, warn=warn)

    try:
        return found(specs, wanted, filters)
    except UnknownNameError:
        if datasets or tasks or everywhere or all_tasks or not filters.names:
            raise
        # Where all are names of studies and runs, these say as well which data sets and tasks are meant.
        with suppress(UnknownNameError):
            return found([], [], replace(filters, names=(), studies=filters.names))
        raise
