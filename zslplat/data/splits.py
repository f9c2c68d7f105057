"""Which rows belong to which split, in the forms that files have: names, masks, indices, validation by class.

Labels and row indices become 0-based int64. Files count from 1 or from 0, in any integer, unsigned or floating type.
The cast to int64 comes first: subtracting in an unsigned type would turn an illegal 0 into the largest number instead
of an error.

Every sentence that is added to ``notes`` says what was taken for what.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset
from zslplat.errors import DataError, near_names
from zslplat.spec import Spec


def class_ids(values: np.ndarray, where: str, *, base: int) -> np.ndarray:
    """Return numeric labels that count from ``base`` as 0-based class ids (n,)."""
    ids = whole_numbers(values, where)
    if len(ids) and ids.min() < base:
        raise DataError(f"{where}: smallest label is {ids.min()}, but labels count from {base}")
    return ids - base


def mask_of(values: np.ndarray, rows: int) -> np.ndarray | None:
    """Return values as a mask (rows,) of truth values where they are one, None where they are not.

    Numbers 1 and 0 and texts true and false are truth values. More than two rows have no indices of only 1 and 0.
    """
    flat = values.reshape(-1) if values.ndim == 2 and 1 in values.shape else values
    if flat.shape != (rows,) or flat.dtype.kind not in "biufU" or (rows <= 2 and flat.dtype != bool):
        return None
    if flat.dtype.kind == "U":
        flat = np.char.lower(np.char.strip(flat))
        return flat == "true" if np.isin(flat, ("true", "false")).all() else None
    return flat == 1 if np.isin(flat, (0, 1)).all() else None


def row_indices(values: np.ndarray, rows: int, where: str, *, base: int) -> np.ndarray:
    """Return indices that count from ``base``, or a mask (rows,), as 0-based row indices in the same order.

    Raises :class:`DataError` when they are no whole numbers, empty, leave the rows, or name a row twice.
    """
    mask = mask_of(values, rows)
    if mask is not None:
        values, base = np.flatnonzero(mask), 0
    elif values.dtype == bool:
        raise DataError(f"{where}: a mask of shape {values.shape} for {rows} rows; expected ({rows},)")
    index = whole_numbers(values.reshape(-1) if values.ndim == 2 and 1 in values.shape else values, where)
    if len(index) == 0:
        raise DataError(f"{where}: holds no row; give the rows, or leave it out")
    if len(index) > 2 and np.isin(index, (-1, 0, 1)).all():
        raise DataError(
            f"{where}: {len(index)} entries of {', '.join(map(str, np.unique(index)))}; a mask has one for each of the "
            f"{rows} rows, 1 or 0, and indices name no row twice"
        )
    if index.min() < base or index.max() >= rows + base:
        raise DataError(
            f"{where}: indices run from {index.min()} to {index.max()} but the {rows} rows count from {base} to "
            f"{rows + base - 1}"
        )
    index = index - base
    taken = np.bincount(index, minlength=rows)
    if taken.max() > 1:
        raise DataError(f"{where}: row {int(np.argmax(taken > 1)) + base} is listed more than once")
    return index


def whole_numbers(values: np.ndarray, where: str) -> np.ndarray:
    """Return a vector of whole numbers of any numeric type as int64; raises :class:`DataError` for anything else."""
    values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise DataError(f"{where}: expected a vector of whole numbers, got {values.dtype} {values.shape}")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError(f"{where}: holds NaN or infinity; expected whole numbers")
        if (values != np.rint(values)).any():
            raise DataError(f"{where}: {values[values != np.rint(values)][0]} is no whole number")
    return np.ascontiguousarray(values.astype(np.int64))


SPLITS = ("train", "test_seen", "test_unseen", "test")

# Validation rows: of data for classification; of zero-shot data, rows of classes that nothing else trains on.
VALIDATION = "val"

OF_ROWS = (*SPLITS, VALIDATION)

_DRAWN = 43  # seed of classes that are unseen by their number alone

_OWN_FOLD = re.compile(r"fold-([1-9]\d*)")

_SPELLINGS = {
    **{name: "train" for name in ("training", "trainval")},
    **{name: VALIDATION for name in ("validation", "valid", "dev")},
    "testing": "test",
}


def split_of(name: str) -> str:
    """Return the split that a name means in any spelling (``Train``, ``validation``); other names as they are."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    plain = _SPELLINGS.get(plain, plain)
    return plain if plain in OF_ROWS else name.strip()


