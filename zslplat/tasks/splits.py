"""Which rows and classes a zero-shot problem trains on, and which it scores: validation by class, never by test row.

Everything here reads the labels of the ``train`` split only.
"""

from __future__ import annotations

import math

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset
from zslplat.errors import DataError, UsageError

DRAWN_FOLDS = 3


def split_rows(dataset: Dataset, split: str, purpose: str) -> np.ndarray:
    """Return the rows of a split; raises :class:`DataError` where it is missing or empty, or labels are not single."""
    if dataset.y.ndim != 1:
        raise DataError(
            f"{dataset.name}: zero-shot tasks need one class per row, got labels of shape {dataset.y.shape}"
        )
    if split not in dataset.splits or len(dataset.splits[split]) == 0:
        known = ", ".join(dataset.splits) or "none"
        raise DataError(f"{dataset.name} has no split {split!r}, which {purpose} needs; its splits: {known}")
    return dataset.rows(split)


def class_folds(dataset: Dataset, rows: np.ndarray, count: int | None, share: float, seed: int) -> list[ClassFold]:
    """Return class-disjoint folds over the classes of the training ``rows``.

    The data set's own folds come first, restricted to those classes (the first ``count`` of them, all for None).
    Where it has none, ``count`` folds (3 for None) are drawn with ``seed``: each holds out ``share`` of the classes,
    rounded up, at least two; validation classes of different folds are disjoint as long as there are classes left.

    Raises :class:`DataError` for a fold with fewer than two training or two validation classes.
    """
    classes = np.unique(dataset.y[rows])
    if dataset.folds:
        if count is not None and count > len(dataset.folds):
            raise UsageError(
                f"folds={count} asked, but {dataset.name} has {len(dataset.folds)} folds of its own; ask for fewer"
            )
        present = set(classes.tolist())
        folds = [
            ClassFold(
                fold.name,
                tuple(sorted(present.intersection(fold.train))),
                tuple(sorted(present.intersection(fold.validation))),
            )
            for fold in dataset.folds[:count]
        ]
    else:
        folds = _drawn_folds(classes, DRAWN_FOLDS if count is None else count, share, seed)
    for fold in folds:
        for role, members in (("training", fold.train), ("validation", fold.validation)):
            if len(members) < 2:
                raise DataError(
                    f"{dataset.name}, fold {fold.name!r}: {len(members)} {role} classes with rows in 'train'; "
                    "a fold needs at least two, so give other folds or more classes"
                )
    return folds


def _drawn_folds(classes: np.ndarray, count: int, share: float, seed: int) -> list[ClassFold]:
    c = len(classes)
    # Rounded first: 0.2 * 15 is a little above 3 in floating point, and must not become 4 classes.
    size = max(2, math.ceil(round(share * c, 9)))
    order = np.random.default_rng([seed, 1]).permutation(classes)
    folds = []
    for k in range(count):
        held = {int(order[(k * size + j) % c]) for j in range(min(size, c))}
        rest = [int(i) for i in classes if int(i) not in held]
        folds.append(ClassFold(f"drawn-{k + 1}", tuple(rest), tuple(sorted(held))))
    return folds


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


def fold_rows(dataset: Dataset, rows: np.ndarray, fold: ClassFold) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a fold's training classes and of its validation classes, out of the training ``rows``.

    Training rows that share a group with a validation row are left out, so that rows which belong together are never
    on both sides. Raises :class:`DataError` where that leaves a training class without rows.
    """
    y = dataset.y[rows]
    train, validation = rows[np.isin(y, fold.train)], rows[np.isin(y, fold.validation)]
    if dataset.groups is None:
        return train, validation
    kept = train[~np.isin(dataset.groups[train], dataset.groups[validation])]
    lost = set(fold.train) - set(dataset.y[kept].tolist())
    if lost:
        raise DataError(
            f"{dataset.name}, fold {fold.name!r}: {len(lost)} training classes share all their groups with validation "
            f"rows, first {dataset.class_names[min(lost)]!r}; give folds whose classes do not share groups"
        )
    return kept, validation
