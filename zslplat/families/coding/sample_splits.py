"""Splits by sample for classification: every class on both sides, groups kept together, a pure function of the seed.

Where the data set says which rows are for what, that is what is used: ``train`` and ``test``, with validation rows
(``val``) between them or without; or folds of its own, the splits ``fold-1``, ``fold-2``, ..., of which split i tests
fold i and trains on all others. Otherwise splits are drawn.

Rows with several labels are dealt to the parts of a split such that every label is shared out as the rows are:

| symbol | here | shape | meaning |
|---|---|---|---|
| | ``labels`` | (n, c) | 1 for labels that a row has, 0 for others, -1 for those not counted |
| | ``units`` | (u, c) | how many rows of every label a unit holds: a row, or a group of rows that stay together |

Iterative stratification: the label with the fewest rows left to deal goes first, each of its units to the part that
wants most of that label, then to the one that wants most rows. Source: Sechidis, Tsoumakas, Vlahavas, "On the
Stratification of Multi-Label Data" (ECML PKDD 2011), Algorithm 1.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.dataset import Dataset, row_folds
from zslplat.errors import DataError, UsageError
from zslplat.tasks.splits import hold_out_rows

Pairs = list[tuple[np.ndarray, np.ndarray]]


def split_by_sample(
    dataset: Dataset, number: int, *, share: float, per_class: int | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows of split ``number``, from 1 on.

    A data set's own ``train`` and ``test`` are split 1, with its validation rows among the training ones; of its own
    folds split i holds out fold i. Others are drawn: ``per_class`` training rows of every class, or ``share`` of them
    (rounded, at least one on each side). Raises :class:`DataError` for a class without a row to train or to score on,
    and for a further split of data that has its own.
    """
    folds = row_folds(dataset)
    if folds:
        if len(folds) < 2:
            raise DataError(
                f"{dataset.name} has one fold of its own, which leaves no row to train on; give 'fold-2' and so on, or "
                "no folds at all"
            )
        if number > len(folds):
            raise UsageError(f"{dataset.name} has {len(folds)} folds of its own; split={number} is none of them")
        held_out = folds[number - 1]
        return _checked(dataset, np.concatenate([rows for rows in folds if rows is not held_out]), held_out)
    if {"train", "test"} <= set(dataset.splits):
        if number > 1:
            raise DataError(f"{dataset.name} has its own training and test rows; split={number} has no meaning there")
        train = [dataset.rows(name) for name in ("train", "val") if name in dataset.splits]
        return _checked(dataset, np.concatenate(train), dataset.rows("test"))
    if dataset.splits:
        raise DataError(
            f"{dataset.name}: task coding needs splits 'train' and 'test', or none at all to draw its own; it has "
            f"{', '.join(dataset.splits)}"
        )
    if dataset.groups is not None and per_class is not None:
        raise DataError(f"{dataset.name} has groups, which cannot be cut to {per_class} rows; use train_share")
    if dataset.y.ndim == 2:
        if per_class is not None:
            raise DataError(
                f"{dataset.name} has several labels per row: no number of rows per class can be drawn; use train_share"
            )
        generator = np.random.default_rng([seed, 23, number])
        part = deal_rows(dataset.y, dataset.groups, np.array([share, 1 - share]), generator)
        return _checked(dataset, np.flatnonzero(part < 1), np.flatnonzero(part == 1))
    if dataset.groups is not None:
        return hold_out_rows(dataset, np.arange(len(dataset.y)), 1 - share, seed=1000 * seed + number)
    generator = np.random.default_rng([seed, 21, number])
    train_mask = np.zeros(len(dataset.y), dtype=bool)
    for label in np.unique(dataset.y):
        rows = np.flatnonzero(dataset.y == label)
        size = max(1, round(share * len(rows))) if per_class is None else per_class
        if len(rows) < 2 or (per_class is not None and size >= len(rows)):
            need = 2 if per_class is None else per_class + 1
            raise DataError(
                f"{dataset.name}: class {dataset.class_names[label]!r} has {len(rows)} rows, but needs {need} to be on "
                "both sides of a split; drop the class or train on fewer"
            )
        train_mask[generator.permutation(rows)[: min(size, len(rows) - 1)]] = True
    return np.flatnonzero(train_mask), np.flatnonzero(~train_mask)


def validation_splits(dataset: Dataset, train: np.ndarray, number: int, count: int, seed: int) -> Pairs:
    """Return pairs (rows that stay, rows held out) of data set rows, out of the training rows of split ``number``.

    A data set's own validation rows are the one pair there is. Its own folds, but for the one that is tested, stay
    whole: they are dealt to ``count`` validation folds (as many as there are, where they are fewer). Otherwise
    ``count`` folds are drawn. Raises :class:`DataError` where a fold cannot hold out anything, or would leave a class
    without a training row.
    """
    folds = row_folds(dataset)
    if "val" in dataset.splits:
        pairs = [(np.sort(dataset.rows("train")), np.sort(dataset.rows("val")))]
    elif len(folds) > 2:
        others = [rows for i, rows in enumerate(folds, start=1) if i != number]
        number_of_folds = min(count, len(others))
        held_out = [np.sort(np.concatenate(others[k::number_of_folds])) for k in range(number_of_folds)]
        pairs = [(np.setdiff1d(train, out), out) for out in held_out]
    else:
        groups = None if dataset.groups is None else dataset.groups[train]
        drawn = stratified_folds(dataset.y[train], groups, count, seed)
        pairs = [(train[stay], train[out]) for stay, out in drawn]
    for stay, out in pairs:
        _checked(dataset, stay, out)
    return pairs


