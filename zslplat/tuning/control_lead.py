"""How sure the lead of a study over its control is: the paired interval over the test rows that both scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.errors import StoreError
from zslplat.evaluation.scoring.outcomes import replicates
from zslplat.metrics.replicate_intervals import centred_ends, over_repeats
from zslplat.records.database import Records
from zslplat.tasks.base import Task

Tested = Sequence[Mapping[str, Any]]


def lead_ends(records: Records, task: Task, own: Tested, control: Tested, metric: str) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of the study's mean test score less the control's, over these test rows.

    ``own`` and ``control`` are the records of the test repeats. None where the two scored other rows, or where the
    outcomes of either cannot be read or drawn from.
    """
    if _rows(own) != _rows(control):
        return None
    try:
        sides = [over_repeats(_replicates(records, task, tested, metric), i) for i, tested in enumerate((own, control))]
    except (StoreError, KeyError):
        return None
    means = [float(np.mean([record["metrics"][metric] for record in tested])) for tested in (own, control)]
    low, high = centred_ends(means[0] - means[1], sides[0] - sides[1])
    return None if np.isnan(low) else (low, high)


def _rows(tested: Tested) -> set[Any]:
    return {fold.get("rows") for record in tested for fold in record["folds"]}


def _replicates(records: Records, task: Task, tested: Tested, metric: str) -> np.ndarray:
    return np.array([replicates(task, records.evaluation_folder(str(r["run"])))[metric] for r in tested])
