"""Intervals of metrics: over drawn rows, and over new classes.

Metrics that are shares, or means of shares, have no value below 0 or above 1, and no interval need go there. They are
known by their names, like what evaluations cost; a metric of another name may have any value.

Rows: a paired bootstrap
------------------------

| symbol | here | shape | meaning |
|---|---|---|---|
| w | ``counts`` | (b, m) | how often each row is drawn, one line per replicate |
| | ``strata`` | (m,) | class of each row: rows are drawn with replacement within it, so classes keep their sizes |
| F, y | ``scores``, ``y`` | (m, c), (m,) | as in :mod:`zslplat.metrics.accuracy` |

Where rows belong together (pictures of one object, utterances of one speaker) they are no independent draws, and the
*things* that they are of are drawn instead: a row is taken as often as its things are, times each other where it is
made of several (Owen, "The Pigeonhole Bootstrap", 2007: never too narrow, and up to sqrt(3) too wide where two things
add nothing to what the row itself varies by). Classes that have no thing in common are drawn apart; where things run
through classes, sizes of classes vary with the draw. Of n things n - 1 are drawn, so that the variance is that of n
(McCarthy and Snowden, 1985): with three or ten things in a class, n draws would be too narrow by sqrt(1 - 1/n). A class
of which all rows are of one thing says nothing of other things: it stays as it is.

The draws depend on the rows and on the number of the replicate alone, never on a method, so that replicate i of one
method and replicate i of another see the same rows: the spread of their difference is that of a paired comparison.
Source: Efron and Tibshirani, "An Introduction to the Bootstrap", chapters 6 and 8 (stratified, percentile interval).

Intervals are of the mean over repeats, and of the paired difference of two methods that scored the same rows.

New classes: values per class
-----------------------------

| symbol | here | shape | meaning |
|---|---|---|---|
| theta | ``whole`` | | a metric of all scored rows |
| theta_(-j) | ``left_out`` | (C,) | the metric without the rows of class j, which stays a candidate of all other rows |
| theta*_j | | (C,) | pseudo-value C theta - (C - 1) theta_(-j) |
| G_jk | ``gains`` | (C, C) | what theta gains through the rows of class k where class j is no candidate of theirs |

Rows of one class are not independent: they share its signature and its neighbours, so that what a method gets wrong
in one of them it gets wrong in many. The independent draws of a zero-shot test are its classes. For a plain mean over
classes the pseudo-values *are* the values per class; for other metrics (H, AUSUC, accuracy over rows) their spread
estimates the variance over draws of classes in the same way. Source: Efron and Tibshirani, "An Introduction to the
Bootstrap", chapter 11. Of classes of several kinds (seen and unseen) each kind is a sample of its own, C its size;
the variance is the sum of the variances of the kinds' means (Arvesen, "Jackknifing U-Statistics", 1969).

Where the classes of a test are each other's candidates, a class that is drawn brings a competitor, too. Leaving it out
altogether takes C sum_k G_jk off its pseudo-value, less the mean of that over the classes, which changes no spread. The
variance V then counts twice what two classes take from each other. That is V_2, the interactions of pairs in the
decomposition of Hoeffding. V - V_2 is used (Efron and Stein, "The Jackknife Estimate of Variance", 1981), never
less than two thirds of V_2, with fewer degrees of freedom by as much as it is less (``benchmarks/verdicts.py``).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from zslplat.statistics import LEVEL, MARGIN, ROUNDING

# Replicates that one generator draws, or classes that are left out in one call, and the most counts that are held at
# once: 2**22 of 8 bytes, several times over.
BLOCK, MOST_COUNTS = 100, 1 << 22
# Names how replicates are made, here and in the ``resampled`` of the tasks. Whoever changes that so that other values
# come out gives it another name, and kept replicates are made anew.
SCHEME = "stratified-1"
# The same for draws of things.
THINGS_SCHEME = "things-1"


def draws(rows: np.ndarray, strata: np.ndarray, replicates: int) -> Iterator[np.ndarray]:
    """Yield counts (b, m) in blocks of at most 100 replicates; ``rows`` (m,) are ids that do not depend on the order.

    Each stratum is drawn as often as it has rows. Blocks of many rows are shorter, with the same draws.
    """
    order = np.lexsort((rows, strata))
    sizes = np.unique(strata, return_counts=True)[1]
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    low, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    for block, rng in _pieces(17, replicates, len(rows)):
        drawn = low + (rng.random((block, len(rows)), dtype=np.float32) * size).astype(np.int64).clip(max=size - 1)
        drawn += np.arange(block)[:, None] * len(rows)
        counts = np.bincount(drawn.ravel(), minlength=block * len(rows)).reshape(block, len(rows))
        result = np.empty((block, len(rows)), dtype=np.int32)
        result[:, order] = counts
        yield result


def draws_of_things(things: np.ndarray, strata: np.ndarray, replicates: int) -> Iterator[np.ndarray] | None:
    """Yield counts (b, m) in blocks of at most 100 replicates; ``things`` (m, k) are the ids of what rows are made of.

    None where nothing can be drawn: where whatever belongs together is of one thing.
    """
    ids, number = np.unique(things, return_inverse=True)
    number = number.reshape(things.shape)
    part = _parts(number, np.unique(strata, return_inverse=True)[1], len(ids))
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    if sizes.max() < 2:
        return None
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    # One thing fewer than there are, where there are several.
    times = np.maximum(sizes - 1, 1)
    return _products(number, order, np.repeat(starts, times), np.repeat(sizes, times), replicates)


def _products(
    number: np.ndarray, order: np.ndarray, low: np.ndarray, size: np.ndarray, replicates: int
) -> Iterator[np.ndarray]:
    """Yield the products over the columns of ``number`` (m, k) of how often things are drawn, each part by itself."""
    count = len(order)
    # A thing that a row is made of twice counts once.
    fresh = [(number[:, [j]] != number[:, :j]).all(axis=1) for j in range(number.shape[1])]
    for block, rng in _pieces(37, replicates, len(number)):
        drawn = low + (rng.random((block, len(low))) * size).astype(np.int64).clip(max=size - 1)
        drawn += np.arange(block)[:, None] * count
        weights = np.empty((block, count), dtype=np.int32)
        weights[:, order] = np.bincount(drawn.ravel(), minlength=block * count).reshape(block, count)
        counts = weights[:, number[:, 0]]
        for j in range(1, number.shape[1]):
            counts = counts * np.where(fresh[j], weights[:, number[:, j]], 1)
        yield counts


def _pieces(seed: int, replicates: int, rows: int) -> Iterator[tuple[int, np.random.Generator]]:
    """Yield how many replicates are drawn next, with what: a generator for each 100, whose stream goes on in them."""
    together = max(1, MOST_COUNTS // max(1, rows))
    for number, first in enumerate(range(0, replicates, BLOCK)):
        rng = np.random.default_rng([seed, number])
        last = min(BLOCK, replicates - first)
        for start in range(0, last, together):
            yield min(together, last - start), rng


def _parts(number: np.ndarray, strata: np.ndarray, things: int) -> np.ndarray:
    """Return the part (things,) that each thing belongs to: those that share rows or strata, however remotely."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = np.repeat(strata + things, number.shape[1])
    size = things + int(strata.max()) + 1
    graph = coo_array((np.ones(number.size, dtype=np.int8), (number.ravel(), rows)), shape=(size, size))
    parts: np.ndarray = connected_components(graph, directed=False)[1]
    return np.unique(parts[:things], return_inverse=True)[1]


