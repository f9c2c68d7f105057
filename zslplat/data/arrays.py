"""Arrays that people bring: one ``.npz`` file, or a folder of CSV files.

Keys of an ``.npz`` file (each can be renamed by an option of the same name, ``X=rf504, y=label``):

====================== ================================= ===========================================================
key                    also found as                     meaning
====================== ================================= ===========================================================
``X``                  ``features``                      (n, d) numbers, or (n, p, p) matrices
``y``                  ``labels``, ``label``             (n,) class numbers from ``base`` on, or names; or (n, l) 0/1
``S``                  ``signatures``, ``att``           (c, a) one row per class; ``S_<name>`` adds a further set
``signature_classes``                                    (m,) the class that each row of ``S`` describes
``row_signatures``                                       (n, a) one row per row of ``X``; becomes the set ``rows``
``class_names``        ``allclasses_names``              (c,) names in the order of the class numbers
``train``              ``trainval``, ``trainval_loc``    row indices, or a mask (n,); likewise ``test_seen``,
                                                         ``test_unseen`` (also with ``_loc``) and ``test``
``folds``                                                (k, c): 1 held out, 0 trained on, -1 left out
``groups``                                               (n,) rows that must stay together
====================== ================================= ===========================================================

Classes and rows count from 0 unless ``base=1`` (labels) or ``index_base=1`` (row indices) says otherwise. Where only
``train`` is given, the other rows are test rows. Pickled objects are never read.

Files of a CSV folder (comma-separated; a header line is recognised and optional):

``features.csv``        one line per row, numbers only
``labels.csv``          one line per row: the class, by name or number
``signatures.csv``      class, then its attributes; the order of lines is the order of classes; a class may have
                        several lines; ``signatures-<name>.csv`` adds a further set
``row_signatures.csv``  one line per row, numbers only
``splits.csv``          one line per row: ``train``, ``test_seen``, ``test_unseen``, ``test``, or empty for unused rows
``folds.csv``           class, then per fold ``train``, ``validation`` or empty
``groups.csv``          one line per row: the group

A folder may hold ``about.json``, an ``.npz`` may have ``<stem>.about.json`` beside it: description, licence, citation,
and options to load it with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data import csv_tables
from zslplat.data.about import FILE, About, about_path, read_about
from zslplat.data.array_store import file_stamp, sha256_of
from zslplat.data.assembly import SPLITS, RawArrays, RawSignatures, assemble
from zslplat.data.dataset import Dataset
from zslplat.data.kept import kept_dataset
from zslplat.data.roots import find_file, find_folder
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Choice, Optional, Parameter, Text

_VERSION = 1
_ALIASES = {
    "X": ("X", "features"),
    "y": ("y", "labels", "label"),
    "S": ("S", "signatures", "att"),
    "signature_classes": ("signature_classes",),
    "row_signatures": ("row_signatures",),
    "class_names": ("class_names", "allclasses_names"),
    "train": ("train", "trainval", "trainval_loc"),
    "test_seen": ("test_seen", "test_seen_loc"),
    "test_unseen": ("test_unseen", "test_unseen_loc"),
    "test": ("test",),
    "folds": ("folds",),
    "groups": ("groups",),
}


class NpzSource(DataSource):
    """One ``.npz`` file with features, labels and, for zero-shot tasks, signatures and splits."""

    summary = "an .npz file of your own arrays: X, y, S, class_names, splits, folds"
    licence = "that of the data in the file"
    parameters: ClassVar = {
        "file": Parameter("the file: a name under the data root, or a path", Text()),
        **{
            key: Parameter(f"key that holds {key}; default: {' or '.join(names)}; none leaves it out", Optional(Text()))
            for key, names in _ALIASES.items()
        },
        "signatures": Parameter("the signature set that is used when nothing is said", Text()),
        "base": Parameter("number of the first class in the labels", Choice((0, 1))),
        "index_base": Parameter("number of the first row in the index vectors of the splits", Choice((0, 1))),
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Read the file, or what an earlier load of it kept under ``places.cache``."""
        if "file" not in self.options:
            raise UsageError("npz: file is missing; write npz(file=mydata.npz)")
        path = find_file(places, _with_suffix(str(self.options["file"])))
        about = read_about(path, self.parameters)
        options = {**about.options, **{k: v for k, v in self.options.items() if k != "file"}}
        stamps = [file_stamp(p) for p in (path, about_path(path)) if p.is_file()]
        key = key_of("npz", _VERSION, stamps, options)
        return kept_dataset(places.cache, key, lambda: self._build(path, about, options))

    def _build(self, path: Path, about: About, options: Mapping[str, Any]) -> Dataset:
        file = NpzFile(path)
        found = {key: file.key_of(key, options) for key in _ALIASES}
        located = [found[split] for split in SPLITS if found[split].endswith("_loc")]
        if located and "index_base" not in options:
            raise DataError(
                f"{path}: {located[0]} may count rows from 1, as the published MATLAB files do, or from 0; say which "
                "with index_base=1 or index_base=0"
            )
        arrays = {key: file.read(name) for key, name in found.items() if name}
        for needed in ("X", "y"):
            if needed not in arrays:
                raise DataError(
                    f"{path}: no key {' or '.join(_ALIASES[needed])}; the file holds {', '.join(file.names)}; say "
                    f"which it is with {needed}=..."
                )
        signatures: dict[str, RawSignatures] = {}
        if "S" in arrays:
            signatures["S"] = RawSignatures(arrays["S"], arrays.get("signature_classes"))
        for name in file.names:
            if name.startswith("S_") and name not in found.values():
                signatures[name[2:]] = RawSignatures(file.read(name))
        if "row_signatures" in arrays:
            signatures["rows"] = RawSignatures(arrays["row_signatures"], per_row=True)
        names = arrays.get("class_names")
        raw = RawArrays(
            name=path.stem,
            where=str(path),
            X=arrays["X"],
            y=arrays["y"],
            class_names=None if names is None else [str(name) for name in names.reshape(-1)],
            signatures=signatures,
            default_signatures=str(options.get("signatures", "")),
            splits={split: arrays[split] for split in SPLITS if split in arrays},
            folds=arrays.get("folds"),
            groups=arrays.get("groups"),
            base=int(options.get("base", 0)),
            index_base=int(options.get("index_base", 0)),
        )
        source = {"loader": "npz", "file": str(path), "sha256": sha256_of(path), "keys": found}
        return assemble(raw, about, source)


