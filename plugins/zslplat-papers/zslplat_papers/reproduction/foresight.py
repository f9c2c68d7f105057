"""What the cells of a table would take: time, memory and disk, before any is carried out.

What the store has recorded of a method counts, and what is not recorded is timed, see :mod:`zslplat.suites.costs`. All
of this is rough: hyperparameters cost more or less, and a busy machine is slower.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from zslplat.errors import StoreError
from zslplat.evaluation.components import build_component, open_dataset
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.names import counted, duration
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.suites.costs import Costs, costs_of, time_unknown
from zslplat.tuning.rehearsal import STUDY_SECONDS, TIMED
from zslplat_papers.reproduction.cells import Budget, Cell
from zslplat_papers.reproduction.recipe import facts_of_data

_BYTES = 4  # of a number in the cache


@dataclass(frozen=True)
class Foresight:
    """What cells would take; ``unknown`` counts the studies of which nothing is known.

    ``least``: a trial was stopped when its time was up, so that ``seconds`` are the least. ``disk_bytes`` are those of
    the cache, which is bounded.
    """

    studies: int
    unknown: int
    seconds: float
    least: bool
    peak_bytes: int
    disk_bytes: int
    workers: int

    @property
    def line(self) -> str:
        """``24 studies: at least 3 h 10 min with 2 workers, 1.9 GB of memory, 2.1 GB of the cache on disk``."""
        about = "at least" if self.least else "about"
        total = counted(self.studies, "study", "studies")
        disk = f"{self.disk_bytes / 1e9:.1f} GB of the cache on disk"
        if self.unknown == self.studies:
            return f"{total} of unknown time and memory (--probe times methods), {disk}"
        unknown = f"; without {self.unknown} whose methods are not timed (see --probe)" if self.unknown else ""
        return (
            f"{total}: {about} {duration(self.seconds)} with {counted(self.workers, 'worker')}, "
            f"{self.peak_bytes / 1e9:.1f} GB of memory, {disk}{unknown}"
        )


def foresee(
    cells: Sequence[Cell], settings: Settings, budget: Budget, probe_seconds: float, reporter: Reporter | None = None
) -> tuple[Foresight, list[float]]:
    """Return what cells would take, and the seconds of each: 0 where they are unknown, or another cell has the study.

    What is not recorded is timed for ``probe_seconds`` in all.
    """
    reporter = reporter or SilentReporter()
    studies = {json.dumps([c.experiment.to_json(), c.trials, c.repeats], sort_keys=True): c for c in cells}
    costs = _recorded(settings)
    sizes = {str(c.experiment.dataset): c for c in studies.values()}
    costs.sizes |= {name: _size(cell, settings) for name, cell in sizes.items()}
    experiments = [cell.experiment for cell in studies.values() if cell.place.standin is None]
    cache_bytes = time_unknown(experiments or [c.experiment for c in cells], costs, settings, probe_seconds, reporter)
    timed = {dataset for (_, dataset), cost in costs.measured.items() if cost.source == TIMED}
    seconds, unknown, least, peak = dict[int, float](), 0, False, 0
    for cell in studies.values():
        cost, _ = costs.of(str(cell.experiment.method), str(cell.experiment.dataset))
        if cost is None:
            unknown += 1
            continue
        repeats = cell.repeats if build_component("methods", cell.experiment.method).is_random else 1
        options = budget.options(cell.trials, repeats)
        seconds[id(cell)] = STUDY_SECONDS + cost.study_seconds(cell.trials, repeats, options)
        least = least or cost.at_least
        peak = max(peak, cost.peak_bytes * min(budget.workers, cell.trials))
    rows, timed_rows = (_BYTES * sum(costs.sizes[name] for name in names) for names in (sizes, timed))
    cached = cache_bytes / timed_rows if timed else 1.0
    disk = min(rows * max(cached, 1.0), settings.cache_gigabytes * 2**30)
    total = sum(seconds.values())
    foresight = Foresight(len(studies), unknown, total, least, peak, int(disk), budget.workers)
    return foresight, [seconds.get(id(cell), 0.0) for cell in cells]


def _recorded(settings: Settings) -> Costs:
    """Return what the store has recorded; nothing where there is none."""
    try:
        with existing_records(settings, lambda text: None) as records:
            return costs_of(records)
    except StoreError:
        return Costs()


def _size(cell: Cell, settings: Settings) -> float:
    """Return rows x dimensions of the data of a cell, by what is known of them, else from the data."""
    facts = facts_of_data().get(cell.place.dataset, {})
    if {"rows", "dimensions"} <= facts.keys():
        return float(facts["rows"] * facts["dimensions"])
    return float(prod(open_dataset(cell.experiment.dataset, settings).X.shape))
