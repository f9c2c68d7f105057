"""Bringing one's own data under the data root, so that it can be used by name like the public sets."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.about import About, about_path, read_about
from zslplat.data.array_store import temporary_folder
from zslplat.data.arrays import CsvSource, NpzSource, is_csv_folder
from zslplat.data.dataset import Dataset
from zslplat.data.rows import Rows
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.xlsa17 import Xlsa17, is_xlsa17, source_files
from zslplat.errors import DataError, UsageError

_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Imported:
    """The data set as it was checked, and the file or folder under the data root that now holds it.

    ``constant``: the features (by position) that have the same value in all rows.
    """

    name: str
    path: Path
    dataset: Dataset
    constant: tuple[int, ...] = ()


def import_arrays(
    source: Path,
    root: Path,
    name: str = "",
    *,
    options: Mapping[str, Any] | None = None,
    description: str = "",
    licence: str = "",
    citation: str = "",
    reserved: Collection[str] = (),
    overwrite: bool = False,
) -> Imported:
    """Check the data set at ``source`` and copy it into the data root as ``name``.

    ``source`` is an ``.npz`` file, a folder of CSV files, or a folder in the layout of the xlsa17 package; ``name`` is
    its own name by default. ``options`` are those of the loader (``X=rf504``, ``features=mnv2``); they are remembered
    beside the copy, with the texts, and apply whenever the data set is loaded by name. ``reserved`` are names that are
    taken (registered data sets).

    Raises :class:`DataError` when the data set cannot be loaded, tells no rows or no classes apart (all features, or
    all signatures, constant), or something of that name is there already, and :class:`UsageError` for a name that
    cannot be used. Nothing is copied before the whole data set was checked.
    """
    source = source.expanduser()
    name = name or (source.stem if source.suffix == ".npz" else source.name)
    if not _NAME.fullmatch(name):
        raise UsageError(f"name {name!r} cannot be used; write letters, digits, _, - and ., starting with a letter")
    if name in reserved:
        raise UsageError(f"name {name!r} belongs to a registered data set; choose another name")
    loader = _loader(source, dict(options or {}))
    dataset = loader.load(DataPlaces())
    constant = _constant_features(source, dataset)
    known = read_about(source, loader.parameters)
    about = About(
        description or known.description,
        licence or known.licence,
        citation or known.citation,
        {**known.options, **(options or {})},
    )
    path = root / (f"{name}.npz" if isinstance(loader, NpzSource) else name)
    taken = [p for p in (root / name, root / f"{name}.npz") if p.exists()]
    if taken and not overwrite:
        raise DataError(f"{taken[0]} exists already; choose another name or say that it may be overwritten")
    try:
        root.mkdir(parents=True, exist_ok=True)
        _copy(loader, source, path, about)
        for other in taken:
            if other != path:
                _remove(other)
    except OSError as error:
        raise DataError(f"cannot copy {source} to {path}: {error.strerror or error}") from error
    return Imported(name, path, dataset, constant)


def _constant_features(source: Path, dataset: Dataset) -> tuple[int, ...]:
    """Return which features are the same in all rows; raises :class:`DataError` where nothing differs."""
    constant = _constant_columns(dataset.X)
    if constant.all():
        raise DataError(
            f"{source}: all {constant.size} features are constant: {len(dataset.X)} equal rows, of which nothing can "
            "be learned; give the features before they were reduced or rounded"
        )
    train = np.asarray(dataset.splits.get("train", ()), dtype=np.int64)
    if len(train) > 1 and _constant_columns(dataset.X, train).all():
        raise DataError(
            f"{source}: all {constant.size} features are constant in the {len(train)} training rows, of which nothing "
            "can be learned; check features and splits"
        )
    for name, signatures in dataset.signatures.items():
        if len(signatures.values) > 1 and _constant_columns(signatures.values).all():
            raise DataError(f"{source}: all {len(signatures.values)} signatures {name!r} are equal; no class differs")
    return tuple(np.flatnonzero(constant).tolist())


def _constant_columns(values: np.ndarray | Rows, rows: np.ndarray | None = None) -> np.ndarray:
    """Return which columns of a matrix (or of flattened rows) have one value in all rows, block by block."""
    rows = np.arange(len(values)) if rows is None else rows
    first = np.asarray(values[rows[0]]).reshape(-1)
    same = np.ones(first.size, dtype=bool)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = np.asarray(values[rows[start : start + _BLOCK_ROWS]])
        same &= (block.reshape(len(block), -1) == first).all(axis=0)
    return same


def _loader(source: Path, options: dict[str, Any]) -> DataSource:
    absolute = str(source.absolute())
    for key in ("folder", "file"):
        if key in options:
            raise UsageError(f"{key} is the data set itself; remove {key}=...")
    if source.is_file() and source.suffix == ".npz":
        return NpzSource(file=absolute, **options)
    if source.is_dir() and is_xlsa17(source):
        return Xlsa17(folder=absolute, **options)
    if source.is_dir() and is_csv_folder(source):
        return CsvSource(folder=absolute, **options)
    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    raise DataError(
        f"{source}: no layout that is known; expected an .npz file, a folder with features.csv and labels.csv, or a "
        "folder with res101.mat and att_splits.mat"
    )


def _copy(loader: DataSource, source: Path, path: Path, about: About) -> None:
    """Copy into a temporary place of the root, then rename, so that a copy is whole or not there."""
    temporary = temporary_folder(path.parent, ".import-")
    try:
        new = temporary / path.name
        if source.is_file():
            shutil.copyfile(source, new)
        else:
            new.mkdir()
            if isinstance(loader, Xlsa17):
                files = source_files(loader, DataPlaces())
                # A features file from elsewhere comes along, and is found by its name from then on.
                if "features" in about.options:
                    about = replace(about, options={**about.options, "features": files[0].stem})
            else:
                files = sorted(source.glob("*.csv"))
            for file in files:
                shutil.copyfile(file, new / file.name)
        text = about_path(new)
        if about != About():
            text.write_text(about.to_json(), encoding="utf-8")
        _remove(path)
        _remove(about_path(path))
        if path.suffix == ".npz" and text.is_file():
            os.rename(text, about_path(path))
        os.rename(new, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
