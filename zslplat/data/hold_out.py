"""Holding out rows of classes that stay: a share of each, in whole groups where rows belong together."""

from __future__ import annotations

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError


def hold_out_rows(dataset: Dataset, rows: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide ``rows`` into those that stay and those held out, about ``share`` of every class, drawn with ``seed``.

    With ``dataset.groups`` whole groups are held out, so no group has rows on both sides: a group is taken when
    that brings the classes closer to ``share`` (in the sum of squares) and leaves every class a row to train on.

    Raises :class:`DataError` where nothing can be held out.
    """
    generator = np.random.default_rng([seed, 2])
    y = dataset.y[rows]
    groups = np.arange(len(rows)) if dataset.groups is None else dataset.groups[rows]
    held = _hold_out(y, groups, share, generator)
    if not held.any():
        raise DataError(
            f"{dataset.name}: no rows of training classes can be held out (share {share:g} of {len(rows)} rows"
            f"{'' if dataset.groups is None else ' in whole groups'}); give more rows or groups per class"
        )
    return rows[~held], rows[held]


def _hold_out(y: np.ndarray, groups: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    total = np.bincount(y)
    target, taken = share * total, np.zeros(len(total), dtype=np.int64)
    by_group = np.argsort(groups, kind="stable")
    members = np.split(by_group, np.flatnonzero(np.diff(groups[by_group])) + 1)
    held = np.zeros(len(y), dtype=bool)
    for number in generator.permutation(len(members)):
        rows = members[number]
        own = y[rows]
        classes, counts = (own, np.ones(1, dtype=np.int64)) if len(own) == 1 else np.unique(own, return_counts=True)
        before = taken[classes] - target[classes]
        closer = float(np.sum(counts * (2 * before + counts))) < 0
        if closer and bool(np.all(taken[classes] + counts < total[classes])):
            taken[classes] += counts
            held[rows] = True
    return held