class NpzFile:
    """The keys of an ``.npz`` file, each read when asked for, never by unpickling."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with np.load(path, allow_pickle=False) as file:
                self.names: tuple[str, ...] = tuple(file.files)
        except Exception as error:
            raise DataError(
                f"{path}: cannot be read as an .npz file ({error}); save it again with numpy.savez"
            ) from error

    def key_of(self, role: str, options: Mapping[str, Any]) -> str:
        """Return the key that plays a role, ``""`` where none does; a key that was asked for must be there."""
        if role in options:
            name = options[role]
            if name is not None and name not in self.names:
                raise DataError(f"{self.path}: no key {name!r} for {role}; the file holds {', '.join(self.names)}")
            return str(name or "")
        return next((name for name in _ALIASES[role] if name in self.names), "")

    def read(self, name: str) -> np.ndarray:
        """Return one array."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                return np.asarray(file[name])
        except ValueError as error:
            if "pickle" not in str(error).lower():
                raise DataError(f"{self.path}: key {name!r} cannot be read ({error}); save the file again") from error
            raise DataError(
                f"{self.path}: key {name!r} holds pickled Python objects, which are never read; save it as an array "
                "of numbers or strings"
            ) from error
        except Exception as error:
            raise DataError(f"{self.path}: key {name!r} cannot be read ({error}); save the file again") from error


class CsvSource(DataSource):
    """A folder with ``features.csv``, ``labels.csv`` and, for zero-shot tasks, signatures and splits."""

    summary = "a folder of CSV files of your own: features, labels, signatures, splits, folds"
    licence = "that of the data in the folder"
    parameters: ClassVar = {
        "folder": Parameter("the folder: a name under the data root, or a path", Text()),
        "signatures": Parameter("the signature set that is used when nothing is said", Text()),
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Read the folder, or what an earlier load of it kept under ``places.cache``."""
        if "folder" not in self.options:
            raise UsageError("csv: folder is missing; write csv(folder=mydata)")
        folder = find_folder(places, str(self.options["folder"]))
        about = read_about(folder, self.parameters)
        options = {**about.options, **{k: v for k, v in self.options.items() if k != "folder"}}
        paths = sorted(p for p in folder.iterdir() if p.suffix == ".csv" or p.name == FILE)
        key = key_of("csv", _VERSION, [file_stamp(p) for p in paths], options)

        def build() -> Dataset:
            raw = csv_tables.read_folder(folder)
            raw.default_signatures = str(options.get("signatures", ""))
            sums = {p.name: sha256_of(p) for p in paths if p.name != csv_tables.FEATURES}
            return assemble(raw, about, {"loader": "csv", "folder": str(folder), "sha256": sums})

        return kept_dataset(places.cache, key, build)


def is_csv_folder(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return (folder / csv_tables.FEATURES).is_file() and (folder / csv_tables.LABELS).is_file()


def _with_suffix(file: str) -> str:
    return file if file.endswith(".npz") else file + ".npz"
