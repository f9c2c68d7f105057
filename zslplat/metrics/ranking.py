"""Average precision and precision at k of a ranking, in expectation over the order of equal scores.

| symbol | here | meaning |
|---|---|---|
| N, R | ``before``, ``relevant_before`` | items, and relevant items, ahead of a group of equal scores |
| n, r | ``size``, ``relevant_size`` | items, and relevant items, in the group |
| i | ``place`` | place inside the group, from 1 |

Equal scores have no order, so a metric of one order of them would be an accident of the file. The expectation over
all orders has closed forms: an item at place i of its group is relevant with probability r / n, and when it is, then
R + 1 + (i - 1)(r - 1)/(n - 1) relevant items are expected up to and including it. Source: McSherry, Najork, "Computing
Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores" (ECIR 2008).
Without ties these are the usual definitions, with constant scores the value of a random ranking.

What counts in the ranking of a query, and what of it is right.

| symbol | here | shape | meaning |
|---|---|---|---|
| g | | | rows of the gallery |
| q | ``queries`` | (q,) | the gallery rows that are queries |
| y | ``y`` | (g,) | class of each gallery row |
| | ``searched`` | (g,) | mask: the rows that are searched |
| | ``positive``, ``junk`` | (p, 2), (j, 2) | pairs (number of the query, gallery row) |

How well rows are ranked for every label by itself, where rows have several: average precision in two forms.

| symbol | here | shape | meaning |
|---|---|---|---|
| F, Y | ``scores``, ``labels`` | (m, c) | scores; 1 for labels that a row has, 0 for others, -1 for those not counted |
| w | ``counts`` | (b, m) | how often each row is drawn, one line per replicate |

*Average precision* is the mean of the precision at the ranks of the relevant rows, in expectation over the order of
equal scores (:mod:`zslplat.metrics.ranking`). The *11-point* form, the official measure of PASCAL VOC2007, is the mean
over the recalls 0, 0.1, ..., 1 of the highest precision at that recall or a higher one; equal scores have no order,
so that precision is read where a group of them ends. It is coarser, and larger than the other for short rankings.
Rows whose entry is not counted (VOC's "difficult") are left out of the ranking of that label. Source: Everingham et
al., "The PASCAL Visual Object Classes (VOC) Challenge" (IJCV 2010).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.metrics.intervals import resampled_average_precision


class Judgements(ABC):
    """For each of several queries the rows that are ranked, and which of them are relevant.

    ``least`` is the smallest number of rows that any query ranks. ``trapezoids``: average precision is the area under
    the precision-recall curve by trapezoids, and not the mean precision at the relevant rows.
    """

    least: int
    trapezoids = False

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of queries."""

    @abstractmethod
    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the gallery rows (m,) that a query ranks, ascending, and which of these are relevant (m,)."""


class OwnClass(Judgements):
    """A query ranks all rows but itself; those of its class are relevant."""

    def __init__(self, y: np.ndarray, queries: np.ndarray) -> None:
        self.y, self.queries, self.least = y, queries, len(y) - 1

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.queries)

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows but the query, and which are of its class."""
        query = self.queries[number]
        others = np.delete(np.arange(len(self.y)), query)
        return others, self.y[others] == self.y[query]


class Designated(Judgements):
    """A query ranks the rows that are searched, without those that are junk to it; it has positives of its own."""

    trapezoids = True

    def __init__(self, count: int, searched: np.ndarray, positive: np.ndarray, junk: np.ndarray) -> None:
        self.searched = np.asarray(searched, dtype=bool)
        self._positive, self._junk = _by_query(positive, count), _by_query(junk, count)
        self.least = int(self.searched.sum()) - max(len(rows) for rows in self._junk)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self._positive)

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what is searched without junk, and which of it is positive."""
        counts = self.searched.copy()
        counts[self._junk[number]] = False
        right = np.zeros(len(counts), dtype=bool)
        right[self._positive[number]] = True
        counted = np.flatnonzero(counts)
        return counted, right[counted]


def _by_query(pairs: np.ndarray, count: int) -> list[np.ndarray]:
    """Return the rows of each query from pairs (p, 2)."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    return np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, count)))