def splits_from_names(names: Sequence[str], where: str, notes: list[str]) -> dict[str, np.ndarray]:
    """Return the rows of each split from one name per row, empty for rows of none; raises DataError for other names."""
    cells = np.array(names, dtype=np.str_)
    meanings = {cell: split_of(cell) for cell in sorted(set(cells.tolist()) - {""})}
    for cell, split in meanings.items():
        if split != cell:
            notes.append(f"split {cell!r} is taken for {split}")
        if split in SPLITS or split == VALIDATION or _OWN_FOLD.fullmatch(split):
            continue
        near = near_names(split, SPLITS, most=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(SPLITS)}, {VALIDATION}, fold-1 or nothing"
        raise DataError(f"{where}: unknown split {cell!r}; {hint}")
    splits = sorted(set(meanings.values()), key=place_of_split)
    numbered = [split for split in splits if _OWN_FOLD.fullmatch(split)]
    if numbered and numbered != [f"fold-{number}" for number in range(1, len(numbered) + 1)]:
        raise DataError(f"{where}: the folds are {', '.join(numbered)}; number them from 1 on without a gap")
    return {
        split: np.flatnonzero(np.isin(cells, [cell for cell, meaning in meanings.items() if meaning == split]))
        for split in splits
    }


def splits_of_parts(parts: Sequence[tuple[str, int]], where: str, notes: list[str]) -> dict[str, np.ndarray]:
    """Return the splits that the names of files say, none where fewer than two splits have a file of their name.

    ``parts`` are (name, number of rows) of the files, whose rows follow each other. Raises :class:`DataError` where
    only some are called after splits.
    """
    meanings = [split_of(re.split(r"[-.\d]", name)[0].rstrip("_")) for name, _ in parts]
    named = [name for (name, _), split in zip(parts, meanings, strict=True) if split in OF_ROWS]
    if len(set(meanings) & set(OF_ROWS)) < 2:
        return {}
    if len(named) < len(parts):
        other = next(name for name, _ in parts if name not in named)
        raise DataError(
            f"{where}: {named[0]} is named after a split, and {other} after none; name every file after its split, or "
            "give split=none where they are parts of one table"
        )
    pairs = list(dict.fromkeys(f"{name} for {split}" for (name, _), split in zip(parts, meanings, strict=True)))
    shown = ", ".join(pairs[:4]) + (", ..." if len(pairs) > 4 else "")
    notes.append(f"files are taken for the splits that their names begin with: {shown}")
    return splits_from_names(np.repeat(meanings, [rows for _, rows in parts]).tolist(), where, [])


def number_of_first_row(vectors: Mapping[str, np.ndarray], rows: int, where: str, notes: list[str]) -> int:
    """Return whether index vectors, by their names, count rows from 0 or from 1; masks among them say nothing.

    The number 0 leaves only 0, the number ``rows`` only 1. Raises :class:`DataError` where neither is among them.
    """
    indices = {name: one for name, one in vectors.items() if one.dtype.kind in "iuf" and mask_of(one, rows) is None}
    for base, bound in ((0, 0), (1, rows)):
        if any((one == bound).any() for one in indices.values()):
            notes.append(f"{', '.join(indices)}: count rows from {base}; of {rows} rows one is number {bound}")
            return base
    specs = [shlex.quote(str(Spec(where, {"index_base": base}))) for base in (0, 1)]
    raise DataError(
        f"{where}: {', '.join(indices)} may count rows from 0, or from 1 as the published MATLAB files do; say which: "
        f"--dataset {' or --dataset '.join(specs)}"
    )


def rows_of_splits(
    splits: Mapping[str, np.ndarray], rows: int, where: str, base: int, notes: list[str]
) -> dict[str, np.ndarray]:
    """Return the row indices of splits that are indices counting from ``base``, or masks of 1 and 0, true and false."""
    indices = {}
    for name in sorted(splits, key=place_of_split):
        values = np.asarray(splits[name])
        if values.dtype != bool and mask_of(values, rows) is not None:
            two = " and ".join(sorted({str(value) for value in values.reshape(-1).tolist()}))
            notes.append(f"{name}: {rows} entries of {two} are taken for a mask of the rows")
        indices[name] = row_indices(values, rows, f"{where}, {name}", base=base)
    return indices


