"""What evaluations take: by method and data set, from records, or in proportion to the size of other data.

A method without records is timed: one fold at its defaults, in a store that is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from statistics import fmean
from typing import Any

import numpy as np

from zslplat.data.class_draws import drawn_from
from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, Experiment
from zslplat.evaluation.jobs import Limits
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.records.costs import CPU_SECONDS, most_bytes, total_seconds
from zslplat.records.database import Records
from zslplat.records.studies import RECALLED_FROM, STUDY
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tuning.rehearsal import Cost, throwaway_store, time_trial

SCALED, UNKNOWN, SHARED = "scaled", "unknown", "shared"
# Of all that timing may take, one method gets this share at most.
_MOST_SHARE = 0.25


@dataclass
class Costs:
    """Costs by method and data set, and the ``sizes`` of data sets: rows x dimensions."""

    measured: dict[tuple[str, str], Cost] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)

    def of(self, method: str, dataset: str) -> tuple[Cost | None, str]:
        """Return what a method costs on a data set, and how that is known; None where it is not.

        A method with just these parameters counts first, then one with others. Of other data sets the nearest in size
        counts: seconds grow in proportion to the sizes, and so does memory above the least of all peaks.
        """
        name, dataset = method.partition("(")[0], _undrawn(dataset)
        alike = [(m, d, cost) for (m, d), cost in self.measured.items() if m.partition("(")[0] == name]
        alike = [one for one in alike if one[0] == method] or alike
        same = [cost for _, d, cost in alike if d == dataset]
        if same:
            cost = max(same, key=lambda cost: cost.trial)
            return cost, cost.source
        size = self.sizes.get(dataset)
        others = [(self.sizes[d], cost) for _, d, cost in alike if d in self.sizes]
        if size is None or not others:
            return None, UNKNOWN
        near, cost = min(others, key=lambda other: (abs(np.log(other[0] / size)), -other[1].trial))
        factor = size / near
        # What a process takes before it has any data does not grow with them: the least of all peaks at most.
        least = min(each.peak_bytes for each in self.measured.values())
        peak = least + int((cost.peak_bytes - least) * max(factor, 1.0))
        seconds = {name: getattr(cost, name) * factor for name in ("trial", "test", "prepared")}
        return replace(cost, peak_bytes=peak, source=SCALED, **seconds), SCALED


def costs_of(records: Records) -> Costs:
    """Return the costs of everything that a store has recorded; what is damaged is left out."""
    trials: dict[tuple[str, str], list[Any]] = {}
    tests: dict[tuple[str, str], list[Any]] = {}
    costs = Costs()
    identities = records.identities()
    for name, identity in identities.items():
        with suppress(StoreError):
            study = records.study(name)
            finished = [record for _, record in study.finished() if record["state"] != "failed"]
            trials.setdefault(_method_and_data(identity), []).extend(r for r in finished if RECALLED_FROM not in r)
            _note_size(costs, str(identity["dataset"]), study.values().get("about", {}))
    for owner, _, record in records.all_evaluations():
        experiment = identities.get(owner.removeprefix(STUDY)) or record.get("experiment", {})
        if "method" in experiment and "seconds" in record and experiment.get("split", TEST) == TEST:
            tests.setdefault(_method_and_data(experiment), []).append(record)
            _note_size(costs, str(experiment["dataset"]), record.get("about", {}))
    for pair in {*trials, *tests}:
        searched, tested = trials.get(pair, []), tests.get(pair, [])
        if searched or tested:
            test = fmean(_shared([record]) for record in tested) if tested else _shared(searched)
            # A trial fits once for each of three or more folds; a test evaluation alone says that much of it.
            trial = _shared(searched) if searched else 3 * test
            peak = max(most_bytes(record) or 0 for record in [*searched, *tested])
            costs.measured[pair] = Cost(trial, test, peak)
    return costs


def time_unknown(
    experiments: Sequence[Experiment], costs: Costs, settings: Settings, seconds: float, reporter: Reporter
) -> int:
    """Add sizes and costs that are missing, within about ``seconds`` in all; return the bytes of the cache in use.

    One fold at the defaults is timed: of each method with its parameters on the smallest of its data sets, then on the
    others, smaller ones first. What is stopped at its limit costs that much at least, and is timed on no other.
    """
    pairs = {(str(one.method), _undrawn(str(one.dataset))): one for one in reversed(experiments)}
    pending = {pair: one for pair, one in pairs.items() if pair not in costs.measured}
    if not pending or seconds <= 0:
        return 0
    ends = time.monotonic() + seconds
    with throwaway_store(settings) as away:
        for (_, dataset), experiment in pending.items():
            if dataset not in costs.sizes:
                with suppress(ZslplatError):  # its cells will say so when they are carried out
                    costs.sizes[dataset] = float(prod(open_dataset(experiment.dataset, away).X.shape))
        by_size = sorted(pending, key=lambda pair: costs.sizes.get(pair[1], float("inf")))
        first = {method: dataset for method, dataset in reversed(by_size)} | dict.fromkeys(m for m, _ in costs.measured)
        by_size.sort(key=lambda pair: first[pair[0]] != pair[1])
        stopped = set[str]()
        for method, dataset in by_size:
            left = ends - time.monotonic()
            if left <= 0 or method in stopped:
                continue
            experiment, limit = pending[method, dataset], min(left, max(1.0, seconds * _MOST_SHARE))
            reporter.stage(f"timing {experiment.method} on {experiment.dataset_text}")
            with suppress(ZslplatError):  # the cell will say so when it is carried out
                context = ExperimentContext(experiment, away)
                cost = time_trial(context.experiment, Limits(limit), context, away, SilentReporter()).cost
                stopped |= {method} if cost and cost.at_least else set()
                scaled = costs.of(method, dataset)[0]
                # A timing that was stopped says less than a longer one, scaled.
                if cost and not (cost.at_least and scaled and scaled.trial > cost.trial):
                    costs.measured[method, dataset] = cost
        return sum(path.stat().st_size for path in away.cache.rglob("*") if path.is_file())


def _method_and_data(experiment: Any) -> tuple[str, str]:
    return str(experiment["method"]), _undrawn(str(experiment["dataset"]))


def _note_size(costs: Costs, dataset: str, about: Any) -> None:
    profile = about.get("data", {}).get("profile")
    if profile:
        costs.sizes[_undrawn(dataset)] = float(prod(profile["shape"]))


def _undrawn(dataset: str) -> str:
    """Return the data set whose classes were drawn anew, or the data set itself: both have about one size."""
    return str(drawn_from(Spec.parse(dataset)))


def _shared(records: Sequence[Any]) -> float:
    """Return the mean seconds of evaluations, and of what was prepared for them, each once."""
    # Seconds of the processor, of which methods use one: how busy the machine was is another matter.
    return total_seconds(records, CPU_SECONDS) / len(records)
