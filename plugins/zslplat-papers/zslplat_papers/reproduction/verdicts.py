"""Verdicts: whether a printed number is confirmed, and whether a claim holds, by intervals and nothing else.

A printed number is one number of one experiment. It is *confirmed* where it lies in our interval of the same quantity
on the same data, *above* or *below* say where our whole interval lies, beyond what rounding hides.

A claim is about differences, positive where it is right. Each is the mean over the data sets on which it was tested
(:func:`zslplat.pooling.pool`), as in :func:`zslplat.compare`. It *holds* where the mean is ahead. It does *not hold*
where it is behind, or equal within the margin of the claim. Neither counts where data sets contradict each other. Over
the list of claims p-values are those of Benjamini and Hochberg.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.pooling import Pooled, pool
from zslplat.statistics import (
    DIFFERS,
    LEAST_CLASSES,
    LEVEL,
    MARGIN,
    NOT_ENOUGH,
    detectable,
    estimate_mean,
)

CONFIRMED, ABOVE, BELOW, NOT_COMPARED = "confirmed", "above", "below", "not compared"
HOLDS, HOLDS_NOT, NOT_TESTED = "holds", "does not hold", "not tested"
CLAIM_VERDICTS = (HOLDS, HOLDS_NOT, DIFFERS, NOT_ENOUGH, NOT_TESTED)
# An interval that reaches further than this to each side confirms too much to confirm anything: shares of 1, and parts
# of the printed number where it is none.
WIDEST, WIDEST_PART = 0.1, 0.25
# What intervals of differences are over, in words.
CLASSES, DRAWS, SEEDS, EXACT = "new classes", "test rows, queries or draws", "seeds", "nothing: an exact number"
# Which data sets show the same images; the others have some of their own.
IMAGES = {
    "AWA1 proposed": "AWA1",
    "AWA1 standard": "AWA1",
    "CIFAR100 GloVe": "CIFAR-100",
    "CIFAR100 hierarchy": "CIFAR-100",
    "CIFARAWA": "CIFAR-100",
    "digit-pairs": "digits",
    "digit-retrieval": "digits",
    "digit-retrieval pyramid": "digits",
    "digits": "digits",
}


@dataclass(frozen=True)
class Verdict:
    """A verdict and, in words, what it rests on or what is missing."""

    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Measured:
    """An estimate with the ends of its interval, None where there is none, and what the interval is over, in words."""

    value: float
    low: float | None = None
    high: float | None = None
    over: str = ""


def cell_verdict(
    printed: float | None, ours: Measured | None, *, rounding: float = 0.0, share: bool = True, differs: str = ""
) -> Verdict:
    """Return the verdict on a printed number, with the reason.

    ``share``: both numbers are shares of 1, whose intervals have a natural size. ``differs`` says in what our data are
    not the paper's: then nothing is compared. ``rounding``: how far the printed number may lie from what was rounded to
    it; above and below are beyond that.
    """
    if differs:
        return Verdict(NOT_COMPARED, differs)
    if printed is None:
        return Verdict(NOT_COMPARED, "the paper prints no number here")
    if ours is None:
        return Verdict(NOT_COMPARED, "not carried out")
    if not math.isfinite(sum(_ends(ours))):
        return Verdict(NOT_ENOUGH, "our number has no interval")
    low, high = _ends(ours)
    over = f"interval over {ours.over}" if ours.over else ""
    if low > printed + rounding:
        return Verdict(ABOVE, over)
    if high < printed - rounding:
        return Verdict(BELOW, over)
    reach = max(high - ours.value, ours.value - low)
    if reach > (WIDEST if share else WIDEST_PART * abs(printed)):
        return Verdict(NOT_ENOUGH, f"interval too wide: {reach:.3g} to a side")
    return Verdict(CONFIRMED, over)


@dataclass(frozen=True)
class Contrast:
    """A difference that a claim is about, on one data set: positive where the claim has it.

    ``of`` names the data set and the two sides; ``over`` says what the interval is over, and ``classes`` how many
    classes it is made from, None where it is over something else.
    """

    of: str
    difference: float
    low: float | None
    high: float | None
    over: str = ""
    classes: int | None = None

    @property
    def data(self) -> str:
        """The data set."""
        return self.of.partition(": ")[0]

    @property
    def sides(self) -> str:
        """What is compared."""
        return self.of.partition(": ")[2]

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; NaN where there is none, or where fewer than six classes say nothing of others."""
        if self.over == EXACT:
            return self.difference, self.difference
        if self.classes is not None and self.classes < LEAST_CLASSES:
            return math.nan, math.nan
        low, high = _ends(self)
        if low == high and self.classes:  # all classes have the same: the share of others among new ones is bounded
            return estimate_mean(np.full(self.classes, self.difference)).ends
        return low, high


