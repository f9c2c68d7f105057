"""Paired statistics: how far apart two methods are on the same test rows, and how sure that is.

Every final evaluation carries replicates of its metrics (:mod:`zslplat.metrics.resampling`); replicate i of one method
and replicate i of another are of the same drawn rows. Methods that draw random numbers are evaluated several times;
their repeats are drawn with replacement, too, so that the spread between seeds is part of the interval.

Intervals are bootstrap intervals between percentiles, moved so that the replicates' mean lies on the estimate: drawing
rows twice raises an average precision a little, for every method alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95


@dataclass(frozen=True)
class Scored:
    """The final evaluations of one study or run.

    ``values`` maps a metric to its value in each repeat, ``replicates`` to an array (repeats, b), where there are any;
    ``validation`` maps metrics to the mean over validation folds.
    """

    label: str
    study: str
    method: str
    values: Mapping[str, Sequence[float]]
    replicates: Mapping[str, np.ndarray]
    validation: Mapping[str, float]


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval; the ends are NaN where the metric has no replicates."""

    estimate: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``ahead`` or ``behind`` for a difference whose interval leaves out 0, ``level`` otherwise."""
        if np.isnan(self.low):
            return ""
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "level"


def interval(scored: Scored, metric: str) -> Interval:
    """Return the mean over repeats with its interval."""
    return _centred(float(np.mean(scored.values[metric])), _drawn(scored, metric))


def difference(scored: Scored, other: Scored, metric: str) -> Interval:
    """Return how far ``scored`` is ahead of ``other``, with the interval of the paired difference."""
    estimate = float(np.mean(scored.values[metric]) - np.mean(other.values[metric]))
    ours, theirs = _drawn(scored, metric), _drawn(other, metric, 1)
    return _centred(estimate, None if ours is None or theirs is None else ours - theirs)


def mean_difference(pairs: Sequence[tuple[Scored, Scored]], metric: str) -> Interval:
    """Return the mean of the differences over several data sets, whose rows are drawn independently."""
    parts: list[np.ndarray] = []
    for number, (scored, other) in enumerate(pairs):
        ours, theirs = _drawn(scored, metric), _drawn(other, metric, 1)
        if ours is None or theirs is None:
            parts = []
            break
        parts.append(np.random.default_rng([23, number]).permutation(ours - theirs))
    estimates = [np.mean(s.values[metric]) - np.mean(o.values[metric]) for s, o in pairs]
    return _centred(float(np.mean(estimates)), np.mean(parts, axis=0) if parts else None)


def _drawn(scored: Scored, metric: str, side: int = 0) -> np.ndarray | None:
    """Return the replicates (b,) of the mean over repeats, the repeats drawn anew for every replicate."""
    found = scored.replicates.get(metric)
    if found is None:
        return None
    repeats, count = found.shape
    if repeats == 1:
        return np.asarray(found[0])
    chosen = np.random.default_rng([29, side]).integers(repeats, size=(repeats, count))
    return np.asarray(np.take_along_axis(found, chosen, axis=0).mean(axis=0))


def _centred(estimate: float, replicates: np.ndarray | None) -> Interval:
    if replicates is None:
        return Interval(estimate, np.nan, np.nan)
    low, high = np.quantile(replicates - replicates.mean(), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(estimate, estimate + float(low), estimate + float(high))
