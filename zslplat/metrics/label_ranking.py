"""How well rows are ranked for every label by itself, where rows have several: average precision in two forms.

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

import numpy as np

from zslplat.metrics.ranking import Ranking
from zslplat.metrics.resampling import resampled_average_precision

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
