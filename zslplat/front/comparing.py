"""Which comparisons a command or a function asks for: data sets, tasks and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from zslplat.comparison.filters import Filters
from zslplat.comparison.selection import Comparison
from zslplat.comparison.several import compared_each
from zslplat.data.catalogue import parse_dataset
from zslplat.errors import UnknownNameError
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tracking.stores import show_what_is_left


def compared_as_asked(
    settings: Settings,
    filters: Filters,
    *,
    datasets: Sequence[str],
    tasks: Sequence[str],
    against: str | None,
    metrics: Sequence[str],
    every: bool,
    warn: Callable[[str], None],
) -> list[Comparison]:
    """Return a comparison for each task and metric, of all recorded data sets and tasks where nothing else is said.

    Raises like :func:`zslplat.comparison.selection.compared`.
    """
    specs = [str(parse_dataset(dataset)) for dataset in datasets]
    wanted = [str(Spec.parse(task)) for task in tasks]
    show_what_is_left(settings, warn)

    def found(filters: Filters) -> list[Comparison]:
        return compared_each(settings, specs, wanted, filters, against=against, metrics=metrics, every=every, warn=warn)

    try:
        return found(filters)
    except UnknownNameError:
        if tasks or filters.are_recorded or not filters.names:
            raise
        # Names of studies and runs that are of several tasks: each is a name of its own task alone.
        with suppress(UnknownNameError):
            return found(replace(filters, names=(), studies=filters.names))
        raise
