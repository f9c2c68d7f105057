"""How far apart two methods are on *new classes*, from recorded evaluations; :mod:`zslplat.statistics` has the tests.

| symbol | here | shape | meaning |
|---|---|---|---|
| d_j | ``values`` | (C,) | difference of two methods in class j, a mean over repeats: their value, or pseudo-value |
| nu | ``freedom`` | | degrees of freedom: C - 1, fewer or more where kinds or seeds add their own (Satterthwaite) |

The classes of a zero-shot test are few, and rows within a class are not independent: an interval that draws rows is
one about *these test rows* of these classes. Here classes are what is drawn. Of several kinds of classes (seen and
unseen) each is a sample of its own, whose variances and third cumulants add up.

Repeats. With R repeats of a random method, V(seeds) = s^2(repeats) / R is added, less what the spread of the classes
holds of it already: the interaction of class and seed, which is in both (a crossed design with two random factors).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.evidence.draws import same_rows, shared_draws
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import but_rounding, interactions, is_share, within, without_interactions
from zslplat.statistics import (
    DIFFERENCES,
    MARGIN,
    SHARES,
    Estimate,
    estimate_mean,
    holm,
    moderate,
    verdict_of,
)

THESE_ROWS, NEW_CLASSES = "these test rows", "new classes like these"
# What an interval covers and what a verdict says, in words that stand under a table.
COVERS: Mapping[str, str] = {
    THESE_ROWS: "what the score would be on other rows of the same classes (bootstrap of the test rows, 95 %)",
    NEW_CLASSES: "what the score would be on other classes of this kind (over the test classes, 95 %); "
    "verdicts are by this one, after Holm's correction over the rivals",
}


def over_classes(scored: Scored, metric: str) -> Estimate | None:
    """Return the mean over repeats of a metric as an estimate over new classes; None without values per class."""
    values = scored.classes.get(metric)
    if values is None:
        return None
    exchanged = scored.exchanged.get(metric)
    return _estimate(float(np.mean(scored.values[metric])), [(values, 1.0)], scored.kinds, metric, exchanged)


def score_ends(estimate: Estimate | None, metric: str) -> tuple[float, float]:
    """Return the ends of the interval of a score over new classes, within what the metric can be; NaN without one."""
    return within(metric, estimate.estimate, *estimate.ends) if estimate else (np.nan, np.nan)


def class_difference(scored: Scored, other: Scored, metric: str) -> Estimate | None:
    """Return how far ``scored`` is ahead of ``other`` as an estimate over new classes.

    None where one has no values per class, or where the two scored other rows
    (:func:`~zslplat.evidence.draws.same_rows`); of draws of classes those count that both have.
    """
    scored, other = shared_draws(scored, other)
    ours, theirs = scored.classes.get(metric), other.classes.get(metric)
    if ours is None or theirs is None or not same_rows(scored, other) or ours.shape[1] != theirs.shape[1]:
        return None
    estimate = float(np.mean(scored.values[metric]) - np.mean(other.values[metric]))
    compete = metric in scored.exchanged and metric in other.exchanged  # what classes take from each other is recorded
    exchanged = scored.exchanged[metric] - other.exchanged[metric] if compete else None
    return _estimate(estimate, [(ours, 1.0), (theirs, -1.0)], scored.kinds, metric, exchanged)


def family_p_values(gaps: Sequence[Estimate | None]) -> tuple[list[Estimate | None], np.ndarray, np.ndarray]:
    """Return the differences from one baseline moderated as one family, their p-values, and Holm's; NaN for none."""
    moderated = moderate(gaps)
    values = np.array([np.nan if gap is None else gap.p_value for gap in moderated])
    return moderated, values, holm(values)


def count_comparisons(p_values: np.ndarray) -> int:
    """Return how many comparisons have a p-value, which Holm's correction is over; at least one."""
    return max(1, int(np.isfinite(p_values).sum()))


def class_verdict(gap: Estimate | None, p_holm: float) -> str:
    """Return the verdict on a difference over new classes (:func:`zslplat.statistics.verdict_of`)."""
    if gap is None:
        return ""
    margin = None if gap.bounds is None else MARGIN
    return verdict_of(gap.estimate, p_holm, gap.ends, classes=gap.classes, margin=margin)


def _estimate(
    estimate: float,
    sides: list[tuple[np.ndarray, float]],
    kinds: np.ndarray | None,
    metric: str,
    exchanged: np.ndarray | None = None,
) -> Estimate:
    """Return the estimate of signed sides, each (repeats, C); a class without a value on one side has no say.

    ``exchanged`` (C, C) is what each two classes take from each other, of the one side less the other.
    """
    means = np.array([sign * side.mean(axis=0) for side, sign in sides])
    # Means over different numbers of equal repeats differ by rounding; signs of rounding are no evidence.
    values = but_rounding(means.sum(axis=0), means)
    estimate = float(but_rounding(np.array(estimate), means))
    has = np.isfinite(values)
    kind = np.zeros(len(has), dtype=np.int64) if kinds is None else np.asarray(kinds)
    masks = [has & (kind == k) for k in np.unique(kind[has])]
    parts = [estimate_mean(values[mask]) for mask in masks]
    classes = min((part.classes for part in parts), default=0)
    bounds = None if not is_share(metric) else DIFFERENCES if len(sides) > 1 else SHARES
    if classes < 2:
        return Estimate(estimate, np.nan, 0.0, classes, bounds=bounds)
    variance, freedom = _satterthwaite([(part.error**2, part.freedom) for part in parts], classes)
    if exchanged is not None:
        pairwise = float(np.sum(interactions(exchanged[np.ix_(has, has)]) ** 2))
        variance, freedom = without_interactions(variance, freedom, pairwise)
    terms = [(variance, freedom), *(term for side, _ in sides for term in _seeds(side, masks))]
    variance, freedom = _satterthwaite(terms, classes)
    size = parts[0].size if len(parts) == len(terms) == 1 else np.nan
    third = sum(part.third for part in parts)
    return Estimate(estimate, float(np.sqrt(variance)), freedom, classes, third, size, bounds=bounds)


def _satterthwaite(terms: Sequence[tuple[float, float]], classes: int) -> tuple[float, float]:
    """Return the sum of variances with its degrees of freedom; of a single part that varies they are its own."""
    variance = sum(value for value, _ in terms)
    spread = sum(value**2 / freedom for value, freedom in terms)
    return variance, variance**2 / spread if spread > 0 else float(classes - 1)


def _seeds(side: np.ndarray, masks: list[np.ndarray]) -> list[tuple[float, float]]:
    """Return what the seeds of one side (repeats, C) add to the variance, with its degrees of freedom; none of one."""
    repeats = len(side)
    if repeats < 2:
        return []
    # The pseudo-values of every kind have the whole metric for their mean: it moves with the seed once, not by kind.
    total = np.mean([side[:, mask].mean(axis=1) for mask in masks], axis=0)
    between = float(np.var(but_rounding(total - total.mean(), total), ddof=1)) / repeats
    interaction = 0.0
    for mask in masks:
        part = side[:, mask]
        rest = part - part.mean(axis=0) - part.mean(axis=1, keepdims=True) + part.mean()
        interaction += float(np.sum(rest**2)) / ((repeats - 1) * (part.shape[1] - 1)) / (repeats * part.shape[1])
    added = between - interaction
    return [(added, repeats - 1.0)] if added > 0 else []
