"""Which trials of an iterative method are stopped early: those that fall behind the median of earlier trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zslplat.records.trials import FinishedTrial

_STARTS_AFTER = 8


def pruning_thresholds(pruner: str, earlier: Sequence[FinishedTrial], *, maximise: bool) -> dict[int, float]:
    """Return, per step, the median of the best mean over folds so far, of the trials of earlier batches.

    A trial whose own best mean so far lies below it is pruned. Values are signed so that larger is better; none where
    ``pruner`` is ``none``, or few trials are known.
    """
    if pruner == "none" or len(earlier) < _STARTS_AFTER:
        return {}
    sign = 1.0 if maximise else -1.0
    by_step: dict[int, list[float]] = {}
    for trial in earlier:
        best = -np.inf
        for step, value in sorted(trial.steps.items()):
            best = max(best, sign * value)
            by_step.setdefault(step, []).append(best)
    return {step: float(np.median(v)) for step, v in by_step.items() if len(v) >= _STARTS_AFTER // 2}