@dataclass(frozen=True)
class Ranking:
    """One ranking of m items: the quantities of the table above at every rank, each (m,)."""

    before: np.ndarray
    relevant_before: np.ndarray
    size: np.ndarray
    relevant_size: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, relevant: np.ndarray) -> Ranking:
        """Rank items by scores (m,), highest first; ``relevant`` (m,) is a mask."""
        # Which of equal scores comes first changes nothing below, so the sort need not be stable.
        order = np.argsort(-scores)
        descending, hits = scores[order], relevant[order].astype(np.float64)
        m = len(order)
        starts = np.flatnonzero(np.r_[True, descending[1:] != descending[:-1]])
        size = np.diff(np.r_[starts, m])
        relevant_size = np.add.reduceat(hits, starts)
        before = np.repeat(starts, size)
        return cls(
            before=before,
            relevant_before=np.repeat(np.cumsum(relevant_size) - relevant_size, size),
            size=np.repeat(size, size),
            relevant_size=np.repeat(relevant_size, size),
            place=np.arange(m) - before + 1,
        )

    def average_precision(self) -> float:
        """Return the expected average precision; NaN where nothing is relevant."""
        relevant = self.relevant_before[-1] + self.relevant_size[-1]
        if relevant == 0:
            return float("nan")
        others = (self.place - 1) * (self.relevant_size - 1) / np.maximum(self.size - 1, 1)
        hits_so_far = self.relevant_size / self.size * (self.relevant_before + 1 + others)
        return float(np.sum(hits_so_far / (self.before + self.place)) / relevant)

    def trapezoid_average_precision(self) -> float:
        """Return the expected area under the precision-recall curve by trapezoids; NaN where nothing is relevant.

        Between two relevant items recall rises by one step, over which precision is taken for the mean of its values
        before and after the second: that of the first b items (1 for none of them) and that of the first b + 1. So do
        ``compute_ap.cpp`` of the Oxford buildings and ``holidays_map.py`` of INRIA Holidays, which agree.
        """
        relevant = self.relevant_before[-1] + self.relevant_size[-1]
        if relevant == 0:
            return float("nan")
        others = (self.place - 1) * (self.relevant_size - 1) / np.maximum(self.size - 1, 1)
        hits, seen = self.relevant_before + others, self.before + self.place - 1
        before = np.where(seen > 0, hits / np.maximum(seen, 1), 1.0)
        mean = (before + (hits + 1) / (seen + 1)) / 2
        return float(np.sum(self.relevant_size / self.size * mean) / relevant)

    def precision_by_rank(self) -> np.ndarray:
        """Return the expected precision (m,) among the first 1, 2, ..., m items."""
        return np.asarray(np.cumsum(self.relevant_size / self.size) / np.arange(1, len(self.size) + 1))


def class_rankings(scores: np.ndarray, y: np.ndarray) -> list[Ranking]:
    """Rank the rows by every column of scores (m, c): class j is a query, rows with y = j are relevant."""
    return [Ranking.of(scores[:, j], y == j) for j in range(scores.shape[1])]


def centred(scores: np.ndarray) -> np.ndarray:
    """Return scores (m, c) less their mean over the candidates of each row, in float64.

    Nothing that is the same for all candidates of a row is left, such as its squared norm in minus squared distances:
    it moves the row up or down every ranking of its column, whatever its class is, and no row's own best candidate.
    """
    values = np.asarray(scores, dtype=np.float64)
    # Of a row of equal scores exactly zeros are left, which the mean alone, rounded, would not give.
    values = values - values[:, :1]
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def mean_average_precision(rankings: Sequence[Ranking]) -> float:
    """Return mAP, the mean over the rankings that have a relevant item."""
    return float(np.nanmean([ranking.average_precision() for ranking in rankings]))


@dataclass(frozen=True)
class Answers:
    """What rankings of q queries show: each (q,), but ``recall_by_rank``, the mean recall at the listed ``ranks``.

    ``ties`` is the number of queries to which all other rows are equally similar.
    """

    precision: np.ndarray
    recall_at_k: np.ndarray
    precision_at_k: np.ndarray
    nearest: np.ndarray
    score: np.ndarray
    right: np.ndarray
    ranks: np.ndarray
    recall_by_rank: np.ndarray
    ties: int

    @property
    def measures(self) -> tuple[np.ndarray, ...]:
        """Average precision, recall and precision among the first k, and whether the nearest row is right."""
        return self.precision, self.recall_at_k, self.precision_at_k, self.right


def rank_judged(scores: np.ndarray, judgements: Judgements, k: int) -> Answers:
    """Rank for every query (q, g) the rows that count, and measure one ranking at a time."""
    q, least = len(judgements), judgements.least
    average_precision = _measure(judgements)
    k = min(k, least)
    ranks = np.unique(np.geomspace(1, least, 30).astype(np.int64))
    precision, recall_at_k, precision_at_k, best = np.empty((4, q))
    nearest, right = np.empty(q, dtype=np.int64), np.empty(q, dtype=bool)
    recall_by_rank = np.zeros(len(ranks))
    ties = 0
    for i in range(q):
        judged, relevant = judgements.of(i)
        values = scores[i][judged]
        ranking = Ranking.of(values, relevant)
        by_rank = ranking.precision_by_rank()
        precision[i] = average_precision(ranking)
        precision_at_k[i] = by_rank[k - 1]
        recall_at_k[i] = by_rank[k - 1] * k / relevant.sum()
        recall_by_rank += by_rank[ranks - 1] * ranks / relevant.sum()
        place = int(np.argmax(values))
        ties += bool(values.max() == values.min())
        best[i], nearest[i], right[i] = values[place], judged[place], relevant[place]
    return Answers(precision, recall_at_k, precision_at_k, nearest, best, right, ranks, recall_by_rank / q, ties)


