"""Intervals of metrics: over drawn rows, and over new classes.

How few classes are too few to tell a difference over new classes: one rule for verdicts, ties, claims.

Metrics that are shares, or means of shares: no value of them is below 0 or above 1, and no interval need be.

They are known by their names, like what evaluations cost; a metric of another name may have any value.

Intervals from bootstrap replicates: of the mean over repeats, and of the paired difference of two.

Replicate i of one method and replicate i of another are of the same drawn rows, where both scored the same rows.

Values per class of metrics under a new draw of classes: what an interval over *new classes* is made of.

| symbol | here | shape | meaning |
|---|---|---|---|
| theta | ``whole`` | | a metric of all scored rows |
| theta_(-j) | ``left_out`` | (C,) | the metric without the rows of class j, which stays a candidate of all other rows |
| theta*_j | | (C,) | pseudo-value C theta - (C - 1) theta_(-j) |

Rows of one class are not independent: they share its signature and its neighbours, so that what a method gets wrong
in one of them it gets wrong in many. The independent draws of a zero-shot test are its classes. For a plain mean over
classes the pseudo-values *are* the values per class; for other metrics (H, AUSUC, accuracy over rows) their spread
estimates the variance over draws of classes in the same way. Source: Efron and Tibshirani, "An Introduction to the
Bootstrap", chapter 11. Of classes of several kinds (seen and unseen) each kind is a sample of its own, C its size;
the variance is the sum of the variances of the kinds' means (Arvesen, "Jackknifing U-Statistics", 1969).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

# The exact sign-flip test of five classes has no p-value below 2 / 2^5 = .0625, that of six has 2 / 2^6 = .031.
LEAST_CLASSES = 6
TOO_FEW, TOO_FEW_DRAWS = "too few classes to tell", "too few draws to tell"


def too_few(classes: int | None) -> bool:
    """Tell whether a test of so many classes can show nothing at level .05; None, for what is not known, is not."""
    return classes is not None and classes < LEAST_CLASSES


_SHARES = re.compile(
    r"(?:\w+_)?accuracy|per_class_top_\d+|(?:precision|recall)_at_\d+|(?:centred_)?mAP(?:_11pt)?|nmi(?:_arithmetic)?"
    r"|AUSUC|(?:calibrated_|oracle_)?H|[US]_to_[UST]|calibrated_[us]"
)


def within(metric: str, estimate: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval of a metric, cut at 0 and 1 where it is a share; NaN stays.

    An estimate that is no share itself, as one in percent, says that the name means something else: nothing is cut.
    """
    if not _SHARES.fullmatch(metric) or not 0 <= estimate <= 1:
        return low, high
    return max(low, 0.0), min(high, 1.0)


LEVEL = 0.95
# What a mean over equal values may differ by from another one, relative to them.
ROUNDING = 1e-12


def but_rounding(differences: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return differences with 0 for those that are rounding alone, measured by the values ``of`` which they are."""
    finite = np.abs(of)[np.isfinite(of)]
    return np.where(np.abs(differences) <= ROUNDING * (finite.max() if finite.size else 0.0), 0.0, differences)


def alike(values: np.ndarray) -> np.ndarray:
    """Tell where values (..., n) are all the same but for rounding: they have no spread to judge by."""
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * np.abs(values).max(axis=-1))


def over_repeats(replicates: np.ndarray, side: int = 0) -> np.ndarray:
    """Return the replicates (b,) of the mean over repeats of (repeats, b), the repeats drawn anew for every replicate.

    ``side`` tells the two sides of a difference apart, whose repeats are drawn independently.
    """
    repeats, count = replicates.shape
    if repeats == 1:
        return np.asarray(replicates[0])
    chosen = np.random.default_rng([29, side]).integers(repeats, size=(repeats, count))
    return np.asarray(np.take_along_axis(replicates, chosen, axis=0).mean(axis=0))


def centred_ends(estimate: float, replicates: np.ndarray) -> tuple[float, float]:
    """Return the ends of the interval between percentiles of replicates (b,), moved so that their mean is the estimate.

    Drawing rows twice raises an average precision a little, for every method alike. A draw of groups may have no row
    that the metric can be computed from; where most have none, the ends are NaN. Replicates that are all the same but
    for rounding have the estimate for both ends.
    """
    finite = replicates[np.isfinite(replicates)]
    if len(finite) <= len(replicates) / 2:
        return np.nan, np.nan
    low, high = np.quantile(but_rounding(finite - finite.mean(), finite), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return estimate + float(low), estimate + float(high)


# Names how values per class are made, here and in the ``class_values`` of the tasks; see ``resampling.SCHEME``.
CLASS_SCHEME = "jackknife-2"
BLOCK = 100


@dataclass(frozen=True)
class ClassValues:
    """Values per class of every metric, for an interval over new classes.

    ``values`` maps a metric to (C,): the value, or pseudo-value, of each class, NaN for a class that has no say in it.
    ``kinds`` (C,) numbers the samples that the classes are drawn from (0 unseen, 1 seen), all 0 where there is one.
    The order of classes is the same for all methods that scored the same rows.
    """

    values: Mapping[str, np.ndarray]
    kinds: np.ndarray


def jackknifed(
    metrics: Callable[[np.ndarray], Mapping[str, np.ndarray]], classes: np.ndarray, kinds: np.ndarray | None = None
) -> ClassValues:
    """Return pseudo-values of leaving one class out.

    ``metrics`` maps counts (b, m) of how often each row is taken to values (b,) by metric; ``classes`` (m,) is the
    class of each row, negative for entries that stay in whatever class is left out; ``kinds`` gives the kind of every
    class by its number, 0 where it is None. A kind of a single class has no pseudo-values.
    """
    present = np.unique(classes[classes >= 0])
    kind = np.zeros(len(present), dtype=np.int64) if kinds is None else np.asarray(kinds, dtype=np.int64)[present]
    whole = metrics(np.ones((1, len(classes)), dtype=np.int32))
    parts = [
        metrics((classes[None, :] != present[first : first + BLOCK, None]).astype(np.int32))
        for first in range(0, len(present), BLOCK)
    ]
    size = np.bincount(kind)[kind]
    values = {}
    for name, value in whole.items():
        left_out = np.concatenate([part[name] for part in parts])
        values[name] = np.where(size > 1, value[0] + (size - 1) * (value[0] - left_out), np.nan)
    return ClassValues(values, kind)


def mean_pseudo_values(values: np.ndarray) -> np.ndarray:
    """Return pseudo-values (C,) of the mean over lines of the means over classes; ``values`` (lines, C), NaN for none.

    Where no line lacks a class they are the means over the lines. A class without any value is NaN, and so are all
    where there is one.
    """
    has = np.isfinite(values)
    total = np.where(has, values, 0.0)
    sums, counts = total.sum(axis=1), has.sum(axis=1)
    lines = counts > 0
    whole = np.mean(sums[lines] / counts[lines]) if lines.any() else np.nan
    others = counts[:, None] - has
    without = np.where(others > 0, (sums[:, None] - total) / np.maximum(others, 1), np.nan)
    finite = np.isfinite(without)
    left_out = np.where(finite, without, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    present = has.any(axis=0)
    size = int(present.sum())
    return np.where(present & (size > 1), whole + (size - 1) * (whole - left_out), np.nan)
