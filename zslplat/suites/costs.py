"""What evaluations took: by method and data set, from records, or in proportion to the size of other data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from zslplat.data.class_draws import drawn_from
from zslplat.errors import StoreError
from zslplat.evaluation.experiment import TEST
from zslplat.records.costs import CPU_SECONDS, most_bytes, total_seconds
from zslplat.records.database import Records
from zslplat.records.studies import RECALLED_FROM, STUDY
from zslplat.spec import Spec

RECORDED, SCALED, UNKNOWN, SHARED = "records", "scaled", "unknown", "shared"


@dataclass(frozen=True)
class Cost:
    """Seconds of a trial (all folds) and of a test evaluation, and the most memory of one of them.

    What is prepared for several trials counts with its share in each.
    """

    trial: float
    test: float
    peak_bytes: int = 0
    source: str = RECORDED


@dataclass
class Costs:
    """Costs by method and data set, and the ``sizes`` of data sets: rows x dimensions."""

    measured: dict[tuple[str, str], Cost] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)

    def of(self, method: str, dataset: str) -> tuple[Cost | None, str]:
        """Return what a method costs on a data set, and how that is known; None where it is not.

        Of another data set the nearest in size counts: seconds in proportion to the sizes, and memory beyond what the
        smallest of all took.
        """
        if (method, dataset) in self.measured:
            cost = self.measured[method, dataset]
            return cost, cost.source
        size = self.sizes.get(_undrawn(dataset))
        others = [(self.sizes[d], cost) for (m, d), cost in self.measured.items() if m == method and d in self.sizes]
        if size is None or not others:
            return None, UNKNOWN
        near, cost = min(others, key=lambda other: abs(np.log(other[0] / size)))
        factor = size / near
        # What a process takes before it has any data does not grow with them: the least of all peaks at most.
        least = min(each.peak_bytes for each in self.measured.values())
        peak = least + int((cost.peak_bytes - least) * max(factor, 1.0))
        return Cost(cost.trial * factor, cost.test * factor, peak), SCALED


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
            trials.setdefault(_place(identity), []).extend(r for r in finished if RECALLED_FROM not in r)
            _note_size(costs, str(identity["dataset"]), study.values().get("about", {}))
    for owner, _, record in records.all_evaluations():
        experiment = record.get("experiment") or identities.get(owner.removeprefix(STUDY), {})
        if "method" in experiment and "seconds" in record and experiment.get("split", TEST) == TEST:
            tests.setdefault(_place(experiment), []).append(record)
            _note_size(costs, str(experiment["dataset"]), record.get("about", {}))
    for place in {*trials, *tests}:
        searched, tested = trials.get(place, []), tests.get(place, [])
        if searched or tested:
            test = _mean(tested) if tested else _shared(searched)
            # A trial fits once for each of three or more folds; a test evaluation alone says that much of it.
            trial = _shared(searched) if searched else 3 * test
            peak = max(most_bytes(record) or 0 for record in [*searched, *tested])
            costs.measured[place] = Cost(trial, test, peak)
    return costs


def _place(experiment: Any) -> tuple[str, str]:
    return str(experiment["method"]).partition("(")[0], str(experiment["dataset"])


def _note_size(costs: Costs, dataset: str, about: Any) -> None:
    profile = about.get("data", {}).get("profile")
    if profile:
        costs.sizes[dataset] = float(prod(profile["shape"]))
        costs.sizes.setdefault(_undrawn(dataset), costs.sizes[dataset])


def _undrawn(dataset: str) -> str:
    """Return the data set whose classes were drawn anew, or the data set itself: both have about one size."""
    return str(drawn_from(Spec.parse(dataset)))


def _mean(records: Sequence[Any]) -> float:
    return float(np.mean([_shared([record]) for record in records]))


def _shared(records: Sequence[Any]) -> float:
    """Return the mean seconds of evaluations, and of what was prepared for them, each once."""
    # Seconds of the processor, of which methods use one: how busy the machine was is another matter.
    return total_seconds(records, CPU_SECONDS) / len(records)
