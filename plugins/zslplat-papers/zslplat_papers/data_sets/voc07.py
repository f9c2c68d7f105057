"""PASCAL VOC2007's classification task: labels from the development kit's lists, features from a file of your own.

The kit says in ``ImageSets/Main/<class>_<split>.txt`` of every image of a split whether an object of the class is in
it, one image in each line::

    000012 -1
    000017  0
    000023  1

1 present, -1 absent, 0 present but "difficult": such images are not counted for the class, in training or in scoring,
as the kit's own evaluation has it. Splits are ``train``, ``val`` and ``test``; lists of ``trainval`` are read where
there are none of ``train`` and ``val``. Features lie in one file, by image identifier:

========  ==========================================================================================================
``.npz``  ``X`` (or ``features``) (n, d) and ``ids`` (n,), texts or numbers
``.npy``  (n, d), and beside it a text file of the same name (``.txt``) with one identifier in each line
``.mat``  ``X`` (or ``features``) (n, d) and ``ids``, a cell array of texts or numbers
========  ==========================================================================================================

Images with features that are in no list are left out. Source: Everingham et al., "The PASCAL Visual Object Classes
(VOC) Challenge" (IJCV 2010), and the documentation of its development kit.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from zslplat.data.assembly import RawArrays, assemble, looks_transposed
from zslplat.data.class_lists import read_lines
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard, card_path, read_card
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.matlab import MatlabFile
from zslplat.data.formats.npz import NpzFile
from zslplat.data.source import DataPlaces, DataSource, find_path
from zslplat.data.splits import whole_numbers
from zslplat.data.store.array_store import file_stamp
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Choice, Text, parameter

LISTS = Path("ImageSets", "Main")

SUFFIXES = (".npz", ".npy", ".mat")

_LIST = re.compile(r"(.+)_(train|val|test|trainval)\.txt")

# What an entry of a list becomes, by what is done with difficult ones.
_DIFFICULT = {"not-counted": -1, "absent": 0, "present": 1}


class Voc07(DataSource):
    r"""Rows with several labels of the development kit's lists, and features of the images by identifier.

    Equations
    ---------
    Reads the lists of PASCAL VOC2007's classification task, and features of the images that you have extracted.

    Symbols
    -------
    | part       | shape  | meaning                                                   |
    |------------|--------|-----------------------------------------------------------|
    | X          | (n, d) | features of the images, by identifier                     |
    | y          | (n, 20) | 1 present, 0 absent, -1 difficult: not counted           |
    | splits     |        | ``train``, ``val``, ``test``                              |

    Example
    -------
    >>> import pathlib, numpy as np, zslplat
    >>> lists = pathlib.Path("VOC2007/ImageSets/Main")
    >>> lists.mkdir(parents=True)
    >>> for split, images in (("trainval", ("000012  1", "000017 -1")), ("test", ("000023  0", "000030  1"))):
    ...     for name in ("cat", "dog"):
    ...         _ = (lists / f"{name}_{split}.txt").write_text("\n".join(images) + "\n")
    >>> np.savez("descriptors.npz", X=np.eye(4), ids=["000012", "000017", "000023", "000030"])
    >>> data = zslplat.load_dataset("voc07(folder=VOC2007, features=descriptors)")
    >>> data.y.tolist()
    [[1, 1], [0, 0], [-1, -1], [1, 1]]

    Related
    -------
    ``digit-sets`` is a small likeness that is built in.
    """

    summary = "PASCAL VOC2007 classification: the development kit's lists, with image features of your own"
    licence = "that of the images and of your features"
    citation = "Everingham et al., The PASCAL Visual Object Classes (VOC) Challenge (IJCV 2010)"
    folder = parameter("the kit's VOC2007 folder, or its ImageSets/Main: a name under the data root, or a path", Text())
    features = parameter("file of features by image identifier: a name under the data root, or a path", Text())
    X = parameter("key or variable that holds the features; default: X or features", Text())
    ids = parameter("key or variable that holds the identifiers; default: ids", Text())
    difficult = parameter(
        "what difficult objects are: not counted (default), absent, or present", Choice(tuple(_DIFFICULT))
    )

    def load(self, places: DataPlaces) -> Dataset:
        """Read lists and features, or what an earlier load of them kept under ``places.cache``."""
        for option in ("folder", "features"):
            if option not in self.options:
                raise UsageError(f"voc07: {option} is missing; write voc07(folder=VOC2007, features=descriptors)")
        folder = find_path(places, str(self.options["folder"]))
        folder = folder / LISTS if (folder / LISTS).is_dir() else folder
        file = find_path(places, str(self.options["features"]), SUFFIXES)
        lists = _lists(folder)
        stamps = [
            file_stamp(path) for path in (*sorted(lists.values()), *_files(file), card_path(file)) if path.is_file()
        ]
        options = {name: value for name, value in self.options.items() if name not in ("folder", "features")}
        key = key_of("voc07", 1, stamps, options)
        return stored_dataset(places.cache, key, lambda: self._build(folder, file, lists))

    def _build(self, folder: Path, file: Path, lists: dict[tuple[str, str], Path]) -> Dataset:
        difficult = str(self.options.get("difficult", "not-counted"))
        X, ids = _features(file, str(self.options.get("X", "")), str(self.options.get("ids", "")))
        place = {image: row for row, image in enumerate(ids)}
        if len(place) != len(ids):
            twice = next(image for row, image in enumerate(ids) if place[image] != row)
            raise DataError(f"{file}: image {twice!r} has features twice; identifiers must be different")
        classes = sorted({name for name, _ in lists})
        rows: list[int] = []
        listed: dict[str, str] = {}
        labels: list[np.ndarray] = []
        splits: dict[str, np.ndarray] = {}
        for split in _splits(lists, folder):
            images, y = _labels(lists, classes, split, folder)
            missing = [image for image in images if image not in place]
            if missing:
                raise DataError(
                    f"{file}: {len(missing)} of {len(images)} images of {split!r} have no features, first "
                    f"{missing[0]!r}; the file holds {len(ids)} images, first {ids[0]!r}"
                )
            name = "train" if split == "trainval" else split
            splits[name] = len(rows) + np.arange(len(images))
            for image in images:
                if image in listed:
                    raise DataError(
                        f"{folder}: image {image!r} is listed in {listed[image]!r} and in {split!r}; an image belongs "
                        "to one split, and stands in its lists once"
                    )
                listed[image] = split
            rows += [place[image] for image in images]
            labels.append(np.where(y == 0, _DIFFICULT[difficult], (y == 1).astype(np.int64)))
        raw = RawArrays(
            name=f"voc07-{file.stem}",
            where=str(folder),
            X=X[rows],
            y=np.concatenate(labels),
            class_names=classes,
            splits=splits,
        )
        card = read_card(file, {})
        card = FeatureCard(card.description or self.summary, card.licence, card.citation or self.citation)
        return assemble(raw, card, {"loader": "voc07", "folder": str(folder), "features": str(file), **self.options})


def _lists(folder: Path) -> dict[tuple[str, str], Path]:
    """Return {(class, split): list}; raises :class:`DataError` where the folder holds none."""
    paths = {}
    for path in sorted(folder.glob("*.txt")):
        named = _LIST.fullmatch(path.name)
        if named:
            paths[named[1], named[2]] = path
    if not paths:
        raise DataError(
            f"{folder}: no lists <class>_train.txt, <class>_val.txt, <class>_test.txt; give the folder VOC2007 of the "
            "development kit, which has them in ImageSets/Main"
        )
    return paths


def _splits(lists: dict[tuple[str, str], Path], folder: Path) -> list[str]:
    """Return the splits to read; raises :class:`DataError` where training or test lists are not there."""
    there = {split for _, split in lists}
    training = ["train", "val"] if {"train", "val"} <= there else ["trainval"]
    for split in (*training, "test"):
        if split not in there:
            raise DataError(
                f"{folder}: no lists of the split {split!r}, there are {', '.join(sorted(there))}; the test lists of "
                "VOC2007 come in an archive of their own: unpack it into the same folder"
            )
    return [*training, "test"]


def _labels(
    lists: dict[tuple[str, str], Path], classes: list[str], split: str, folder: Path
) -> tuple[list[str], np.ndarray]:
    """Return the images of a split and y (n, c) of 1, 0 (difficult) and -1, as the lists have them."""
    images: list[str] = []
    columns: list[np.ndarray] = []
    for name in classes:
        if (name, split) not in lists:
            raise DataError(f"{folder}: no list {name}_{split}.txt, though other classes have one")
        listed, values = _read(lists[name, split])
        if not columns:
            images = listed
        if listed != images:
            raise DataError(
                f"{lists[name, split]}: lists other images than {lists[classes[0], split].name}, or in another order; "
                "every class lists all images of a split"
            )
        columns.append(values)
    return images, np.stack(columns, axis=1)


def _read(path: Path) -> tuple[list[str], np.ndarray]:
    images, values = [], []
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split()
        if len(cells) != 2 or cells[1] not in ("1", "0", "-1", "+1"):
            raise DataError(f"{path}, line {number}: {line!r}; expected an image and 1, 0 or -1")
        images.append(_identifier(cells[0]))
        values.append(int(cells[1]))
    if not images:
        raise DataError(f"{path}: lists no image")
    return images, np.array(values, dtype=np.int64)


def _files(file: Path) -> list[Path]:
    return [file, file.with_suffix(".txt")] if file.suffix == ".npy" else [file]


def _features(file: Path, X: str, ids: str) -> tuple[np.ndarray, list[str]]:
    """Return features (n, d) and the identifier of every row; raises :class:`DataError` for what does not fit."""
    if file.suffix == ".npy":
        beside = file.with_suffix(".txt")
        if not beside.is_file():
            raise DataError(f"{file}: no identifiers; write one in each line of {beside.name}, beside it")
        features = np.load(file, mmap_mode="r", allow_pickle=False)
        named: list[str] = " ".join(read_lines(beside)).split()
    elif file.suffix == ".mat":
        matlab = MatlabFile(file)
        features = matlab.numbers(_named(file, X, ("X", "features"), matlab.names))
        name = _named(file, ids, ("ids",), matlab.names)
        try:
            named = matlab.strings(name)
        except DataError:
            named = names_of(whole_numbers(matlab.vector(name), f"{file}, {name}"), f"{file}, {name}")
    else:
        npz = NpzFile(file)
        features = npz.read(_named(file, X, ("X", "features"), npz.names))
        name = _named(file, ids, ("ids",), npz.names)
        named = names_of(npz.read(name), f"{file}, {name}")
    if features.ndim != 2 or len(features) != len(named):
        hint = looks_transposed(features.shape, len(named), "image")
        raise DataError(f"{file}: features of shape {features.shape} for {len(named)} identifiers{hint}")
    return features, [_identifier(name) for name in named]


def _named(file: Path, requested: str, usual: tuple[str, ...], names: tuple[str, ...]) -> str:
    match = next((name for name in ((requested,) if requested else usual) if name in names), "")
    if not match:
        raise DataError(f"{file}: no {requested or ' or '.join(usual)}; the file holds {', '.join(names)}")
    return match


def _identifier(text: str) -> str:
    """Return an identifier as the kit writes it: six digits, without a file's suffix."""
    stem = text.strip().removesuffix(".jpg")
    return f"{int(stem):06d}" if stem.isdecimal() else stem
