"""Which trials of an iterative method are stopped early: those that fall behind the median of earlier trials."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from zslplat.records.trials import FinishedTrial

_STARTS_AFTER = 8


class PruningThresholds:
    """Per step the median of the best mean over folds so far, of the trials of earlier batches.

    A trial whose own best mean so far lies below it is pruned. Values are signed so that larger is better. What is
    known of the trials that were counted is kept: to count a thousand again for each new one takes longer than to
    record it.
    """

    def __init__(self, pruner: str, *, maximise: bool) -> None:
        self._pruner, self._sign = pruner, 1.0 if maximise else -1.0
        self._counted: list[FinishedTrial] = []
        self._sorted: dict[int, list[float]] = {}  # by step, the best values so far

    def after(self, earlier: Sequence[FinishedTrial]) -> dict[int, float]:
        """Return the thresholds by step; none where the pruner is ``none``, or few trials are known."""
        if self._pruner == "none" or len(earlier) < _STARTS_AFTER:
            return {}
        known = len(self._counted)
        if self._counted != earlier[:known]:  # one was tried again, or fewer are asked for
            known, self._counted, self._sorted = 0, [], {}
        for trial in earlier[known:]:
            best = -float("inf")
            for step, value in sorted(trial.steps.items()):
                best = max(best, self._sign * value)
                insort(self._sorted.setdefault(step, []), best)
            self._counted.append(trial)
        return {step: _median(v) for step, v in self._sorted.items() if len(v) >= _STARTS_AFTER // 2}


def _median(values: Sequence[float]) -> float:
    """Return the median of sorted values."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
