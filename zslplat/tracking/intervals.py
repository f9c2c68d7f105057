"""Intervals of test results for descriptions: those that ``zslplat compare`` shows, over draws of the test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.errors import ZslplatError
from zslplat.evaluation.components import build_component
from zslplat.evaluation.scoring.outcomes import replicates
from zslplat.metrics.replicate_intervals import centred_ends, over_repeats
from zslplat.metrics.shares import within
from zslplat.records.database import Records
from zslplat.spec import Spec


def interval_of(
    records: Records, task: str, metric: str, tested: Sequence[Mapping[str, Any]]
) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of the mean of a metric over repeats; None where nothing can be drawn.

    ``tested`` are the records of the repeats. Outcomes that are gone or damaged are no reason to show no run.
    """
    if not tested:
        return None
    drawn = []
    try:
        built = build_component("tasks", Spec.parse(task))
        for record in tested:
            drawn.append(replicates(built, records.evaluation_folder(record["run"]), only=[metric])[metric])
        mean = float(np.mean([record["metrics"][metric] for record in tested]))
        low, high = within(metric, mean, *centred_ends(mean, over_repeats(np.array(drawn))))
    except (ZslplatError, KeyError, ValueError):
        return None
    return (low, high) if np.isfinite([low, high]).all() else None
