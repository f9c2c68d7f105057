"""Is one method better than another? Intervals, tests and verdicts on plain arrays of scores per class.

| symbol | here | shape | meaning |
|---|---|---|---|
| d_j | ``differences`` | (C,) | paired difference of two methods in class j |
| d | ``estimate`` | | mean of the d_j |
| V | ``error`` ** 2 | | variance of the mean |
| K | ``third`` | | third cumulant of the mean: the sum of (d_j - d)^3 / C^3, without bias |
| nu | ``freedom`` | | degrees of freedom of V |
| T | | | d / V^.5 |

Classes are what is drawn, because a zero-shot test has few of them and the rows of a class are not independent. A
difference counts where all tests agree: its p-value is the largest of theirs, its interval the hull of theirs.

1. Student's t test, right for normal d_j.
2. Hall's transformation of T, right where the d_j are skewed: g(T) = T + A T^2 / 3 + A^2 T^3 / 27 + A / 6 with the
   skewness A = K / V^1.5 of the mean (Hall, "On the Removal of Skewness by Transformation", 1992).
3. Where there are rivals, a t test whose variance is moderated over those of one baseline. A few classes may be alike
   by chance, and their spread says too little. The ratio of variance to squared mean size, pooled over all rivals,
   stands in for two thirds of it (the idea of Smyth, "Linear Models and Empirical Bayes Methods", 2004).

Where all classes have exactly the same difference there is no spread to judge by. Of a metric between 0 and 1 the share
of classes that are different from all C can still be bounded, which gives p = 2 (1 + |d|)^-C.

``benchmarks/verdicts.py`` simulates how often verdicts are wrong, for several laws of the d_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

LEVEL, POWER = 0.95, 0.8
# Differences within this of 0 are of no consequence: shares of 1.
MARGIN = 0.02
# Between what shares of 1 lie, and their differences.
SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)
# Even six classes that all point one way are weak evidence, and fewer are none.
LEAST_CLASSES = 6
AHEAD, BEHIND, DIFFERS, NOT_ENOUGH = "ahead", "behind", "differs between data sets", "not enough data"
# What a mean over equal values may differ by from another one, relative to them.
ROUNDING = 1e-12
# The weight of the moderated variance beside that of the classes themselves.
_MODERATION = 2.0


def equal_within(margin: float) -> str:
    """Return the verdict that a difference is smaller than a margin."""
    return f"equal within {margin:g}"


@dataclass(frozen=True)
class Estimate:
    """A mean over classes with what its interval and its test are made of.

    ``classes``: how many are drawn, or groups of them; of several kinds, of the kind that has the fewest. ``size``: the
    mean absolute value of the differences, NaN where the variance is not theirs alone. ``moderated``: the error and the
    degrees of freedom of test 3, None without rivals. ``bounds``: between what the values lie; None for a metric of any
    unit.
    """

    estimate: float
    error: float
    freedom: float
    classes: int
    third: float = 0.0
    size: float = math.nan
    moderated: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = DIFFERENCES

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the 95 % interval, within the bounds; NaN where nothing is known of the spread."""
        return self.ends_at(LEVEL)

    def ends_at(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval of a level, as :attr:`ends`."""
        if not self.freedom > 0:
            return math.nan, math.nan
        if self.error == 0:
            return self._ends_without_spread(level)
        half = quantile_t(self.freedom, level) * self.error
        ends = [(self.estimate - half, self.estimate + half)]
        skewness = self.third / self.error**3
        if skewness:
            bounds = [_untransformed(sign * quantile_t(self.freedom, level), skewness) for sign in (1, -1)]
            ends.append((self.estimate - self.error * bounds[0], self.estimate - self.error * bounds[1]))
        if self.moderated:
            half = quantile_t(self.moderated[1], level) * self.moderated[0]
            ends.append((self.estimate - half, self.estimate + half))
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        return (low, high) if self.bounds is None else (max(low, self.bounds[0]), min(high, self.bounds[1]))

    @property
    def p_value(self) -> float:
        """The two-sided p-value of 0; NaN where nothing is known of the spread."""
        if not self.freedom > 0:
            return math.nan
        if self.error == 0:
            if self.bounds is None:
                return math.nan
            room = -self.bounds[0] if self.estimate > 0 else self.bounds[1]
            return min(1.0, 2 * (room / (room + abs(self.estimate))) ** self.classes)
        t = self.estimate / self.error
        skewness = self.third / self.error**3
        transformed = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
        p_values = [two_sided_p(t, self.freedom)]
        p_values.append(two_sided_p(transformed, self.freedom) if transformed * t > 0 else 1.0)
        if self.moderated:
            p_values.append(two_sided_p(self.estimate / self.moderated[0], self.moderated[1]))
        return max(p_values)

    def smallest_difference(self, comparisons: int = 1) -> float:
        """Return the smallest true difference that is seen with a power of 80 %, in the metric's units.

        By the t test alone, of level .05 / ``comparisons``, as Holm's correction needs it of one of so many: the other
        tests may ask for more. NaN where there is no spread.
        """
        return detectable(self.freedom, comparisons) * self.error if self.freedom > 0 and self.error > 0 else math.nan

    def classes_to_decide(self, margin: float = MARGIN, comparisons: int = 1) -> int | None:
        """Return about how many classes would decide with a power of 80 %, if the true difference were the estimate.

        They show the difference, or that it is within ``margin``, whichever takes fewer. It is for estimates that these
        classes do not decide, so there are more, and at least six; None where nothing is known of the spread.
        """
        if not (self.freedom > 0 and self.error > 0):
            return None
        distance = max(abs(self.estimate), margin - abs(self.estimate))
        needed = math.ceil(self.classes * (detectable(math.inf, comparisons) * self.error / distance) ** 2)
        return max(needed, self.classes + 1, LEAST_CLASSES)

    def _ends_without_spread(self, level: float) -> tuple[float, float]:
        if self.bounds is None:
            return math.nan, math.nan
        unseen = 1 - ((1 - level) / 2) ** (1 / self.classes)
        low, high = (self.estimate + unseen * (bound - self.estimate) for bound in self.bounds)
        return low, high


def estimate_mean(
    differences: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    bounds: tuple[float, float] | None = DIFFERENCES,
) -> Estimate:
    """Return the mean of ``differences`` (C,) as an estimate over classes.

    ``groups`` (C,) names what classes belong together, such as their superclass: classes of one group are one draw.
    ``bounds``: between what the values lie; None for a metric of any unit.
    """
    values = np.asarray(differences, dtype=float)
    centre = float(values.mean()) if len(values) else math.nan
    if groups is not None:
        index = np.unique(np.asarray(groups), return_inverse=True)[1]
        # The part of each group in the mean, as values whose mean is the mean of the classes.
        values = centre + np.bincount(index, weights=values - centre) * (index.max() + 1) / len(values)
    if len(values) < 2:
        return Estimate(centre, math.nan, 0.0, len(values), bounds=bounds)
    variance, third = moments(values)
    size = float(np.abs(values).mean())
    return Estimate(centre, math.sqrt(variance), len(values) - 1.0, len(values), float(third), size, bounds=bounds)


def moments(values: np.ndarray) -> tuple[Any, Any]:
    """Return variance and third cumulant of the mean over the last axis of ``values``, 0 where all are alike."""
    count = values.shape[-1]
    deviations = values - values.mean(axis=-1, keepdims=True)
    alike = np.ptp(values, axis=-1) <= ROUNDING * np.abs(values).max(axis=-1)
    variance = np.where(alike, 0.0, values.var(axis=-1, ddof=1) / count)
    if count < LEAST_CLASSES:  # too few to tell a skewness
        return variance, np.zeros_like(variance)
    third = (deviations**3).sum(axis=-1) / ((count - 1.0) * (count - 2.0) * count)
    return variance, np.where(alike, 0.0, third)


def moderate(family: Sequence[Estimate | None]) -> list[Estimate | None]:
    """Return the estimates of one family with the variance of test 3; None stays.

    A family is what one correction is over: the rivals of one baseline, the differences that a suite names, the pairs
    of a group. One alone is not moderated.
    """
    members = [e for e in family if e is not None and e.freedom > 0 and e.size > 0]
    if len(members) < 2:
        return list(family)
    ratio = sum(e.classes * e.error**2 for e in members) / sum(e.size**2 for e in members)

    def moderated(e: Estimate) -> Estimate:
        pooled = ratio * e.size**2 / e.classes
        variance = (e.error**2 + _MODERATION * pooled) / (1 + _MODERATION)
        return replace(e, moderated=(math.sqrt(variance), (1 + _MODERATION) * e.freedom))

    # Of identical members the bound of a difference without spread holds, and nothing else.
    return [moderated(e) if e is not None and e.freedom > 0 and e.size > 0 and ratio > 0 else e for e in family]


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Holm's p-values for several comparisons at once; NaN ones are no comparison and stay NaN.

    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).
    """
    values = np.asarray(p_values, dtype=float)
    adjusted = np.full(len(values), np.nan)
    finite = np.flatnonzero(np.isfinite(values))
    order = finite[np.argsort(values[finite], kind="stable")]
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def verdict_of(
    estimate: float,
    p_value: float,
    ends: tuple[float, float],
    *,
    classes: int | None = None,
    margin: float | None = MARGIN,
) -> str:
    """Return ``ahead``, ``behind``, ``equal within`` the margin, or ``not enough data``; empty without an interval.

    ``p_value`` is corrected for the other comparisons. Fewer than six ``classes`` are not enough; None: it is not
    classes that are drawn. Without a ``margin``, for a metric of any unit, nothing is equal.
    """
    low, high = ends
    if math.isnan(estimate) or math.isnan(low):
        return ""
    if classes is not None and classes < LEAST_CLASSES:
        return NOT_ENOUGH
    if p_value <= 1 - LEVEL:
        return AHEAD if estimate > 0 else BEHIND
    return equal_within(margin) if margin is not None and -margin < low and high < margin else NOT_ENOUGH


@dataclass(frozen=True)
class Comparison:
    """The answer of :func:`compare`: ``a`` less ``b``, with its 95 % interval and verdict.

    ``groups``: how many groups of classes were drawn, None without groups. ``smallest_difference``: the smallest true
    one that these classes show with a power of 80 %; ``classes_to_decide``: about how many would decide.
    """

    difference: float
    low: float
    high: float
    p_value: float
    verdict: str
    classes: int
    groups: int | None
    smallest_difference: float
    classes_to_decide: int | None

    def __str__(self) -> str:
        text = f"{self.verdict}: {self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}] over {self.classes} classes"
        text += "" if self.groups is None else f" in {self.groups} groups"
        if self.classes_to_decide is None:
            return text
        return f"{text}; about {self.classes_to_decide} classes would decide"


def compare(a: Any, b: Any, *, groups: Any = None, margin: float | None = None) -> Comparison:
    """Say whether method ``a`` is better than method ``b``, from their scores per class.

    ``a`` and ``b`` (C,) are scores of the same classes in the same order, such as the accuracy of each unseen class: of
    one test, or of class folds, in which each class is unseen once. Of several tests that share classes they are
    (tests, C), NaN where a class is not tested, and a class counts once, by its mean. ``groups`` (C,) names classes
    that belong together (superclasses); ``margin`` is the largest difference that is of no consequence, by default .02
    of scores between -1 and 1, and none of others. Nothing else of zslplat is needed.

    Raises :class:`ValueError` for arrays of different or fewer than two classes, and for a class without a number.

    >>> import numpy as np
    >>> b = np.array([.52, .61, .44, .70, .58, .49, .66, .53, .60, .47])
    >>> print(compare(b + [.06, .09, .05, .07, .10, .04, .08, .06, .07, .05], b))
    ahead: +0.067 [+0.053, +0.082] over 10 classes
    """
    scores = [np.asarray(side, dtype=float) for side in (a, b)]
    if scores[0].ndim not in (1, 2) or scores[0].shape != scores[1].shape or scores[0].shape[-1] < 2:
        shapes = " and ".join(str(side.shape) for side in scores)
        raise ValueError(f"compare takes two arrays (C,) of scores of the same two or more classes; given {shapes}")
    differences = np.atleast_2d(scores[0] - scores[1])
    if np.isinf(differences).any() or not np.isfinite(differences).any(axis=0).all():
        raise ValueError("compare takes finite scores; leave out the classes that lack one")
    classes = differences.shape[1]
    if groups is not None and len(groups) != classes:
        raise ValueError(f"groups names each of the {classes} classes; given {len(groups)}")
    bounds = DIFFERENCES if np.nanmax(np.abs(scores)) <= 1 else None
    estimate = estimate_mean(np.nanmean(differences, axis=0), groups=groups, bounds=bounds)
    margin = MARGIN if margin is None and bounds else margin
    ends, p_value = estimate.ends, estimate.p_value
    verdict = verdict_of(estimate.estimate, p_value, ends, classes=estimate.classes, margin=margin)
    draws = estimate.classes_to_decide(margin or 0.0) if verdict == NOT_ENOUGH else None
    return Comparison(
        estimate.estimate,
        *ends,
        p_value,
        verdict,
        classes,
        None if groups is None else estimate.classes,
        estimate.smallest_difference(),
        None if draws is None else math.ceil(draws * classes / estimate.classes),
    )


# The distributions of scipy.special are those of scipy.stats, which takes most of a second to import.


def two_sided_p(t: float, freedom: float) -> float:
    """Return the two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


@lru_cache(maxsize=1024)
def quantile_t(freedom: float, level: float = LEVEL) -> float:
    """Return how many errors the two-sided t interval of a level reaches to each side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def _untransformed(bound: float, skewness: float) -> float:
    """Return the t statistic whose transformation is ``bound``."""
    return 3 / skewness * (float(np.cbrt(1 + skewness * (bound - skewness / 6))) - 1)


@lru_cache(maxsize=1024)
def detectable(freedom: float, comparisons: int) -> float:
    """Return the noncentrality at which the two-sided t test of level .05 / ``comparisons`` has a power of 80 %."""
    from scipy.special import nctdtr

    bound = quantile_t(freedom, 1 - (1 - LEVEL) / comparisons)
    return root(lambda shift: float(1 - nctdtr(freedom, shift, bound)) - POWER, 0.0, 3 * bound + 3)


def root(increasing: Any, low: float, high: float) -> float:
    """Return where a function is 0 that is negative at ``low`` and positive at ``high``, to rounding, by halving.

    The root finders of scipy take a fifth of a second to import.
    """
    while low < (middle := (low + high) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high
