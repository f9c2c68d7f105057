"""Lists of classes beside the files of a data set: validation folds, and whether they agree with the splits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from zslplat.data.dataset import ClassFold
from zslplat.data.splits import whole_numbers
from zslplat.errors import DataError
from zslplat.names import counted

# What the lists of a fold are called, before its number.
SIDES = ("trainclasses", "valclasses")

_NO_ROWS = np.array([], dtype=np.int64)


def folds_from_lists(folder: Path, class_names: Sequence[str], seen: np.ndarray) -> tuple[ClassFold, ...]:
    """Read ``trainclasses<i>.txt`` and ``valclasses<i>.txt``, i = 1, 2, ..., restricted to the seen classes.

    ``seen`` are the ids of the classes with training rows. Under another split than the lists were made for, a seen
    class may be in neither list of a fold; it then stays on the training side of it.
    """
    is_seen = set(seen.tolist())
    folds = []
    for number, paths in enumerate(class_lists(folder), start=1):
        train, validation = (set(read_class_list(path, class_names)) & is_seen for path in paths)
        train |= is_seen - validation
        folds.append(_make_fold(f"fold-{number}", train, validation, class_names, str(paths[1])))
    return tuple(folds)


def class_lists(folder: Path) -> list[tuple[Path, Path]]:
    """Return the paths of ``trainclasses<i>.txt`` and ``valclasses<i>.txt`` of each fold i = 1, 2, ...

    Raises :class:`DataError` where a fold has one of them only, or a number is left out.
    """
    numbers = [
        {int(match[1]) for path in folder.glob("*.txt") if (match := re.fullmatch(rf"{side}(\d+)\.txt", path.name))}
        for side in SIDES
    ]
    count = len(numbers[0] | numbers[1])
    paths = [(folder / f"{SIDES[0]}{i}.txt", folder / f"{SIDES[1]}{i}.txt") for i in range(1, count + 1)]
    missing = next((path for pair in paths for path in pair if not path.is_file()), None)
    if missing is not None:
        raise DataError(
            f"{folder}: there are class lists of {count} folds, but no {missing.name}; add it, take away the lists of "
            "folds that are not meant, or set folds=rows or folds=none"
        )
    return paths


def folds_from_rows(
    path: Path,
    y: np.ndarray,
    train: np.ndarray,
    train_side: np.ndarray,
    validation_side: np.ndarray,
    class_names: Sequence[str],
) -> tuple[ClassFold, ...]:
    """Make one fold of the classes of two sets of rows, each restricted to the training rows ``train``.

    Rows outside ``train`` are ignored: the published ``train_loc`` and ``val_loc`` also cover ``test_seen_loc``.
    """
    inside = np.zeros(len(y), dtype=bool)
    inside[train] = True
    sides = [set(y[rows[inside[rows]]].tolist()) for rows in (train_side, validation_side)]
    names = class_names or tuple(str(label + 1) for label in range(int(y.max()) + 1))
    return (_make_fold("fold-1", sides[0], sides[1], names, f"{path}, train_loc and val_loc"),)


def folds_from_matrix(
    folds: np.ndarray, class_names: Sequence[str], seen: np.ndarray, where: str
) -> tuple[ClassFold, ...]:
    """Make folds from (k, c) values: 1 for classes held out, 0 for those trained on, -1 for those left out."""
    if folds.ndim != 2 or folds.shape[1] != len(class_names) or not np.isin(folds, (-1, 0, 1)).all():
        got = f"got shape {folds.shape}"
        if folds.ndim == 2 and folds.shape[1] == len(class_names):
            strange = folds[~np.isin(folds, (-1, 0, 1))].flat[0]
            got = f"got {strange}"
        elif folds.ndim == 2 and len(folds) == len(class_names):
            got += ", which looks transposed"
        raise DataError(f"{where}: expected a matrix (folds, {len(class_names)} classes) of 1, 0 and -1; {got}")
    unseen = np.setdiff1d(np.arange(len(class_names)), seen)
    if (folds[:, unseen] == 1).any():
        number, label = np.argwhere(folds[:, unseen] == 1)[0]
        raise DataError(
            f"{where}: fold-{number + 1} holds out {class_names[unseen[label]]!r}, which has no training row; write -1 "
            "for classes that are not trained on"
        )
    sides = [[set(seen[row[seen] == side].tolist()) for side in (0, 1)] for row in folds]
    return tuple(
        _make_fold(f"fold-{number + 1}", train, validation, class_names, where)
        for number, (train, validation) in enumerate(sides)
    )


def matrix_from_rows(
    folds: np.ndarray, y: np.ndarray, class_names: Sequence[str], train: np.ndarray | None, where: str
) -> np.ndarray:
    """Return (k, c) values from the fold (n,) that holds out the class of each row, -1 or empty for none.

    Every fold trains on all classes that it does not hold out. Raises :class:`DataError` where training rows of one
    class belong to different folds, and where a fold holds out a class without training rows.
    """
    rows = np.arange(len(y)) if train is None else train
    texts = _names_of_folds(folds, len(y), where)
    fold_of_row = texts[rows]
    numbers = _in_order(fold_of_row)
    matrix = np.full((len(numbers), len(class_names)), -1)
    for label in np.unique(y[rows]):
        names = sorted(set(fold_of_row[y[rows] == label].tolist()))
        if len(names) > 1:
            raise DataError(
                f"{where}: class {class_names[label]!r} has training rows in folds {names[0]!r} and {names[1]!r}; a "
                "fold holds out whole classes in data with signatures; give every row of a class the same fold, or "
                "leave it out with folds=none"
            )
        matrix[:, label] = [names[0] == number for number in numbers]
    other = ~np.isin(y, y[rows]) & np.isin(texts, numbers)
    if other.any():
        row = int(np.argmax(other))
        raise DataError(
            f"{where}: fold {str(texts[row])!r} holds out {class_names[y[row]]!r}, which has no training row; leave "
            "the fold of such rows empty, or write -1"
        )
    return matrix


def splits_from_folds(folds: np.ndarray, y: np.ndarray, where: str) -> dict[str, np.ndarray]:
    """Return the splits ``fold-1``, ``fold-2``, ... of the fold (n,) of each row, in the order of what they are called.

    Empty where the rows of each class y (n,) are in one fold: then folds are by class. Raises :class:`DataError` where
    a row is in none.
    """
    fold_of_row = _names_of_folds(folds, len(y), where)
    if y.ndim == 1 and len(set(zip(y.tolist(), fold_of_row.tolist(), strict=True))) == len(np.unique(y)):
        return {}
    if (fold_of_row == "").any():
        raise DataError(
            f"{where}: row {int(np.argmax(fold_of_row == ''))} is in no fold; in data without signatures every row "
            "belongs to one fold; correct it or set folds=none"
        )
    return {f"fold-{k}": np.flatnonzero(fold_of_row == name) for k, name in enumerate(_in_order(fold_of_row), start=1)}


def _names_of_folds(folds: np.ndarray, rows: int, where: str) -> np.ndarray:
    """Return what the fold of each row is called, an empty text for none."""
    if len(folds) != rows:
        raise DataError(f"{where}: {len(folds)} entries for {rows} rows")
    if folds.dtype.kind == "f":
        folds = whole_numbers(np.where(np.isnan(folds), -1, folds), where)
    names = np.char.strip(folds.astype(np.str_))
    names[names == "-1"] = ""
    return names


def _in_order(names: np.ndarray) -> list[str]:
    return sorted(set(names.tolist()) - {""}, key=lambda text: (len(text), text))


def check_classes_of_splits(
    where: str, y: np.ndarray, class_names: Sequence[str], splits: Mapping[str, np.ndarray]
) -> None:
    """Raise :class:`DataError` when an unseen class has training rows, or a class of ``test_seen`` has none."""
    if y.ndim != 1 or "train" not in splits:
        return
    seen = np.unique(y[splits["train"]])
    both = np.intersect1d(y[splits.get("test_unseen", _NO_ROWS)], seen)
    if len(both):
        names = ", ".join(class_names[label] for label in both[:5])
        what = counted(len(both), "class is", "classes are")
        raise DataError(f"{where}: {what} both in train and in test_unseen: {names}")
    unknown = np.setdiff1d(y[splits.get("test_seen", _NO_ROWS)], seen)
    if len(unknown):
        raise DataError(
            f"{where}: {len(unknown)} classes of test_seen have no training row, first {class_names[unknown[0]]}; "
            "test_seen holds rows of seen classes only"
        )


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file that are not empty; raises :class:`DataError` where it cannot be read."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read as lines of text ({error}); expected a name in each line, as UTF-8"
        ) from error


def read_class_list(path: Path, class_names: Sequence[str]) -> list[int]:
    """Return the ids of the classes in a file; raises :class:`DataError` for a name that no class has."""
    position = {name: number for number, name in enumerate(class_names)}
    ids = []
    for name in read_lines(path):
        if name not in position:
            near = difflib.get_close_matches(name, position, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "it is not in the list of all classes"
            raise DataError(f"{path}: unknown class {name!r}; {hint}")
        ids.append(position[name])
    return ids


def _make_fold(name: str, train: set[int], validation: set[int], class_names: Sequence[str], where: str) -> ClassFold:
    both = sorted(train & validation)
    if both:
        raise DataError(
            f"{where}: {name} has {len(both)} classes on both sides, first {class_names[both[0]]}; zero-shot folds are "
            "disjoint by class; correct it or set folds=none"
        )
    for side, classes in (("training", train), ("validation", validation)):
        if len(classes) < 2:
            raise DataError(
                f"{where}: {name} has {len(classes)} {side} {'class' if len(classes) == 1 else 'classes'} among the "
                "seen ones; it needs at least 2; correct it or set folds=none"
            )
    return ClassFold(name, tuple(sorted(train)), tuple(sorted(validation)))


# The list that names the classes of a split in full.
LISTS = {"test_unseen": "testclasses.txt", "train": "trainvalclasses.txt"}

ALL_CLASSES = "allclasses.txt"


def check_lists(
    folder: Path,
    class_names: Sequence[str],
    y: np.ndarray,
    splits: Mapping[str, np.ndarray],
    *,
    folds: Sequence[tuple[Path, Path]],
    sides: Sequence[np.ndarray],
    same_split: bool,
) -> list[str]:
    """Return what the class lists of a folder state otherwise than its splits, a line for each list.

    ``y`` (n,) class ids, ``splits`` rows, ``folds`` the lists that make the validation folds, ``sides`` the rows of
    ``train_loc`` and ``val_loc``, or nothing. ``same_split``: the lists were made for this split, so that lists with
    other test or training classes, which could leak, raise :class:`DataError`.
    """
    classes = {split: set(np.unique(y[rows]).tolist()) for split, rows in splits.items()}
    present = set(np.unique(y).tolist())
    contradictions, remarks = [], []
    for split, name in LISTS.items():
        if (folder / name).is_file():
            listed = set(read_class_list(folder / name, class_names)) & present
            contradictions += [
                f"{name} {states} {class_names[min(others)]!r} ({len(others)} such), which {rows} {split}"
                for states, rows, others in (
                    ("names", "has no row in", listed - classes[split]),
                    ("lacks", "has rows in", classes[split] - listed),
                )
                if others
            ]
    held_out = []
    for number, paths in enumerate(folds, start=1):
        lists = [set(read_class_list(path, class_names)) for path in paths]
        held_out.append(lists[1] & classes["train"])
        for path, listed in zip(paths, lists, strict=True):
            if others := listed & classes["test_unseen"]:
                contradictions.append(
                    f"{path.name} names {class_names[min(others)]!r} ({len(others)} such), a class of test_unseen"
                )
        if same_split and (missing := classes["train"] - lists[0] - lists[1]):
            remarks.append(
                f"the lists of fold-{number} lack {class_names[min(missing)]!r} ({len(missing)} such): the fold trains "
                "on it"
            )
    if held_out and sides:
        by_rows = [set(y[np.intersect1d(rows, splits["train"])].tolist()) for rows in sides]
        if by_rows[1] not in held_out or by_rows[0] & by_rows[1]:
            remarks.append("train_loc and val_loc are another fold than the lists make; folds=rows takes it")
    names = set(read_lines(folder / ALL_CLASSES)) if (folder / ALL_CLASSES).is_file() else set(class_names)
    if different := names ^ set(class_names):
        remarks.append(
            f"{ALL_CLASSES} and the names of classes differ in {len(different)} names, first {min(different)!r}"
        )
    if contradictions and same_split:
        raise DataError(
            f"{folder}: {contradictions[0]}; correct the list or the splits file, or say that the splits count, "
            f"{folder.name}(trainval=trainval_loc)"
        )
    if contradictions:
        remarks.insert(0, f"the class lists are of another split: {contradictions[0]}")
    return remarks
