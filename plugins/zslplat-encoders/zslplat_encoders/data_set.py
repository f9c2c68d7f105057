"""The data set that ``zslplat encode`` leaves: a folder of arrays with its card, as the loader ``npy`` reads it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.feature_card import CARD_FILE, EncoderFacts, FeatureCard, card_of, load_card
from zslplat.data.formats.csv_tables import read_signatures
from zslplat.data.splits import OF_ROWS, splits_of_unseen
from zslplat.data.store.atomic_files import replacing
from zslplat.errors import DataError, UsageError
from zslplat.names import counted
from zslplat_encoders.class_texts import ClassNames
from zslplat_encoders.encoding import STATE, State, read_state, readable
from zslplat_encoders.image_files import ImageList

UNREADABLE, NAMES = "unreadable.txt", "class_names.npy"
_UNSEEN, _DRAWN = 0.2, 43


def write_rows(
    folder: Path, images: ImageList, state: State, classes: ClassNames, unseen: Any, seen_share: float
) -> list[str]:
    """Write labels, names of classes and of images, and splits; return what is to be said of them.

    Splits are those of the images, where these have some. Otherwise the classes ``unseen`` (names, a count or a share)
    never train, and of every other class the share ``seen_share`` of its rows is tested: ``test_seen``. Splits that are
    there stay, unless ``unseen`` is given.
    """
    rows = np.array(list(readable(images, state)))
    y = np.array([classes.class_of_label[images.labels[row]] for row in rows])
    _write_array(folder / "labels.npy", y)
    _write_array(folder / NAMES, np.array(classes.names))
    _write_lines(folder / "images.txt", [images.names[row] for row in rows])
    _write_lines(folder / UNREADABLE, [f"{name}: {reason}" for name, reason in state.unreadable.items()])
    of_split = np.array([images.splits[row] for row in rows])
    if of_split.any() and unseen is not None:
        raise UsageError("the images come with splits, and --unseen says others; leave --unseen out")
    notes: list[str] = []
    if of_split.any():
        splits = {name: np.flatnonzero(of_split == name) for name in dict.fromkeys(of_split) if name}
    elif unseen is None and any((folder / f"{name}.npy").is_file() for name in OF_ROWS):
        return notes
    elif len(np.unique(y)) > 1:
        splits = splits_of_unseen(_UNSEEN if unseen is None else unseen, y, classes.names, {}, str(folder), 0, notes)
        splits = _with_test_rows(splits, y, seen_share)
    else:
        return ["all images are of one class, so no class is unseen"]
    for name in OF_ROWS:
        (folder / f"{name}.npy").unlink(missing_ok=True)
    for name, part in splits.items():
        _write_array(folder / f"{name}.npy", part)
    return notes


def _with_test_rows(splits: Mapping[str, np.ndarray], y: np.ndarray, share: float) -> dict[str, np.ndarray]:
    generator, tested = np.random.default_rng(_DRAWN), []
    for label in np.unique(y[splits["train"]]):
        rows = splits["train"][y[splits["train"]] == label]
        tested.append(generator.permutation(rows)[: min(round(share * len(rows)), len(rows) - 1)])
    test_seen = np.sort(np.concatenate(tested))
    parts = {"train": np.setdiff1d(splits["train"], test_seen), "test_seen": test_seen}
    return {name: rows for name, rows in {**splits, **parts}.items() if len(rows)}


def write_signatures(path: Path, values: np.ndarray, names: Sequence[str]) -> None:
    """Write signatures (c, a): as an array, or, where the path ends in .csv, as a table with the class in each line."""
    if path.suffix != ".csv":
        _write_array(path, values)
        return
    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["class", *(f"t{column}" for column in range(values.shape[1]))])
        table.writerows([name, *map(repr, row)] for name, row in zip(names, values.tolist(), strict=True))


def copy_attributes(file: Path, folder: Path, label: str, names: Sequence[str]) -> None:
    """Copy a table of class and attributes into the folder; raises :class:`DataError` for a class without a line."""
    table = read_signatures(file)
    described = [str(name) for name in np.asarray(table.classes).tolist()]
    lost = [name for name in names if name not in described]
    if lost:
        raise DataError(f"{file}: no line of {len(lost)} of {len(names)} classes, first {lost[0]!r}; add it")
    lines = [np.asarray(table.values)[described.index(name)].tolist() for name in names]
    with replacing(folder / f"signatures-{label}.csv") as new, new.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["class", *(table.names or (f"a{number}" for number in range(len(lines[0]))))])
        writer.writerows([name, *map(repr, line)] for name, line in zip(names, lines, strict=True))


def names_in(folder: Path) -> list[str]:
    """Return the names of the classes of a folder that was encoded."""
    path = folder / NAMES
    if not path.is_file():
        raise UsageError(f"{folder}: has no {NAMES}; name the images, too, or give --to a file such as signatures.csv")
    return [str(name) for name in np.load(path, allow_pickle=False)]


def remove_written(folder: Path) -> None:
    """Remove what earlier runs wrote into a folder, and nothing else; what says which files these are goes last."""
    path = folder / CARD_FILE
    card = load_card(path) if path.is_file() else FeatureCard()
    try:
        state = read_state(folder)
    except DataError:  # a broken state is a reason to begin anew
        state = None
    views = {*card.features, *(state.views if state else ()), *(state.pending if state else ())}
    arrays = ["labels", *OF_ROWS, *(f"features-{one}" for one in views), *(f"signatures-{s}" for s in card.signatures)]
    tables = [f"signatures-{one}.csv" for one in card.signatures]
    names = [NAMES, "images.txt", UNREADABLE, *(f"{one}.npy" for one in arrays), *tables, CARD_FILE, STATE]
    for name in names:
        (folder / name).unlink(missing_ok=True)


def write_card(folder: Path, source: str, state: State | None, signatures: Mapping[str, EncoderFacts]) -> None:
    """Write the card, with what it says of other views and signatures already."""
    path = folder / CARD_FILE
    card = load_card(path) if path.is_file() else FeatureCard()
    if state is not None:
        left_out = f", {len(state.unreadable)} that cannot be read left out" if state.unreadable else ""
        card = replace(
            card,
            description=f"{counted(state.rows, 'image')} of {source}{left_out}; SHA-256 of the images {state.content}",
            features=card_of({"features": state.views}, str(path)).features,
        )
    card = replace(card, signatures={**card.signatures, **signatures})
    with replacing(path) as new:
        new.write_text(card.to_toml(), encoding="utf-8")


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    if not lines:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as new:
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_array(path: Path, array: np.ndarray) -> None:
    with replacing(path) as new, new.open("wb") as file:
        np.save(file, array)
