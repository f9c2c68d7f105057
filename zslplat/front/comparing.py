"""Which comparisons a command or a function asks for: data sets and tasks, with their defaults, and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zslplat.comparison.filters import Filters
from zslplat.comparison.selection import Comparison
from zslplat.comparison.several import compared_each
from zslplat.data.catalogue import parse_dataset
from zslplat.errors import UsageError
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

    A study, experiment, suite or tag that is asked for says which data sets are meant. Raises :class:`UsageError` for
    options that contradict each other, and like :func:`zslplat.comparison.selection.compared`.
    """
    if datasets and all_datasets:
        raise UsageError("--dataset names data sets and --all-datasets means all; give one of the two")
    if tasks and all_tasks:
        raise UsageError("--task names tasks and --all-tasks means all; give one of the two")
    everywhere = all_datasets or any((filters.studies, filters.experiments, filters.suites, filters.tags))
    asked = datasets or ([] if everywhere else [DEFAULT_DATASET])
    specs = [str(parse_dataset(dataset)) for dataset in asked]
    wanted = [] if all_tasks else [str(Spec.parse(task)) for task in tasks or [DEFAULT_TASK]]
    show_what_is_left(settings, warn)
    return compared_each(settings, specs, wanted, filters, against=against, metrics=metrics, every=every, warn=warn)