@dataclass(frozen=True)
class MeanDifference:
    """A difference over data sets, positive where the claim is right.

    ``pooled`` is that of the differences and ``shift``, which is the margin for a claim of equality: it is right above
    minus the margin. ``families`` names the data sets, those with the same images by the first of them.
    """

    of: str
    pooled: Pooled
    margin: float
    shift: float
    families: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The mean."""
        return self.pooled.estimate - self.shift

    @property
    def p_value(self) -> float:
        """The p-value of the mean, 1 where data sets contradict each other."""
        return 1.0 if self.pooled.is_contradicted else self.pooled.p_value

    @property
    def p_holds(self) -> float:
        """The p-value of the claim."""
        return self.p_value if self.pooled.estimate > 0 else 1.0

    @property
    def p_fails(self) -> float:
        """The p-value that the claim is wrong: that the mean is behind, or equal within the margin."""
        p_behind = self.p_value if self.pooled.estimate < 0 else 1.0
        return p_behind if self.shift or not self.margin else min(p_behind, self.pooled.p_equal(self.margin))

    @property
    def new_ends(self) -> tuple[float, float]:
        """The ends of the 95 % interval of the difference on a new data set; NaN for a single one."""
        low, high = self.pooled.new_ends
        return low - self.shift, high - self.shift

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the 95 % interval of the mean over these data sets."""
        return self.pooled.low - self.shift, self.pooled.high - self.shift

    @property
    def smallest(self) -> float:
        """The smallest true difference that is seen with a power of 80 %."""
        return detectable(math.inf, 1) * self.pooled.error

    def __str__(self) -> str:
        low, high = self.ends
        sets = "data set" if self.pooled.data_sets == 1 else "data sets"
        text = f"{self.of}: " if self.of else ""
        text += f"{self.difference:+.3f} [{low:+.3f}, {high:+.3f}] over {self.pooled.data_sets} {sets}"
        low, high = self.new_ends
        return text if math.isnan(low) else f"{text}, a new one [{low:+.3f}, {high:+.3f}]"


