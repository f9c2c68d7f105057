"""Values per class of metrics under a new draw of classes: what an interval over *new classes* is made of.

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

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