def stratified_folds(y: np.ndarray, groups: np.ndarray | None, count: int, seed: int) -> Pairs:
    """Return ``count`` pairs (rows that stay, rows held out) of indices into y (n,) or (n, c); none is held out twice.

    The rows of a class are dealt to the folds in random order, starting where the class before stopped; a class with
    a single row is always trained on. Rows with several labels are dealt label by label, the rarest first. Groups stay
    together, spread over the folds as evenly as they allow. Raises :class:`DataError` where a fold cannot hold out
    anything, or would leave a class without a training row.
    """
    if y.ndim == 2:
        fold = deal_rows(y, groups, np.full(count, 1 / count), np.random.default_rng([seed, 24]))
        folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]
    elif groups is not None:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        folds = [(stay, out) for stay, out in splitter.split(np.zeros(len(y)), y, groups)]
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
    for number, (stay, out) in enumerate(folds, start=1):
        if not len(out) or not _same_classes(y[stay], y):
            raise DataError(
                f"fold {number} of {count} has no row to score, or takes all rows of a class; ask for fewer folds, or "
                "give more training rows per class"
            )
    return folds


def _same_classes(part: np.ndarray, whole: np.ndarray) -> bool:
    if whole.ndim == 2:
        return bool(np.array_equal((part == 1).any(axis=0), (whole == 1).any(axis=0)))
    return len(np.unique(part)) == len(np.unique(whole))


def _checked(dataset: Dataset, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both in ascending order; raises :class:`DataError` where one cannot be learned from or scored."""
    y = dataset.y
    if not len(train) or not len(test):
        raise DataError(f"{dataset.name}: {len(train)} rows to train on and {len(test)} to score; both are needed")
    if y.ndim == 1:
        unknown = np.setdiff1d(y[test], y[train])
        if len(unknown):
            name = dataset.class_names[unknown[0]]
            raise DataError(
                f"{dataset.name}: {len(unknown)} classes are in 'test' but not in 'train', first {name!r}: rows that "
                "are scored need training rows of their class"
            )
    else:
        for value, what in ((1, "has it"), (0, "has it not")):
            lost = np.flatnonzero(~(y[train] == value).any(axis=0))
            if len(lost):
                raise DataError(
                    f"{dataset.name}: label {dataset.class_names[lost[0]]!r}: no training row {what}, so that nothing "
                    "can be learned of it; leave the label out, or give more rows"
                )
        if not (y[test] == 1).any():
            raise DataError(f"{dataset.name}: none of the {len(test)} rows that are scored has a label")
    return np.sort(train), np.sort(test)


def deal_rows(
    labels: np.ndarray, groups: np.ndarray | None, shares: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return the part (n,) of each row, which gets about ``shares`` (p,) of the rows and of every label.

    Rows of one group go to one part. A label that only one unit has keeps that unit out of all parts, with -1, so that
    it is trained on where parts are held out.
    """
    present = labels == 1
    unit_of = np.arange(len(labels)) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    units = np.zeros((int(unit_of.max()) + 1, labels.shape[1]), dtype=np.int64)
    np.add.at(units, unit_of, present)
    rows = np.bincount(unit_of)
    part = np.full(len(units), -1, dtype=np.int64)
    alone = np.flatnonzero((units > 0).sum(axis=0) == 1)
    left = np.asarray(~(units[:, alone] > 0).any(axis=1))
    wanted_labels = shares[:, None] * units[left].sum(axis=0)[None, :].astype(np.float64)
    wanted_rows = shares * float(rows[left].sum())
    while left.any():
        remaining = ((units > 0) & left[:, None]).sum(axis=0)
        # Units without any label come last, dealt by their number of rows alone.
        label = int(np.argmin(np.where(remaining > 0, remaining, len(units) + 1))) if remaining.any() else -1
        chosen = np.flatnonzero(left & (units[:, label] > 0)) if label >= 0 else np.flatnonzero(left)
        for unit in generator.permutation(chosen):
            wish = wanted_labels[:, label] if label >= 0 else wanted_rows
            best = np.flatnonzero(wish >= wish.max() - 1e-9)
            best = best[wanted_rows[best] >= wanted_rows[best].max() - 1e-9]
            taker = int(best[generator.integers(len(best))])
            part[unit] = taker
            wanted_labels[taker] -= units[unit]
            wanted_rows[taker] -= rows[unit]
        left[chosen] = False
    return part[unit_of]