def mean_difference(
    contrasts: Sequence[Contrast], margin: float = MARGIN, *, level: bool = False, of: str = ""
) -> MeanDifference | None:
    """Return a difference over the data sets of ``contrasts``; None where none has an interval.

    ``margin``: what is of no consequence, 0 where nothing is. A claim to be ``level`` is right above minus the margin.
    """
    shift = margin if level else 0.0
    lows, highs = ([one.ends[end] + shift for one in contrasts] for end in (0, 1))
    families = [IMAGES.get(one.data, one.data) for one in contrasts]
    values, classes = [one.difference + shift for one in contrasts], [one.classes for one in contrasts]
    pooled = pool(values, lows, highs, families, classes=classes)
    if pooled is None:
        return None
    names = dict.fromkeys(f for f, low in zip(families, lows, strict=True) if math.isfinite(low))
    return MeanDifference(of, pooled, margin, shift, tuple(names))


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against a claim: its mean differences, all of which it needs.

    ``without`` says which of its comparisons have no interval, or were not carried out: a claim about all its
    comparisons cannot hold without them. Comparisons with the same numbers are one.
    """

    means: tuple[MeanDifference, ...]
    without: tuple[str, ...] = ()

    @property
    def _distinct(self) -> int:
        return len({(one.difference, one.pooled.error) for one in self.means})

    @property
    def p_holds(self) -> float:
        """The p-value of the claim: that of the least sure of its differences (intersection-union test)."""
        return 1.0 if self.without or not self.means else max(one.p_holds for one in self.means)

    @property
    def p_fails(self) -> float:
        """The p-value of its failure: that of the surest difference against it, with Bonferroni's correction."""
        return min((self._distinct * one.p_fails for one in self.means), default=1.0)

    @property
    def p_value(self) -> float:
        """The p-value of what the differences say, be it for the claim or against it; NaN where they say nothing."""
        return min(self.p_holds, self.p_fails, 1.0) if self.means else math.nan

    def verdict(self, p_value: float) -> Verdict:
        """Return the verdict by a p-value that is corrected for the other claims."""
        if not self.means:
            return Verdict(NOT_ENOUGH, "; ".join(self.without))
        differing = [one for one in self.means if self._distinct * one.pooled.p_heterogeneity <= 1 - LEVEL]
        if p_value <= 1 - LEVEL:
            verdict = HOLDS if self.p_holds <= self.p_fails else HOLDS_NOT
        else:
            verdict = DIFFERS if differing else NOT_ENOUGH
        decisive = {
            HOLDS: lambda: max(self.means, key=lambda one: one.p_holds),
            HOLDS_NOT: lambda: min(self.means, key=lambda one: one.p_fails),
            DIFFERS: lambda: min(differing, key=lambda one: one.pooled.p_heterogeneity),
            NOT_ENOUGH: lambda: max(self.means, key=lambda one: (one.p_holds, one.smallest)),
        }[verdict]()
        text = f"{self._rank_in_words(verdict)}{decisive}"
        if verdict == NOT_ENOUGH:
            text += f"; {decisive.smallest:.3f} would have been seen"
        same = len(self.means) - self._distinct
        text += f"; {same} of {len(self.means)} comparisons have the numbers of another, and count once" if same else ""
        return Verdict(verdict, "; ".join([text, *self.without]))

    def _rank_in_words(self, verdict: str) -> str:
        if len(self.means) == 1:
            return ""
        words = {HOLDS: "the least sure", HOLDS_NOT: "the surest against it", DIFFERS: "the most different"}
        return f"{words.get(verdict, 'the least sure')} of {len(self.means)} comparisons, "


def claim_verdicts(evidence: Sequence[Evidence]) -> list[Verdict]:
    """Return the verdicts on a list of claims, with Benjamini and Hochberg's correction over the list."""
    from scipy.stats import false_discovery_control  # slow to import

    corrected = np.array([one.p_value for one in evidence], dtype=float)
    finite = np.isfinite(corrected)
    corrected[finite] = false_discovery_control(corrected[finite]) if finite.any() else corrected[finite]
    return [one.verdict(p) for one, p in zip(evidence, corrected, strict=True)]


def contrast_verdict(contrast: Contrast, margin: float = MARGIN, *, level: bool = False) -> str:
    """Return what one difference on one data set says alone: holds, does not hold, or not enough data."""
    mean = mean_difference([contrast], margin, level=level)
    if mean is None or min(mean.p_holds, mean.p_fails) > 1 - LEVEL:
        return NOT_ENOUGH
    return HOLDS if mean.p_holds <= mean.p_fails else HOLDS_NOT


def _ends(of: Measured | Contrast) -> tuple[float, float]:
    """Return the ends of an interval, NaN where one of them is not known."""
    if of.low is None or of.high is None or math.isnan(of.low + of.high):
        return math.nan, math.nan
    return of.low, of.high
