"""What the cells of a table would take: time, memory and disk, before any is carried out.

What the store has recorded of a method counts. A method without records is timed once, at its defaults, on the smallest
data set that it is to be used on, in a store that is thrown away; on other data it takes time in proportion to rows x
dimensions. All of this is rough: hyperparameters cost more or less, and a busy machine is slower.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path

from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.jobs import Limits
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.names import counted, duration
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.suites.costs import Costs, costs_of
from zslplat.tuning.rehearsal import STUDY_SECONDS, Cost, throwaway_store, time_trial
from zslplat_papers.reproduction.cells import Budget, Cell
from zslplat_papers.reproduction.recipe import facts_of_data

# Of all that timing may take, one method gets this share at most.
_MOST_SHARE = 0.25
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
) -> Foresight:
    """Return what cells would take; methods without a record are timed for ``probe_seconds`` in all."""
    reporter = reporter or SilentReporter()
    studies = {json.dumps([c.experiment.to_json(), c.trials, c.repeats], sort_keys=True): c for c in cells}
    costs = _recorded(settings)
    sizes = {str(c.experiment.dataset): c for c in studies.values()}
    costs.sizes |= {name: _size(cell, settings) for name, cell in sizes.items()}
    stopped, cached = _time_unknown(list(studies.values()), costs, settings, probe_seconds, reporter)
    seconds, unknown, peak = 0.0, 0, 0
    for cell in studies.values():
        cost = _cost(costs, cell)
        if cost is None:
            unknown += 1
            continue
        options = budget.options(cell.trials, cell.repeats)
        seconds += STUDY_SECONDS + cost.study_seconds(cell.trials, cell.repeats, options)
        peak = max(peak, cost.peak_bytes * min(budget.workers, cell.trials))
    rows = sum(costs.sizes[name] for name in sizes) * _BYTES
    disk = min(rows * max(cached, 1.0), settings.cache_gigabytes * 2**30)
    return Foresight(len(studies), unknown, seconds, stopped, peak, int(disk), budget.workers)


def _recorded(settings: Settings) -> Costs:
    """Return what the store has recorded; nothing where there is none."""
    try:
        records = existing_records(settings, lambda text: None)
    except StoreError:
        return Costs()
    if records is None:
        return Costs()
    try:
        return costs_of(records)
    finally:
        records.close()


def _cost(costs: Costs, cell: Cell) -> Cost | None:
    """Return the cost of a study: of its method with just these parameters where it was timed, else of the method."""
    dataset, method = str(cell.experiment.dataset), cell.experiment.method
    return next((cost for name in (str(method), method.name) if (cost := costs.of(name, dataset)[0])), None)


def _size(cell: Cell, settings: Settings) -> float:
    """Return rows x dimensions of the data of a cell, by what is known of them, else from the data."""
    facts = facts_of_data().get(cell.place.dataset, {})
    if {"rows", "dimensions"} <= facts.keys():
        return float(facts["rows"] * facts["dimensions"])
    return float(prod(open_dataset(cell.experiment.dataset, settings).X.shape))


def _time_unknown(
    cells: Sequence[Cell], costs: Costs, settings: Settings, seconds: float, reporter: Reporter
) -> tuple[bool, float]:
    """Time methods without a cost; return whether one was stopped, and the bytes of the cache by those of the rows."""
    ends, stopped, timed_sets = time.monotonic() + seconds, False, set[str]()
    by_size = sorted(cells, key=lambda cell: costs.sizes[str(cell.experiment.dataset)])
    # A stand-in is much smaller than what is to be foreseen, where there is something else.
    by_size.sort(key=lambda cell: cell.place.standin is not None)
    recorded = {method for method, _ in costs.measured}
    # First each method in one of its forms, then the other forms: with other batches one takes another time.
    pending = [(cell, exact) for exact in (False, True) for cell in by_size]
    with throwaway_store(settings) as away:
        for cell, exact in pending:
            experiment, left = cell.experiment, ends - time.monotonic()
            if left <= 0:
                break
            names = (str(experiment.method),) if exact else (str(experiment.method), experiment.method.name)
            timings = (costs.of(name, str(experiment.dataset))[0] for name in names)
            if experiment.method.name in recorded or any(timings):
                continue
            limit = min(left, max(1.0, seconds * _MOST_SHARE))
            reporter.stage(f"timing {experiment.method} on {experiment.dataset_text}")
            with suppress(ZslplatError):  # the cell will say so when it is carried out
                context = ExperimentContext(experiment, away)
                timed = time_trial(context.experiment, Limits(limit), context, away, SilentReporter())
                cost, dataset = timed.cost(timed.seconds or limit), str(experiment.dataset)
                costs.measured[str(experiment.method), dataset] = cost
                costs.measured.setdefault((experiment.method.name, dataset), cost)
                stopped = stopped or timed.at_least
                timed_sets.add(dataset)
        rows = sum(costs.sizes[name] for name in timed_sets) * _BYTES
        return stopped, _bytes_of(away.cache.rglob("*")) / rows if rows else 1.0


def _bytes_of(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())
