"""Other seen/unseen splits of a data set than its own: drawn at random, or every pair of classes as the seen ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError, UsageError


def with_drawn_classes(dataset: Dataset, share: float | None, draw: int) -> Dataset:
    """Return the data set with ``share`` of its classes, drawn with ``draw``, as the seen ones.

    Without ``share``, as many as its own split has (0.8 of them where it has none). Its own folds go with its split.
    """
    classes = _classes(dataset)
    if share is None:
        trained = np.unique(dataset.y[dataset.splits["train"]]) if "train" in dataset.splits else classes[:0]
        count = len(trained) or math.ceil(0.8 * len(classes))
    else:
        count = max(1, round(share * len(classes)))
    if not 1 <= count < len(classes):
        raise DataError(f"{dataset.name}: {count} of {len(classes)} classes seen leaves none unseen; lower seen_share")
    chosen = np.random.default_rng([draw, 8]).permutation(classes)[:count]
    return _split_by(dataset, np.sort(chosen))


def with_seen_pair(dataset: Dataset, draw: int) -> Dataset:
    """Return the data set with two seen classes: pair number ``draw`` (from 1) of all pairs in the order of the ids."""
    classes, pairs = _classes(dataset), number_of_pairs(dataset)
    if draw > pairs:
        raise UsageError(f"draw={draw}: {dataset.name} has {pairs} pairs of {len(classes)} classes; give 1..{pairs}")
    pair = next(itertools.islice(itertools.combinations(classes, 2), draw - 1, None))
    return _split_by(dataset, np.asarray(pair))


def number_of_pairs(dataset: Dataset) -> int:
    """Return how many pairs of classes there are."""
    return math.comb(len(_classes(dataset)), 2)


def _classes(dataset: Dataset) -> np.ndarray:
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: feature selection needs one class per row, got labels {dataset.y.shape}")
    return np.unique(dataset.y)


def _split_by(dataset: Dataset, seen: np.ndarray) -> Dataset:
    is_seen = np.isin(dataset.y, seen)
    splits = {"train": np.flatnonzero(is_seen), "test_unseen": np.flatnonzero(~is_seen)}
    # The arrays were checked when the data set was made; a known fingerprint leaves that out here.
    return replace(
        dataset, splits=splits, folds=(), groups=None, made_of=None, known_fingerprint=dataset.known_fingerprint or "-"
    )