def random_precision(judgements: Judgements) -> float:
    """Return the mean average precision of random rankings."""
    expected: dict[tuple[int, int], float] = {}
    values = []
    for number in range(len(judgements)):
        judged, relevant = judgements.of(number)
        size = len(judged), int(relevant.sum())
        if size not in expected:
            expected[size] = _measure(judgements)(Ranking.of(np.zeros(size[0]), np.arange(size[0]) < size[1]))
        values.append(expected[size])
    return float(np.mean(values))


def _measure(judgements: Judgements) -> Callable[[Ranking], float]:
    return Ranking.trapezoid_average_precision if judgements.trapezoids else Ranking.average_precision


POINTS = 11
_RANDOM_RANKINGS = 200


def average_precisions(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the average precision (c,) of every label; NaN for one that no counted row has."""
    return np.array([Ranking.of(*_counted(scores, labels, j)).average_precision() for j in range(labels.shape[1])])


def eleven_point_precisions(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the 11-point interpolated average precision (c,) of every label; NaN for one that no counted row has."""
    return np.array([_eleven_points(*_counted(scores, labels, j)) for j in range(labels.shape[1])])


def chance_precisions(labels: np.ndarray, *, eleven_point: bool = False) -> np.ndarray:
    """Return what a random ranking reaches for every label (c,), which nears the label's prevalence with many rows.

    Exact for the average precision; for the 11-point form the mean of 200 random rankings, always the same.
    """
    precisions = []
    for j in range(labels.shape[1]):
        _, relevant = _counted(np.zeros(labels.shape), labels, j)
        if not relevant.any():
            precisions.append(np.nan)
        elif eleven_point:
            rng = np.random.default_rng([29, len(relevant), int(relevant.sum())])
            drawn = (rng.random(len(relevant)) for _ in range(_RANDOM_RANKINGS))
            precisions.append(float(np.mean([_eleven_points(scores, relevant) for scores in drawn])))
        else:
            precisions.append(Ranking.of(np.zeros(len(relevant)), relevant).average_precision())
    return np.array(precisions)


def mean_of_labels(values: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis, labels without a value (NaN) left out; NaN where none has one."""
    has = np.isfinite(values)
    total = np.where(has, values, 0.0).sum(axis=-1)
    return np.asarray(np.where(has.any(axis=-1), total / np.maximum(has.sum(axis=-1), 1), np.nan))


def places(scores: np.ndarray) -> np.ndarray:
    """Return the place (m, c) of every row in the ranking of every label, from 0 on; equal scores share a place."""
    ranks = np.empty(scores.shape, dtype=np.int32)
    for j in range(scores.shape[1]):
        ranks[:, j] = np.unique(-scores[:, j], return_inverse=True)[1].reshape(-1)
    return ranks


def resampled_precisions(counts: np.ndarray, ranked: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both forms (b, c) of the drawn rows, which lie at the places ``ranked`` (m, c); NaN without a positive."""
    area, eleven = np.full((2, len(counts), labels.shape[1]), np.nan)
    for j in range(labels.shape[1]):
        counted = np.flatnonzero(labels[:, j] >= 0)
        drawn, place, relevant = counts[:, counted], ranked[counted, j], labels[counted, j] == 1
        has = drawn[:, relevant].sum(axis=1) > 0
        if has.any():
            area[has, j] = resampled_average_precision(drawn[has], -place.astype(np.float64), relevant)
            eleven[has, j] = _resampled_eleven_points(drawn[has], place, relevant)
    return area, eleven


def _counted(scores: np.ndarray, labels: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    counted = labels[:, j] >= 0
    return scores[counted, j], labels[counted, j] == 1


def _eleven_points(scores: np.ndarray, relevant: np.ndarray) -> float:
    if not relevant.any():
        return float("nan")
    place = np.unique(-scores, return_inverse=True)[1].reshape(-1)
    return float(_resampled_eleven_points(np.ones((1, len(scores)), dtype=np.int64), place, relevant)[0])


def _resampled_eleven_points(counts: np.ndarray, place: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the 11-point form (b,) of drawn rows, a relevant one in every draw; ``place`` (m,) is the ranking."""
    order = np.argsort(place, kind="stable")
    ends = np.flatnonzero(np.r_[np.diff(place[order]) != 0, True])
    drawn = counts[:, order]
    every = np.cumsum(drawn, axis=1)[:, ends]
    hits = np.cumsum(np.where(relevant[order], drawn, 0), axis=1)[:, ends]
    best = np.maximum.accumulate((hits / np.maximum(every, 1))[:, ::-1], axis=1)[:, ::-1]
    total = np.zeros(len(counts))
    for point in range(POINTS):
        # Recall hits / all >= point / 10, in whole numbers, so that no recall is missed by rounding.
        first = (hits * (POINTS - 1) < point * hits[:, -1:]).sum(axis=1)
        total += best[np.arange(len(counts)), first]
    return np.asarray(total / POINTS)
