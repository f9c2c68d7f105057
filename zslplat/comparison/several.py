"""Comparisons of several tasks and metrics: a table each, as exports and the command show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zslplat.comparison.filters import EVERYTHING, Filters
from zslplat.comparison.recorded import Reader
from zslplat.comparison.selection import Comparison, compared
from zslplat.errors import StoreError, UsageError
from zslplat.settings import Settings
from zslplat.tracking.stores import existing_records


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

    Without ``tasks`` all that are recorded on these data sets are meant, without ``metrics`` each task's own. Where
    something of what was asked for is recorded of some of them, ``warn`` is told of the others; where it is of none,
    the first reason is raised.
    """
    found: list[Comparison] = []
    refused: list[tuple[str, StoreError | UsageError]] = []
    for task in dict.fromkeys(tasks or _recorded_tasks(settings, datasets, warn)):
        for metric in dict.fromkeys(metrics) or [None]:
            try:
                one = compared(
                    settings, datasets, task, filters, against=against, metric=metric, every=every, warn=warn
                )
            except (StoreError, UsageError) as error:
                refused.append((f"task {task}" + (f", metric {metric}" if metric else ""), error))
                continue
            found.append(one)
    if not found:
        if not refused:
            raise StoreError(f"no test evaluation in {settings.store}; tune something first")
        raise refused[0][1]
    for what, reason in refused:
        warn(f"{what} is left out: {reason}")
    return found


def _recorded_tasks(settings: Settings, datasets: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    records = existing_records(settings, warn)
    try:
        return Reader(records, lambda text: None).tasks(datasets)
    finally:
        records.close()