def rows_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a short hash of what is scored: equal for the same rows in any order, different for other rows.

    Arrays of one length describe the same rows, one entry each. Draws of rows with one digest are the same draws, so
    that replicates may be compared in pairs where digests agree, and nowhere else.
    """
    by_length: dict[int, list[np.ndarray]] = {}
    for name in sorted(arrays):
        array = np.atleast_1d(np.asarray(arrays[name]))
        values = np.ascontiguousarray(array.astype(np.int64) if array.dtype.kind in "iub" else array)
        by_length.setdefault(len(array), []).append(values)
    digest = hashlib.sha256()
    for length in sorted(by_length):
        columns = [values.reshape(length, -1).view(np.uint8) for values in by_length[length] if values.size]
        rows = sorted(row.tobytes() for row in np.hstack(columns)) if columns else []
        digest.update(f"{length}:".encode() + b"".join(rows))
    return digest.hexdigest()[:16]


def resampled_means(counts: np.ndarray, correct: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Return the mean (b,) of ``correct`` (m,) over the drawn rows, or the mean over groups of the groups' means.

    Where draws keep the sizes of ``groups`` (m,) the result is one product; elsewhere sums are divided by what was
    drawn, and a group of which no row is drawn has no part in that draw (NaN where none has).
    """
    number = np.zeros(len(correct), dtype=np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(number)
    hit = np.flatnonzero(correct)
    drawn = sums_by_group(counts, number)
    if np.array_equal(drawn, np.broadcast_to(sizes, drawn.shape)):
        weight = 1.0 / (sizes[number] * len(sizes))
        return np.asarray(counts[:, hit] @ (correct[hit] * weight[hit]))
    won = sums_by_group(counts * np.asarray(correct, dtype=np.float64), number)
    there = drawn > 0
    shares = np.where(there, won / np.maximum(drawn, 1), 0.0).sum(axis=1)
    return np.asarray(np.where(there.any(axis=1), shares / np.maximum(there.sum(axis=1), 1), np.nan))


def sums_by_group(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return the sums (b, g) over the columns of ``values`` (b, m) by their group; ``number`` (m,) is 0 .. g - 1."""
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number)
    return np.asarray(np.add.reduceat(values[:, order], np.r_[0, np.cumsum(sizes)[:-1]], axis=1))


def resampled_average_precision(counts: np.ndarray, scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the average precision (b,) of the drawn rows ranked by scores (m,); ``relevant`` (m,) is a mask.

    A row that is drawn several times takes as many places. Equal scores of different rows take one random order, the
    same in every replicate. NaN for a draw without a relevant row.
    """
    shuffled = np.random.default_rng(len(scores)).permutation(len(scores))
    order = shuffled[np.argsort(-scores[shuffled], kind="stable")]
    hits = np.flatnonzero(relevant[order])
    drawn = counts[:, order]
    times = drawn[:, hits].astype(np.float64)
    before = np.cumsum(drawn, axis=1)[:, hits] - times
    hits_before = np.cumsum(times, axis=1) - times
    total = np.zeros(len(counts))
    for time in range(1, int(times.max(initial=0)) + 1):
        total += np.sum(np.where(times >= time, (hits_before + time) / (before + time), 0.0), axis=1)
    drawn_hits = times.sum(axis=1)
    return np.asarray(np.where(drawn_hits > 0, total / np.maximum(drawn_hits, 1), np.nan))


def resampled_ausuc(
    counts: np.ndarray,
    best_seen: np.ndarray,
    best_unseen: np.ndarray,
    critical: np.ndarray,
    y: np.ndarray,
    seen: np.ndarray,
) -> np.ndarray:
    """Return the area under the seen-unseen curve (b,) of the drawn rows.

    A class of which no row is drawn has no part in that draw; NaN where a draw has rows of one kind only.
    ``best_seen``, ``best_unseen`` and ``critical`` (m,) are the rows' :func:`zslplat.metrics.ausuc.rivals`.
    """
    order = np.argsort(critical, kind="stable")
    weight = _weights(counts, y, seen)[..., order]
    won = np.cumsum(counts[:, order] * np.where((best_unseen == y)[order], weight, 0.0), axis=1)
    lost = np.cumsum(counts[:, order] * np.where((best_seen == y)[order], weight, 0.0), axis=1)
    last = np.flatnonzero(np.r_[np.diff(critical[order]) != 0, True])
    zero = np.zeros((len(counts), 1))
    unseen_accuracy = np.hstack([zero, won[:, last]])
    seen_accuracy = lost[:, -1:] - np.hstack([zero, lost[:, last]])
    return np.asarray(np.trapezoid(seen_accuracy, unseen_accuracy, axis=1))


def _weights(counts: np.ndarray, y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the weight of a row in the mean over the classes of its kind: (m,), or (b, m) where sizes are drawn."""
    present, number, sizes = np.unique(y, return_inverse=True, return_counts=True)
    drawn = sums_by_group(counts, number)
    if np.array_equal(drawn, np.broadcast_to(sizes, drawn.shape)):
        kinds = np.where(seen, np.count_nonzero(seen[present]), np.count_nonzero(~seen[present]))
        return np.asarray(1.0 / (sizes[number] * kinds[y]))
    in_seen = seen[present]
    of_kind = [np.count_nonzero(drawn[:, kind] > 0, axis=1)[:, None] for kind in (in_seen, ~in_seen)]
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = 1.0 / (drawn * np.where(in_seen, of_kind[0], of_kind[1]))[:, number]
    weight[(of_kind[0] == 0).ravel() | (of_kind[1] == 0).ravel()] = np.nan
    return np.where(np.isinf(weight), 0.0, weight)


_SHARES = re.compile(
    r"(?:\w+_)?accuracy|per_class_top_\d+|(?:precision|recall)_at_\d+|(?:centred_)?mAP(?:_11pt)?|nmi(?:_arithmetic)?"
    r"|AUSUC|(?:calibrated_|oracle_)?H|[US]_to_[UST]|calibrated_[us]"
)


def is_share(metric: str) -> bool:
    """Tell whether a metric, by its name, is a share, or a mean of shares."""
    return _SHARES.fullmatch(metric) is not None


def margin_of(metric: str) -> float | None:
    """Return the largest difference of a metric that is of no consequence; None for a metric of any unit."""
    return MARGIN if is_share(metric) else None


def within(metric: str, estimate: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval of a metric, cut at 0 and 1 where it is a share; NaN stays.

    An estimate that is no share itself, as one in percent, says that the name means something else: nothing is cut.
    """
    if not is_share(metric) or not 0 <= estimate <= 1:
        return low, high
    return max(low, 0.0), min(high, 1.0)


def but_rounding(differences: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return differences with 0 for those that are rounding alone, measured by the values ``of`` which they are."""
    finite = np.abs(of)[np.isfinite(of)]
    return np.where(np.abs(differences) <= ROUNDING * (finite.max() if finite.size else 0.0), 0.0, differences)


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


# Names how values per class are made, here and in the ``class_values`` of the tasks; see :data:`SCHEME`.
CLASS_SCHEME = "jackknife-4"


@dataclass(frozen=True)
class ClassValues:
    """Values per class of every metric, for an interval over new classes.

    ``values`` maps a metric to (C,): the value, or pseudo-value, of each class, NaN for a class that has no say in it.
    ``kinds`` (C,) numbers the samples that the classes are drawn from (0 unseen, 1 seen), all 0 where there is one.
    The order of classes is the same for all methods that scored the same rows. ``exchanged`` maps the metrics for whose
    rows the classes compete to G + G' (C, C), what each two of them take from each other. ``names`` (C,) are the
    classes; none where it is not classes that are drawn.
    """

    values: Mapping[str, np.ndarray]
    kinds: np.ndarray
    exchanged: Mapping[str, np.ndarray] = field(default_factory=dict)
    names: np.ndarray | None = None


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


def competing(plain: ClassValues, gains: Mapping[str, np.ndarray]) -> ClassValues:
    """Return class values that count what a class costs the others; ``gains`` maps metrics to G (C, C)."""
    size = np.bincount(plain.kinds)[plain.kinds]
    corrected = dict(plain.values)
    for name, gain in gains.items():
        costs = size * gain.sum(axis=1)
        means = np.bincount(plain.kinds, weights=costs) / np.maximum(np.bincount(plain.kinds), 1)
        corrected[name] = corrected[name] - (costs - means[plain.kinds])
    return ClassValues(corrected, plain.kinds, {name: gain + gain.T for name, gain in gains.items()})


def gains_by_class(removed: np.ndarray, true: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return G (C, C) over the classes that have rows: ``gain`` (m,) of each row of class ``true`` without ``removed``.

    A class that has no rows, or whose own rows these are, takes nothing.
    """
    classes = np.unique(true)
    place = np.full(max(int(removed.max()), int(true.max())) + 1, -1)
    place[classes] = np.arange(len(classes))
    row = np.flatnonzero((gain != 0) & (removed != true) & (place[removed] >= 0))
    result = np.zeros((len(classes), len(classes)))
    np.add.at(result, (place[removed[row]], place[true[row]]), gain[row])
    return result


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


# How much of the interactions of pairs of classes is the least variance of a mean; by simulation.
_LEAST_INTERACTION = 2 / 3


def interactions(exchanged: np.ndarray) -> np.ndarray:
    """Return what pairs of classes take from each other beyond what each takes from all: the sum of squares is V_2.

    ``exchanged`` (C, C) is symmetric: how much a metric would change between two classes if neither were a candidate
    of the other's rows. The entries (C (C - 1) / 2,) are its residuals after an effect of each class.
    """
    count = len(exchanged)
    if count <= 3:
        return np.zeros(count * (count - 1) // 2)
    pairs = exchanged - np.diag(np.diag(exchanged))
    sums = pairs.sum(axis=1)
    effects = (sums - sums.sum() / (2 * (count - 1))) / (count - 2)
    residuals = pairs - effects[:, None] - effects
    return np.asarray(residuals[np.triu_indices(count, 1)] * math.sqrt((count - 1) / (count - 3)))


def without_interactions(variance: float, freedom: float, between_pairs: float) -> tuple[float, float]:
    """Return variance and degrees of freedom of a mean whose pairs of classes interact with V_2 ``between_pairs``."""
    if not (variance > 0 and between_pairs > 0):
        return variance, freedom
    reduced = max(variance - between_pairs, _LEAST_INTERACTION * between_pairs)
    return reduced, freedom * min(1.0, reduced / variance)
