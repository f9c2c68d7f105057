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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RankedItems:
    """What the formulas need, for every rank (m,) of one ranking."""

    before: np.ndarray
    relevant_before: np.ndarray
    size: np.ndarray
    relevant_size: np.ndarray
    place: np.ndarray


def ranked(scores: np.ndarray, relevant: np.ndarray) -> RankedItems:
    """Rank items by scores (m,), highest first; ``relevant`` (m,) is a mask."""
    order = np.argsort(-scores, kind="stable")
    descending, hits = scores[order], relevant[order].astype(np.float64)
    m = len(order)
    starts = np.flatnonzero(np.r_[True, descending[1:] != descending[:-1]])
    size = np.diff(np.r_[starts, m])
    relevant_size = np.add.reduceat(hits, starts)
    relevant_before = np.cumsum(relevant_size) - relevant_size
    return RankedItems(
        before=np.repeat(starts, size),
        relevant_before=np.repeat(relevant_before, size),
        size=np.repeat(size, size),
        relevant_size=np.repeat(relevant_size, size),
        place=np.arange(m) - np.repeat(starts, size) + 1,
    )


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Return the expected average precision; NaN where nothing is relevant."""
    items = ranked(scores, relevant)
    if not relevant.any():
        return float("nan")
    others = (items.place - 1) * (items.relevant_size - 1) / np.maximum(items.size - 1, 1)
    hits_so_far = items.relevant_size / items.size * (items.relevant_before + 1 + others)
    return float(np.sum(hits_so_far / (items.before + items.place)) / np.count_nonzero(relevant))


def precision_by_rank(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the expected precision (m,) among the first 1, 2, ..., m items."""
    items = ranked(scores, relevant)
    return np.asarray(np.cumsum(items.relevant_size / items.size) / np.arange(1, len(scores) + 1))


def average_precisions(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the average precision (c,) of every column of scores (m, c): class j as a query for rows with y = j."""
    return np.array([average_precision(scores[:, j], y == j) for j in range(scores.shape[1])])


def mean_average_precision(scores: np.ndarray, y: np.ndarray) -> float:
    """Return mAP, the mean over the classes that occur in ``y``."""
    return float(np.nanmean(average_precisions(scores, y)))
