"""Verdicts: whether a printed number is confirmed, and whether a claim holds, by intervals and nothing else.

A printed number is one number of one experiment. It is *confirmed* where it lies in our interval of the same quantity
on the same data, *above* or *below* say where our whole interval lies, beyond what rounding hides. A claim says that
something is better than something else; it *holds* where the interval of the difference over new classes lies above 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.statistics import LEAST_CLASSES, NOT_ENOUGH

CONFIRMED, ABOVE, BELOW, CANNOT_TELL = CELL_VERDICTS = ("confirmed", "above", "below", "cannot tell")
HOLDS, HOLDS_NOT, NOT_TESTED = "holds", "does not hold", "not tested"
CLAIM_VERDICTS = (HOLDS, HOLDS_NOT, CANNOT_TELL, NOT_TESTED)
# An interval that reaches further than this to each side confirms too much to confirm anything: shares of 1, and parts
# of the printed number where it is none.
WIDEST, WIDEST_PART = 0.1, 0.25
# One difference of many refutes a claim by this over all of them together, as its interval does alone.
_ONE_SIDED = 0.025
# Values that are all the same have an interval of no width but for rounding.
_NO_WIDTH = 1e-12
# A lead below this is none worth the name: shares of 1, where a claim names no other.
LEAST_LEAD = 0.01
# What intervals of differences are over, in words.
CLASSES, DRAWS, SEEDS = "new classes", "test rows, queries or draws", "seeds"


@dataclass(frozen=True)
class Verdict:
    """A verdict and, in words, what it rests on or what is missing."""

    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Estimate:
    """An estimate with the ends of its interval, None where there is none, and what the interval is over, in words."""

    value: float
    low: float | None = None
    high: float | None = None
    over: str = ""


def cell_verdict(
    printed: float | None, ours: Estimate | None, *, rounding: float = 0.0, share: bool = True, differs: str = ""
) -> Verdict:
    """Return the verdict on a printed number: confirmed, above, below, or cannot tell with the reason.

    ``share``: both numbers are shares of 1, whose intervals have a natural size. ``differs`` says in what our data are
    not the paper's: then nothing is compared. ``rounding``: how far the printed number may lie from what was rounded to
    it; above and below are beyond that.
    """
    if differs:
        return Verdict(CANNOT_TELL, differs)
    if printed is None:
        return Verdict(CANNOT_TELL, "the paper prints no number here")
    if ours is None:
        return Verdict(CANNOT_TELL, "not carried out")
    ends = _ends(ours)
    if ends is None or not math.isfinite(sum(ends)):
        return Verdict(CANNOT_TELL, "our number has no interval")
    low, high = ends
    over = f"interval over {ours.over}" if ours.over else ""
    if low > printed + rounding:
        return Verdict(ABOVE, over)
    if high < printed - rounding:
        return Verdict(BELOW, over)
    reach = max(high - ours.value, ours.value - low)
    if reach > (WIDEST if share else WIDEST_PART * abs(printed)):
        return Verdict(CANNOT_TELL, f"interval too wide: {reach:.3g} to a side")
    return Verdict(CONFIRMED, over)


@dataclass(frozen=True)
class Contrast:
    """A difference that a claim is about, on one data set: positive where the claim has it.

    ``of`` names the data set and the two sides; ``over`` says what the interval is over, and ``classes`` how many
    classes it is made from, None where it is over something else, or was kept without saying it.
    """

    of: str
    difference: float
    low: float | None
    high: float | None
    over: str = ""
    classes: int | None = None


def contrast_verdict(contrast: Contrast, least: float = LEAST_LEAD, *, level: bool = False) -> Verdict:
    """Return whether one difference bears a claim out: it holds, does not hold, or the interval cannot tell.

    A claimed lead holds where the interval lies above 0, and does not where it leaves no room for a lead of ``least``.
    A claim to be ``level`` holds where the interval leaves no room for being behind by ``least``, and does not where
    it lies below 0 otherwise. Of as few classes as a comparison gives no verdict by, none is given here, nor of values
    that are all the same, whose spread nobody knows.
    """
    text = f"{contrast.of} {contrast.difference:+.3f}"
    ends = _ends(contrast)
    if ends is None:
        return Verdict(CANNOT_TELL, f"{text} without an interval")
    low, high = ends
    text += f" [{low:+.3f}, {high:+.3f}]"
    if high - low < _NO_WIDTH:
        return Verdict(CANNOT_TELL, f"{text}: all the same, which says nothing of others")
    if _has_few_classes(contrast):
        return Verdict(CANNOT_TELL, f"{text} of {contrast.classes} classes: {NOT_ENOUGH}")
    if low > (-least if level else 0):
        return Verdict(HOLDS, text)
    return Verdict(HOLDS_NOT if high < (0 if level else least) else CANNOT_TELL, text)


def claim_verdict(
    contrasts: Sequence[Contrast],
    least: float = LEAST_LEAD,
    *,
    level: bool = False,
    every: bool = False,
    absent: int = 0,
    missing: str = "",
) -> Verdict:
    """Return the verdict on a claim from all differences that bear on it.

    It holds where it holds in most of them (``every``: in each) and is refuted in none; it does not hold where it is
    refuted in most of them and holds in none. A claim about ``every`` difference is refuted by one, which of many may
    be chance: by the most extreme of them with Bonferroni's correction over all. ``absent`` counts differences that
    belong to the same experiments on the same data and were not carried out, or failed: they are open. ``missing`` says
    what a claim without any difference needs.
    """
    if not contrasts:
        return Verdict(NOT_TESTED, missing)
    single = [contrast_verdict(contrast, least, level=level).verdict for contrast in contrasts]
    holds, refuted, n = single.count(HOLDS), single.count(HOLDS_NOT), len(single) + absent
    counted = f"{HOLDS} in {holds}, {HOLDS_NOT} in {refuted}, open in {n - holds - refuted} of {n} differences"
    counted += f", {absent} of them not carried out" if absent else ""
    if 2 * refuted > n and not holds:
        return Verdict(HOLDS_NOT, counted)
    if refuted and every:
        chance = min(_refuting_p(one, 0 if level else least) for one in contrasts if not _has_few_classes(one)) * n
        if chance < _ONE_SIDED:
            return Verdict(HOLDS_NOT, counted)
        return Verdict(CANNOT_TELL, f"{counted}: of so many some are refuted by chance")
    if not refuted and (holds == n or (2 * holds > n and not every)):
        return Verdict(HOLDS, counted)
    return Verdict(CANNOT_TELL, counted)


def _has_few_classes(contrast: Contrast) -> bool:
    return contrast.classes is not None and contrast.classes < LEAST_CLASSES


def _ends(of: Estimate | Contrast) -> tuple[float, float] | None:
    """Return the ends of an interval, None where one of them is not known."""
    if of.low is None or of.high is None or math.isnan(of.low + of.high):
        return None
    return of.low, of.high


def _refuting_p(contrast: Contrast, bound: float) -> float:
    """Return the one-sided p-value of a difference of at least ``bound``, from the interval; 1 without one.

    By Student's t over classes, with as many degrees of freedom less one, else by the normal distribution.
    """
    from scipy.stats import norm, t

    ends = _ends(contrast)
    if ends is None:
        return 1.0
    law = t(contrast.classes - 1) if contrast.classes else norm()
    error = (ends[1] - contrast.difference) / float(law.ppf(1 - _ONE_SIDED))
    if error < _NO_WIDTH:
        return 1.0
    return float(law.cdf((contrast.difference - bound) / error))


def t_interval(estimate: float, values: np.ndarray) -> tuple[float, float] | None:
    """Return the ends of Student's interval of a mean (95 %) about an estimate; None for fewer than two values."""
    from scipy.stats import t

    if len(values) < 2:
        return None
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return estimate - half, estimate + half
