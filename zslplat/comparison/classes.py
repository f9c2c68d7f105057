"""How far apart two methods are on *new classes*, and how sure that is.

| symbol | here | shape | meaning |
|---|---|---|---|
| d_j | ``values`` | (C,) | difference of two methods in class j, a mean over repeats: their value, or pseudo-value |
| C | ``classes`` | | number of classes; of several kinds, of the kind that has the fewest |
| nu | ``freedom`` | | degrees of freedom: C - 1, fewer or more where kinds or seeds add their own (Satterthwaite) |

The classes of a zero-shot test are few, and rows within a class are not independent: an interval that draws rows is
one about *these test rows* of these classes. Here classes are what is drawn. The interval is Student's t of the d_j;
the p-value is that of the exact sign-flip test (of all 2^C signs of the d_j, the share whose sum is as far from 0 as
the observed one; Fisher, "The Design of Experiments", section 21) up to 20 classes, and of the t test beyond, where
kinds of classes differ, and where repeats with other seeds add a spread that no class shows.

Repeats. With R repeats of a random method, V(seeds) = s^2(repeats) / R is added, less what the spread of the classes
holds of it already: the interaction of class and seed, which is in both (a crossed design with two random factors).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zslplat.comparison.paired import LEVEL, ROUNDING, but_rounding, same_rows
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import TOO_FEW, alike, too_few, within

EXACT_CLASSES = 20
_TOGETHER = 64  # exact tests at once: of 20 classes their sums take half a megabyte
POWER = 0.8
THESE_ROWS, NEW_CLASSES = "these test rows", "new classes like these"
# What an interval covers and what a verdict says, in words that stand under a table.
COVERS: Mapping[str, str] = {
    THESE_ROWS: "what the score would be on other rows of the same classes (bootstrap of the test rows, 95 %)",
    NEW_CLASSES: "what the score would be on other classes of this kind (Student t over the test classes, 95 %); "
    "verdicts are by this one, after Holm's correction over the rivals",
}


@dataclass(frozen=True)
class Draw:
    """An estimate, its standard error under a new draw of classes and seeds, and what a test of 0 needs.

    ``flips`` (C,) are the values whose signs may be exchanged where 0 is the truth, None where that is no test.
    """

    estimate: float
    error: float
    freedom: float
    classes: int
    flips: np.ndarray | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the t interval; NaN where there are fewer than two classes, or all are alike."""
        if not self.freedom > 0 or self.error == 0:
            return np.nan, np.nan
        half = _t(1 - (1 - LEVEL) / 2, self.freedom) * self.error
        return self.estimate - half, self.estimate + half

    @property
    def p_value(self) -> float:
        """The two-sided p-value of 0; NaN where there are fewer than two classes."""
        if self.freedom > 0 and self.flips is not None:
            return sign_flip_p(self.flips)
        return self.student_p

    @property
    def student_p(self) -> float:
        """The two-sided p-value of 0 by the t test; NaN where there are fewer than two classes.

        Where all classes have the same value there is no spread, but the exact test of their signs has its smallest p.
        """
        if not self.freedom > 0:
            return np.nan
        if self.error == 0:
            return 1.0 if self.estimate == 0 else 2.0 ** (1 - self.classes)
        # The distributions of scipy.special are those of scipy.stats, which takes most of a second to import.
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(self.estimate) / self.error))

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that this many classes can give."""
        return 2.0 ** (1 - len(self.flips)) if self.flips is not None else 0.0

    def smallest_difference(self, comparisons: int = 1) -> float:
        """Return the smallest true difference that is found with a power of 80 %, in the metric's units.

        By the t test of level .05 / ``comparisons``, as Holm's correction needs it of one of so many whatever becomes
        of the others: from the noncentral t distribution with the standard error of the estimate; NaN where that is 0.
        """
        return _detectable(self.freedom, comparisons) * self.error if self.freedom > 0 and self.error > 0 else np.nan


def over_classes(scored: Scored, metric: str) -> Draw | None:
    """Return the mean over repeats of a metric as an estimate over new classes; None without values per class."""
    values = scored.classes.get(metric)
    return None if values is None else _draw(float(np.mean(scored.values[metric])), [(values, 1.0)], scored.kinds)


def score_ends(draw: Draw | None, metric: str) -> tuple[float, float]:
    """Return the ends of the interval of a score over new classes, within what the metric can be; NaN without one."""
    return within(metric, draw.estimate, *draw.ends) if draw else (np.nan, np.nan)


def class_difference(scored: Scored, other: Scored, metric: str) -> Draw | None:
    """Return how far ``scored`` is ahead of ``other`` as an estimate over new classes.

    None where one has no values per class, or where the two scored other rows (:func:`same_rows`).
    """
    ours, theirs = scored.classes.get(metric), other.classes.get(metric)
    if ours is None or theirs is None or not same_rows(scored, other) or ours.shape[1] != theirs.shape[1]:
        return None
    estimate = float(np.mean(scored.values[metric]) - np.mean(other.values[metric]))
    return _draw(estimate, [(ours, 1.0), (theirs, -1.0)], scored.kinds)


def class_differences(scored: Sequence[Scored], pairs: Sequence[tuple[int, int]], metric: str) -> list[Draw | None]:
    """Return the :func:`class_difference` of many pairs, given by their places in ``scored``; the same to the last bit.

    The usual case, one repeat each and values of all classes, which are of one kind, is computed for all together.
    """
    table = _alike(scored, metric)
    if table is None:
        return [class_difference(scored[a], scored[b], metric) for a, b in pairs]
    classes = table.shape[1]
    means = [np.mean(one.values[metric]) for one in scored]
    largest = np.abs(table).max(axis=1)
    differences: list[Draw | None] = []
    for start in range(0, len(pairs), _TOGETHER):
        block = np.array(pairs[start : start + _TOGETHER])
        ours, theirs = block[:, 0], block[:, 1]
        rounding = ROUNDING * np.maximum(largest[ours], largest[theirs])
        gaps = table[ours] - table[theirs]
        gaps = np.where(np.abs(gaps) <= rounding[:, None], 0.0, gaps)
        spreads = _variances(gaps)
        for (a, b), least, gap, spread in zip(block.tolist(), rounding, gaps, spreads.tolist(), strict=True):
            estimate = means[a] - means[b]
            estimate = 0.0 if abs(estimate) <= least else float(estimate)
            differences.append(_drawn(estimate, [(spread / classes, classes - 1.0)], [gap]))
    return differences


def sign_flip_p(values: np.ndarray) -> float:
    """Return the exact two-sided p-value of values (C,) that are as likely to have either sign, C at most 20.

    Raises :class:`ValueError` for more classes.
    """
    return sign_flip_ps(values[None])[0]


def sign_flip_ps(values: np.ndarray) -> list[float]:
    """Return the p-value of each line of ``values`` (n, C), like :func:`sign_flip_p`.

    All 2^C sums are counted without being listed: those of one half of the classes are sorted, and for every sum of
    the other half a binary search tells how many of them lead far enough from 0.
    """
    classes = values.shape[1]
    if classes > EXACT_CLASSES:
        raise ValueError(f"{classes} classes; all signs are tried for at most {EXACT_CLASSES}")
    values = np.ascontiguousarray(values)
    observed = np.abs(values.sum(axis=1))
    # Sums that are equal but for rounding count as equal.
    bounds = observed - 1e-9 * np.maximum(np.abs(values).sum(axis=1), 1e-300)
    half, p_values = classes // 2, []
    for start in range(0, len(values), _TOGETHER):
        block = slice(start, start + _TOGETHER)
        seconds = np.sort(_signed_sums(values[block, half:]), axis=1)
        # Looking values up in order takes half the time.
        needed = np.sort(bounds[block, None] - _signed_sums(values[block, :half]), axis=1)
        for second, least in zip(seconds, needed, strict=True):
            above = len(second) - np.searchsorted(second, least, side="left")
            # To every sum belongs its negative, to rounding and beyond: as many lead as far below 0.
            p_values.append(float(min(2 * np.sum(above) / 2.0**classes, 1.0)))
    return p_values


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return Holm's p-values for several comparisons at once; NaN ones are no comparison and stay NaN.

    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).
    """
    adjusted = np.full(len(p_values), np.nan)
    finite = np.flatnonzero(np.isfinite(p_values))
    order = finite[np.argsort(p_values[finite], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def family_p_values(gaps: Sequence[Draw | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-values of several comparisons, and Holm's; NaN where there is no comparison.

    They are those of the exact test where it is fine enough for so many comparisons, that is where all classes
    pointing one way would be significant after the correction, and of the t test elsewhere: of 10 classes no exact
    p-value is below .002, which 26 comparisons take above .05 whatever the data. (In simulations of 30 rivals over 6
    to 20 classes a family of t tests finds a difference where there is none in at most 3.5 %.)
    """
    # What has no p-value is no comparison, here as for Holm.
    comparisons = [gap for gap in gaps if gap is not None and gap.freedom > 0]
    coarse = any(gap.smallest_p * len(comparisons) > 1 - LEVEL for gap in comparisons if not too_few(gap.classes))
    values = np.array([np.nan if g is None else g.student_p for g in gaps]) if coarse else _p_values(gaps)
    return values, holm(values)


def count_comparisons(p_values: np.ndarray) -> int:
    """Return how many comparisons have a p-value, which Holm's correction is over; at least one."""
    return max(1, int(np.isfinite(p_values).sum()))


def class_verdict(gap: Draw | None, p_holm: float, scores: tuple[float, float], comparisons: int = 1) -> str:
    """Return ``ahead``, ``behind``, ``level`` or ``too few classes to tell``; empty without values per class.

    A difference counts where Holm's p-value over so many ``comparisons`` is at most .05. There are *too few classes*
    where there are fewer than six, as not even all of them pointing one way would be significant in the exact test, and
    where the smallest difference that could be seen is larger than both ``scores``: a method that gets nothing right
    could not be distinguished from them.
    """
    if gap is None or np.isnan(gap.estimate):
        return ""
    if too_few(gap.classes):
        return TOO_FEW
    if p_holm <= 1 - LEVEL:
        return "ahead" if gap.estimate > 0 else "behind"
    if gap.error > 0 and gap.smallest_difference(comparisons) > max(abs(score) for score in scores):
        return TOO_FEW
    return "level"


def _draw(estimate: float, sides: list[tuple[np.ndarray, float]], kinds: np.ndarray | None) -> Draw:
    """Return the draw of signed sides, each (repeats, C); a class without a value on one side has no say."""
    means = np.array([sign * side.mean(axis=0) for side, sign in sides])
    # Means over different numbers of equal repeats differ by rounding; signs of rounding are no evidence.
    values = but_rounding(means.sum(axis=0), means)
    estimate = float(but_rounding(np.array(estimate), means))
    has = np.isfinite(values)
    kind = np.zeros(len(has), dtype=np.int64) if kinds is None else np.asarray(kinds)
    parts = [values[has & (kind == k)] for k in np.unique(kind[has])]
    if not parts or min(map(len, parts)) < 2:
        return Draw(estimate, np.nan, 0.0, min(map(len, parts), default=0))
    terms = [(float(_variances(part)) / len(part), len(part) - 1.0) for part in parts]
    masks = [has & (kind == k) for k in np.unique(kind[has])]
    terms += [term for side, _ in sides for term in _seeds(side, masks)]
    return _drawn(estimate, terms, parts)


def _drawn(estimate: float, terms: Sequence[tuple[float, float]], parts: Sequence[np.ndarray]) -> Draw:
    """Return the draw of values by kind, whose variance is the sum of ``terms``, each with its degrees of freedom."""
    variance = sum(value for value, _ in terms)
    # Satterthwaite: of a single part that varies it is that part's own.
    spread = sum(value**2 / freedom for value, freedom in terms)
    freedom = variance**2 / spread if spread > 0 else float(len(parts[0]) - 1)
    classes = min(map(len, parts))
    exact = len(parts) == 1 and len(terms) == 1 and classes <= EXACT_CLASSES
    return Draw(estimate, float(np.sqrt(variance)), freedom, classes, parts[0] if exact else None)


def _variances(values: np.ndarray) -> np.ndarray:
    """Return the variances (...) over classes of ``values`` (..., C), 0 for values that are alike but for rounding."""
    return np.where(alike(values), 0.0, values.var(axis=-1, ddof=1))


def _alike(scored: Sequence[Scored], metric: str) -> np.ndarray | None:
    """Return the values per class (n, C) of entries of the same rows that have one repeat each and all values, of
    classes of one kind; None where any of that does not hold.
    """
    tables = [table for one in scored if (table := one.classes.get(metric)) is not None]
    one_kind = all(one.kinds is None or (one.kinds == one.kinds[:1]).all() for one in scored)
    if len(tables) < len(scored) or len({table.shape for table in tables}) != 1 or len(tables[0]) != 1:
        return None
    if not one_kind or not all(same_rows(one, scored[0]) for one in scored):
        return None
    values = np.concatenate(tables)
    return values if values.shape[1] > 1 and np.isfinite(values).all() else None


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


def _p_values(gaps: Sequence[Draw | None]) -> np.ndarray:
    """Return the :attr:`Draw.p_value` of each, NaN for None; exact tests of equally many classes are made together."""
    exact: dict[int, list[int]] = {}
    for place, gap in enumerate(gaps):
        if gap is not None and gap.flips is not None and gap.freedom > 0:
            exact.setdefault(len(gap.flips), []).append(place)
    taken = {place for places in exact.values() for place in places}
    values = np.array([np.nan if g is None or i in taken else g.p_value for i, g in enumerate(gaps)], dtype=float)
    for places in exact.values():
        values[places] = sign_flip_ps(np.array([gap.flips for i in places if (gap := gaps[i]) is not None]))
    return values


def _signed_sums(values: np.ndarray) -> np.ndarray:
    """Return the sums (n, 2^C) under all signs of the lines of ``values`` (n, C)."""
    sums = np.zeros((len(values), 1))
    for column in values.T[:, :, None]:
        sums = np.concatenate([sums + column, sums - column], axis=1)
    return sums


@lru_cache(maxsize=1024)
def _t(share: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


@lru_cache(maxsize=1024)
def _detectable(freedom: float, comparisons: int) -> float:
    """Return the noncentrality at which the two-sided t test of level .05 / ``comparisons`` has a power of 80 %."""
    from scipy.special import nctdtr

    bound = _t(1 - (1 - LEVEL) / 2 / comparisons, freedom)
    return root(lambda shift: float(1 - nctdtr(freedom, shift, bound)) - POWER, 0.0, 3 * bound + 3)


def root(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function is 0 that is negative at ``low`` and positive at ``high``, to rounding, by halving.

    The root finders of scipy take a fifth of a second to import.
    """
    while low < (middle := (low + high) / 2) < high:
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high
