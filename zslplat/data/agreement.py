"""What files state twice: class lists beside a splits file, and fields that are one part under two names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from zslplat.data.class_folds import read_class_list, read_lines
from zslplat.data.indices import mask_of
from zslplat.data.splits import OF_ROWS
from zslplat.errors import DataError

# The list that names the classes of a split in full.
LISTS = {"test_unseen": "testclasses.txt", "train": "trainvalclasses.txt"}
ALL_CLASSES = "allclasses.txt"


class Fields(Protocol):
    """What is read of named fields (:class:`zslplat.data.fields.Fields`)."""

    path: Path
    names: tuple[str, ...]

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the names under which a part is found."""

    def read(self, name: str) -> np.ndarray:
        """Return a field that describes the classes, or the whole."""

    def column(self, name: str) -> np.ndarray:
        """Return a field with an entry for each row."""

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return row indices that count from ``base``, or a mask."""

    def signatures(self, name: str) -> Any:
        """Return signatures, whose ``values`` are (m, a)."""


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


def check_second_names(fields: Fields, parts: Mapping[str, str], options: Collection[str], base: int) -> None:
    """Raise :class:`DataError` where a part lies in two fields, each under a name of its own, that differ.

    ``parts`` are the fields that were chosen; those that an option chose are not compared. Two feature sets are not
    read for this: they are refused.
    """
    for role, chosen in parts.items():
        others = [name for name in fields.names_of(role) if name in fields.names and name not in parts.values()]
        if role in options or not chosen or not others:
            continue
        values = [] if role == "X" else [_values(fields, role, name, parts, base) for name in (chosen, others[0])]
        if role == "X" or not _agree(role, *values):
            raise DataError(
                f"{fields.path}: {chosen} and {others[0]} are both names of {role}"
                f"{'' if role == 'X' else ', and differ'}; say which counts: {role}={chosen} or {role}={others[0]}"
            )


def _values(fields: Fields, role: str, name: str, parts: Mapping[str, str], base: int) -> np.ndarray:
    if role in OF_ROWS:
        rows = np.asarray(fields.indices(name, base))
        mask = mask_of(rows, len(fields.column(parts["y"]))) if parts.get("y") else None
        return np.unique(rows) - base if mask is None else np.flatnonzero(mask)
    if role == "S":
        return np.asarray(fields.signatures(name).values)
    return np.asarray(fields.column(name) if role in ("y", "split", "folds", "groups") else fields.read(name))


def _agree(role: str, first: np.ndarray, second: np.ndarray) -> bool:
    """Tell whether two fields state the same; labels and folds may be numbers in one and names in the other."""
    if first.size != second.size:
        return False
    if role in ("y", "groups", "folds"):
        first, second = (np.unique(one.astype(np.str_), return_inverse=True)[1].reshape(-1) for one in (first, second))
        pairs = np.unique(np.stack([first, second]), axis=1)
        return bool(len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == pairs.shape[1])
    if "U" in first.dtype.kind + second.dtype.kind or "O" in first.dtype.kind + second.dtype.kind:
        first, second = first.astype(np.str_), second.astype(np.str_)
    return first.shape == second.shape and bool((first == second).all())