def place_of_split(name: str) -> tuple[int, int]:
    """Return the place of a split among others: the usual ones first, folds by number."""
    fold = _OWN_FOLD.fullmatch(name)
    if fold:
        return len(SPLITS) + 1, int(fold[1])
    return (SPLITS.index(name) if name in SPLITS else len(SPLITS)), 0


def folds_by_row(splits: Mapping[str, np.ndarray]) -> list[str]:
    """Return the names of the splits that are folds of cross-validation."""
    return [name for name in splits if _OWN_FOLD.fullmatch(name)]


def splits_of_unseen(
    unseen: Any,
    y: np.ndarray,
    class_names: Sequence[str],
    splits: Mapping[str, np.ndarray],
    where: str,
    base: int,
    notes: list[str],
) -> dict[str, np.ndarray]:
    """Return the splits of classes that are tested and never train, while the rows of all others do.

    ``unseen``: names as ``a+b`` or in a list, numbers from ``base`` on in a list, how many, or a share below 1; classes
    that are only counted are drawn, always alike. Raises :class:`DataError` for a class that is not there.
    """
    if splits:
        raise DataError(f"{where}: unseen and {next(iter(splits))} both say which classes are tested; leave one out")
    if y.ndim != 1:
        raise DataError(f"{where}: unseen names classes, and rows have several labels; say with split what is tested")
    present = np.unique(y)
    if isinstance(unseen, int | float | np.integer | np.floating):
        count = round(unseen * len(present) if unseen < 1 else unseen)
        if not 0 < count < len(present) or (unseen >= 1 and count != unseen):
            raise DataError(
                f"{where}: unseen={unseen} of {len(present)} classes; give names, a count below {len(present)}, or a "
                "share between 0 and 1"
            )
        chosen = np.sort(np.random.default_rng(_DRAWN).permutation(present)[:count])
        notes.append(f"unseen={unseen}: drawn are {', '.join(class_names[label] for label in chosen)}")
    else:
        listed = [unseen] if isinstance(unseen, str) and unseen in class_names else unseen
        listed = listed.split("+") if isinstance(listed, str) else listed
        if not len(listed):
            return {}
        chosen = np.array([_class_of(one, class_names, where, base) for one in listed], dtype=np.int64)
    lost = np.setdiff1d(chosen, present)
    if len(lost):
        raise DataError(f"{where}: unseen names class {class_names[lost[0]]!r}, of which there is no row")
    tested = np.isin(y, chosen)
    return {"train": np.flatnonzero(~tested), "test_unseen": np.flatnonzero(tested)}


