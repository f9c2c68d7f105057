"""Splits by sample for classification: every class on both sides, groups kept together, a pure function of the seed."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError
from zslplat.tasks.splits import hold_out_rows


def split_by_sample(
    dataset: Dataset, number: int, *, share: float, per_class: int | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows of split ``number``, from 1 on.

    A data set's own ``train`` and ``test`` are split 1. Others are drawn: ``per_class`` training rows of every class,
    or ``share`` of them (rounded, at least one on each side). Raises :class:`DataError` for several labels per row,
    for a class without a row to train or to score on, and for a further split of data that has its own.
    """
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: task coding takes one class per row, got labels of shape {dataset.y.shape}")
    if {"train", "test"} <= set(dataset.splits):
        if number > 1:
            raise DataError(f"{dataset.name} has its own training and test rows; split={number} has no meaning there")
        train, test = dataset.rows("train"), dataset.rows("test")
        unknown = np.setdiff1d(dataset.y[test], dataset.y[train])
        if len(unknown):
            name = dataset.class_names[unknown[0]]
            raise DataError(f"{dataset.name}: {len(unknown)} classes are in 'test' but not in 'train', first {name!r}")
        return np.sort(train), np.sort(test)
    if dataset.splits:
        raise DataError(
            f"{dataset.name}: task coding needs splits 'train' and 'test', or none at all to draw its own; it has "
            f"{', '.join(dataset.splits)}"
        )
    if dataset.groups is not None:
        if per_class is not None:
            raise DataError(f"{dataset.name} has groups, which cannot be cut to {per_class} rows; use train_share")
        return hold_out_rows(dataset, np.arange(len(dataset.y)), 1 - share, seed=1000 * seed + number)
    generator = np.random.default_rng([seed, 21, number])
    train = np.zeros(len(dataset.y), dtype=bool)
    for label in np.unique(dataset.y):
        rows = np.flatnonzero(dataset.y == label)
        wanted = max(1, round(share * len(rows))) if per_class is None else per_class
        if len(rows) < 2 or (per_class is not None and wanted >= len(rows)):
            need = 2 if per_class is None else per_class + 1
            raise DataError(
                f"{dataset.name}: class {dataset.class_names[label]!r} has {len(rows)} rows, but needs {need} to be on "
                "both sides of a split; drop the class or train on fewer"
            )
        train[generator.permutation(rows)[: min(wanted, len(rows) - 1)]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)


def stratified_folds(
    y: np.ndarray, groups: np.ndarray | None, count: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ``count`` pairs (rows that stay, rows held out) of indices into y (n,); no row is held out twice.

    The rows of a class are dealt to the folds in random order, starting where the class before stopped; a class with
    a single row is always trained on. Groups stay together, spread over the folds as evenly as they allow. Raises
    :class:`DataError` where a fold cannot hold out anything, or would leave a class without a training row.
    """
    if groups is not None:
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        folds = [(stay, held) for stay, held in splitter.split(np.zeros(len(y)), y, groups)]
    else:
        generator = np.random.default_rng([seed, 22])
        fold = np.full(len(y), -1, dtype=np.int64)
        position = 0
        for label in np.unique(y):
            rows = np.flatnonzero(y == label)
            if len(rows) > 1:
                fold[generator.permutation(rows)] = (position + np.arange(len(rows))) % count
                position += len(rows)
        folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]
    for number, (stay, held) in enumerate(folds, start=1):
        if not len(held) or len(np.unique(y[stay])) < len(np.unique(y)):
            raise DataError(
                f"fold {number} of {count} has no row to score, or takes all rows of a class; ask for fewer folds, or "
                "give more training rows per class"
            )
    return folds
