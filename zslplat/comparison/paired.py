"""Paired statistics: how far apart two methods are on the same test rows, and how sure that is.

Every final evaluation carries replicates of its metrics (:mod:`zslplat.metrics.intervals`); replicate i of one method
and replicate i of another are of the same drawn rows, where both scored the same rows. Evaluations whose test rows were
drawn with different seeds are no pair, and their difference has no interval. Methods that draw random numbers are
evaluated several times; their repeats are drawn with replacement, too, so that the spread between seeds is part of the
interval.

Intervals are bootstrap intervals between percentiles, moved so that the replicates' mean lies on the estimate: drawing
rows twice raises an average precision a little, for every method alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.evidence.draws import same_rows, shared_draws
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import but_rounding, centred_ends, margin_of, over_repeats, within
from zslplat.statistics import verdict_of


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval; the ends are NaN where the metric has no replicates."""

    estimate: float
    low: float
    high: float

    def verdict(self, metric: str) -> str:
        """Return the verdict on a difference of a metric by the interval alone, without correction."""
        return verdict_of(
            self.estimate, float(self.low <= 0 <= self.high), (self.low, self.high), margin=margin_of(metric)
        )


def known_value(value: float) -> float | None:
    """Return a number as rows have it: None where there is none."""
    return None if np.isnan(value) else float(value)


def interval(scored: Scored, metric: str) -> Interval:
    """Return the mean over repeats with its interval, within what the metric can be."""
    ends = _centred(float(np.mean(scored.values[metric])), _drawn(scored, metric))
    return Interval(ends.estimate, *within(metric, ends.estimate, ends.low, ends.high))


def difference(scored: Scored, other: Scored, metric: str) -> Interval:
    """Return how far ``scored`` is ahead of ``other``, with the interval of the paired difference.

    The ends are NaN, too, where the two are no pair (:func:`~zslplat.evidence.draws.same_rows`).
    """
    scored, other = shared_draws(scored, other)
    means = np.array([np.mean(scored.values[metric]), np.mean(other.values[metric])])
    return _centred(float(but_rounding(means[0] - means[1], means)), _gaps(scored, other, metric))


def _gaps(scored: Scored, other: Scored, metric: str) -> np.ndarray | None:
    """Return the difference (b,) in each replicate; None where one has no replicates, or other rows."""
    ours, theirs = _drawn(scored, metric), _drawn(other, metric, 1)
    if ours is None or theirs is None or not same_rows(scored, other):
        return None
    return but_rounding(ours - theirs, np.array([ours, theirs]))


def _drawn(scored: Scored, metric: str, side: int = 0) -> np.ndarray | None:
    """Return the replicates (b,) of the mean over repeats, the repeats drawn anew for every replicate."""
    replicates = scored.replicates.get(metric)
    if replicates is None:
        return None
    return over_repeats(replicates, side)


def _centred(estimate: float, replicates: np.ndarray | None) -> Interval:
    ends = (np.nan, np.nan) if replicates is None else centred_ends(estimate, replicates)
    return Interval(estimate, *ends)