def _class_of(one: Any, class_names: Sequence[str], where: str, base: int) -> int:
    name = str(one).strip()
    if name in class_names:
        return list(class_names).index(name)
    if isinstance(one, int | np.integer) and 0 <= one - base < len(class_names):
        return int(one) - base
    near = near_names(name, class_names, most=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"the classes are {', '.join(class_names[:5])}, ..."
    raise DataError(f"{where}: unseen names class {name!r}, which has no name, signature or row; {hint}")


def complete_splits(splits: dict[str, np.ndarray], y: np.ndarray, notes: list[str], *, zero_shot: bool) -> None:
    """Say of test rows whether their classes are seen, and where only training rows are named, take the others.

    ``zero_shot``: there are signatures, and one label per row. Rows called ``test`` are of unseen classes where none of
    their classes trains, and are divided by class where some do; where all do they stay what they are, test rows of a
    classification.
    """
    if zero_shot and not splits:
        notes.append(
            "no splits: zero-shot tasks need to be told which rows train and which are tested (docs/formats.md)"
        )
    if set(splits) == {"train"}:
        rest = np.setdiff1d(np.arange(len(y)), splits["train"])
        seen = np.isin(y[rest], y[splits["train"]]) if zero_shot else np.zeros(len(rest), dtype=bool)
        parts = {"test_seen": rest[seen], "test_unseen": rest[~seen]} if zero_shot else {"test": rest}
        reason = "only training rows are named"
    elif zero_shot and {"train", "test"} <= set(splits) and not {"test_seen", "test_unseen"} & set(splits):
        rows = splits["test"]
        seen = np.isin(y[rows], y[splits["train"]])
        if seen.all():
            notes.append(
                "test: all of its classes train, so it stays a test split of classification; zero-shot tasks need "
                "test_unseen, rows of classes that do not train"
            )
            return
        del splits["test"]
        parts = {"test_seen": rows[seen], "test_unseen": rows[~seen]}
        trained = "some of its classes train" if seen.any() else "none of its classes trains"
        reason = f"test: {trained}"
    else:
        return
    parts = {name: rows for name, rows in parts.items() if len(rows)}
    splits.update(parts)
    if parts:
        counts = " and ".join(f"{len(rows)} rows are taken for {name}" for name, rows in parts.items())
        notes.append(f"{reason}: {counts}")


def validation_fold(
    splits: dict[str, np.ndarray], y: np.ndarray, class_names: Sequence[str], where: str, notes: list[str]
) -> ClassFold:
    """Return the fold that holds out the classes of the rows called ``val``, which then train for the test.

    ``splits`` is changed: ``train`` holds these rows, too. Raises :class:`DataError` where a class of ``val`` has other
    training rows, or is tested.
    """
    held_out = splits.pop(VALIDATION)
    if "train" not in splits:
        raise DataError(f"{where}: val without train; name the training rows, or leave val out with val=none")
    train = np.setdiff1d(splits["train"], held_out) if np.isin(held_out, splits["train"]).all() else splits["train"]
    classes, trained = np.unique(y[held_out]), np.unique(y[train])
    tested = {name: np.unique(y[rows]) for name, rows in splits.items() if name != "train"}
    for other, labels in {"train": trained, **tested}.items():
        both = np.intersect1d(classes, labels)
        if len(both):
            raise DataError(
                f"{where}: {len(both)} of {len(classes)} classes are both in val and in {other}, first "
                f"{class_names[both[0]]}; zero-shot validation holds out whole classes; call these rows train, or "
                "leave them out with val=none"
            )
    for side, labels in (("train", trained), (VALIDATION, classes)):
        if len(labels) < 2:
            raise DataError(
                f"{where}: {side} has {len(labels)} class; a validation fold needs at least 2 on each side; leave the "
                "rows of val out with val=none, or call them train: folds are then drawn"
            )
    splits["train"] = np.union1d(train, held_out)
    notes.append(
        f"val: its {len(classes)} classes have no other training rows, so they are taken for the validation classes of "
        f"a fold; for the test, its {len(held_out)} rows train"
    )
    return ClassFold("fold-1", tuple(trained.tolist()), tuple(classes.tolist()))


def hold_out_rows(dataset: Dataset, rows: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide ``rows`` into those that stay and those held out, about ``share`` of every class, drawn with ``seed``.

    With ``dataset.groups`` whole groups are held out, so no group has rows on both sides: a group is taken when
    that brings the classes closer to ``share`` (in the sum of squares) and leaves every class a row to train on.

    Raises :class:`DataError` where nothing can be held out.
    """
    generator = np.random.default_rng([seed, 2])
    y = dataset.y[rows]
    groups = np.arange(len(rows)) if dataset.groups is None else dataset.groups[rows]
    held_out = _hold_out(y, groups, share, generator)
    if not held_out.any():
        raise DataError(
            f"{dataset.name}: no rows of training classes can be held out (share {share:g} of {len(rows)} rows"
            f"{'' if dataset.groups is None else ' in whole groups'}); give more rows or groups per class"
        )
    return rows[~held_out], rows[held_out]


def _hold_out(y: np.ndarray, groups: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    total = np.bincount(y)
    target, taken = share * total, np.zeros(len(total), dtype=np.int64)
    by_group = np.argsort(groups, kind="stable")
    members = np.split(by_group, np.flatnonzero(np.diff(groups[by_group])) + 1)
    held_out = np.zeros(len(y), dtype=bool)
    for number in generator.permutation(len(members)):
        rows = members[number]
        labels = y[rows]
        classes, counts = (
            (labels, np.ones(1, dtype=np.int64)) if len(labels) == 1 else np.unique(labels, return_counts=True)
        )
        before = taken[classes] - target[classes]
        closer = float(np.sum(counts * (2 * before + counts))) < 0
        if closer and bool(np.all(taken[classes] + counts < total[classes])):
            taken[classes] += counts
            held_out[rows] = True
    return held_out
