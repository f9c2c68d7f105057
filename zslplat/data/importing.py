"""Bring the user's own data under the data root, so that they can be used by name like the public sets."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.catalogue import EXPECTED, FILE_SUFFIXES, layout_of
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard, card_path, read_card
from zslplat.data.formats.feature_files import is_signature_file
from zslplat.data.formats.templates import with_right_form
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces, FileSource
from zslplat.data.store.atomic_files import draft
from zslplat.data.store.rows import blocks_of
from zslplat.errors import DataError, UsageError, quoted
from zslplat.names import unfit

SIGNED = "signatures"  # the option, and the files beside a table


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
    root: Path | None,
    name: str = "",
    *,
    options: Mapping[str, Any] | None = None,
    description: str = "",
    licence: str = "",
    citation: str = "",
    reserved: Collection[str] = (),
    overwrite: bool = False,
    link: bool = False,
    dry_run: bool = False,
) -> Imported:
    """Check the data set at ``source`` and copy it into the data root as ``name``.

    ``source`` is a file or folder in one of the layouts of :mod:`zslplat.data.catalogue`; ``name`` is its own name by
    default. ``options`` are those of the loader (``X=rf504``, ``features=mnv2``); they are remembered beside the copy,
    with the texts, and apply whenever the data set is loaded by name. ``reserved`` are names that are taken (registered
    data sets). Neither checking nor copying holds large features in memory. With ``link`` the files of the copy are
    hard links, which take no space and stay when the originals are removed; both are then one file, and what is written
    to one is in the other. With ``dry_run`` nothing is written, and ``root`` may be None; all else is done.

    Raises :class:`DataError` when the data set cannot be loaded, tells no rows or no classes apart (all features, or
    all signatures, constant), or something of that name is there already, and :class:`UsageError` for a name that
    cannot be used. Nothing is copied before the whole data set was checked.
    """
    source = source.expanduser()
    name = name or (source.name if source.is_dir() else source.stem)
    if why := unfit(name) or ("a name leads through no folders" if "/" in name else ""):
        raise UsageError(f"name {quoted(name)} cannot be used: {why}")
    if name in reserved:
        raise UsageError(f"name {name!r} belongs to a registered data set; choose another name")
    layout = _layout(source)
    loader = _loader(layout, source, dict(options or {}))
    with _with_option(source, loader), with_right_form(layout.kind):
        dataset = loader.load(DataPlaces())
        constant = _constant_features(source, dataset)
    stated = read_card(source, loader.parameters)
    texts: dict[str, Any] = {"description": description, "licence": licence, "citation": citation}
    texts = {key: text for key, text in texts.items() if text}
    card = replace(stated, **texts, options={**stated.options, **(options or {})})
    path = (root or Path()) / (name if source.is_dir() else f"{name}{source.suffix}")
    if root is None:
        return Imported(name, path, dataset, constant)
    taken = [p for p in (root / name, *(root / f"{name}{suffix}" for suffix in FILE_SUFFIXES)) if p.exists()]
    if taken and not overwrite:
        raise DataError(f"{taken[0]} exists already; choose another --name, or --overwrite")
    if dry_run:
        return Imported(name, path, dataset, constant)
    try:
        root.mkdir(parents=True, exist_ok=True)
        _copy(loader, source, path, card, _linked if link else _copied)
        for other in taken:
            if other != path:
                _remove_data_set(other)
    except OSError as error:
        raise DataError(f"cannot copy {source} to {path}: {error.strerror or error}") from error
    return Imported(name, path, dataset, constant)


@contextmanager
def _with_option(source: Path, loader: FileSource) -> Iterator[None]:
    """Let an error that names an option of the loader say, too, how the import is given it."""
    try:
        yield
    except DataError as error:
        named = re.finditer(r"\b(\w+)=([\w.]+)", str(error))
        option = next((match[0] for match in named if match[1] in loader.parameters), "")
        if option and type(error) is DataError:
            error.args = (f"{error}; here: zslplat data import {shlex.quote(str(source))} --set {option}",)
        raise


def _constant_features(source: Path, dataset: Dataset) -> tuple[int, ...]:
    """Return which features are the same in all rows; raises :class:`DataError` where nothing differs."""
    train = np.zeros(len(dataset.X), dtype=bool)
    train[np.asarray(dataset.splits.get("train", ()), dtype=np.int64)] = True
    of_all, of_train = _Range(), _Range()
    # One pass, in the order of the files.
    for where, block in blocks_of(dataset.X):
        of_all.add(block)
        of_train.add(block[train[where]])
    constant = of_all.low == of_all.high
    if constant.all():
        raise DataError(
            f"{source}: all {constant.size} features are constant: {len(dataset.X)} equal rows, of which nothing can "
            "be learned; give the features before they were reduced or rounded"
        )
    if train.sum() > 1 and bool((of_train.low == of_train.high).all()):
        raise DataError(
            f"{source}: all {constant.size} features are constant in the {train.sum()} training rows, of which nothing "
            "can be learned; check features and splits"
        )
    for name, signatures in dataset.signatures.items():
        if len(signatures.values) > 1 and (signatures.values == signatures.values[0]).all():
            raise DataError(f"{source}: all {len(signatures.values)} signatures {name!r} are equal; no class differs")
    return tuple(np.flatnonzero(constant).tolist())


class _Range:
    """The lowest and the highest value of each column of rows, flattened, in all blocks so far."""

    low: Any = np.inf
    high: Any = -np.inf

    def add(self, block: np.ndarray) -> None:
        """Look at further rows."""
        if len(block):
            flat = block.reshape(len(block), -1)
            self.low, self.high = np.minimum(self.low, flat.min(axis=0)), np.maximum(self.high, flat.max(axis=0))


def _layout(source: Path) -> type[FileSource]:
    layout = layout_of(source)
    if layout is None and not source.exists():
        raise DataError(f"{source}: no such file or folder")
    if layout is None:
        files = [source] if source.is_file() else [path for path in sorted(source.iterdir()) if path.is_file()]
        if files and all(file.suffix.lower() in (".csv", ".tsv") for file in files):
            raise DataError(
                f"{source}: holds tables, but no features.csv beside labels.csv; give one table with label and split, "
                f"such as {shlex.quote(str(files[0]))}; `zslplat data template csv` writes an example of a folder"
            )
        raise DataError(
            f"{source}: no layout that is known; expected a file or folder with {EXPECTED}; "
            "`zslplat data template FORMAT` writes an example"
        )
    return layout


def _loader(layout: type[FileSource], source: Path, options: dict[str, Any]) -> FileSource:
    if "path" in options:
        raise UsageError("path is the data set itself; remove path=...")
    return layout(path=str(source.absolute()), **options)


def _copied(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def _linked(source: Path, target: Path) -> None:
    """Give a file a second name; raises :class:`DataError` where the file system cannot."""
    try:
        # Not a link to a symbolic link, which would break with its own target.
        os.link(source.resolve(), target)
    except OSError as error:
        raise DataError(
            f"{source} cannot be linked to {target.parent}: {error.strerror or error}; a link needs both on one file "
            "system: give another --data-root, or import without --link, which copies"
        ) from error


def _copy(
    loader: FileSource, source: Path, path: Path, card: FeatureCard, bring: Callable[[Path, Path], None] = _copied
) -> None:
    """Copy into a temporary place of the root, then rename, so that a copy is whole or not there."""
    files = loader.files(source)
    with draft(path.parent, ".import-") as temporary:
        new = temporary / path.name
        if source.is_file():
            # Files that belong to a single one begin with its stem, and go by the new name.
            for file in files:
                end = file.name.removeprefix(source.stem)
                if end == file.name:
                    end = f".{end}" if end.startswith(SIGNED) else f".{SIGNED}{file.suffix}"
                bring(file, temporary / f"{path.stem}{end}")
            # What an option named lies beside the copy now.
            options = {k: v for k, v in card.options.items() if not (k == SIGNED and is_signature_file(str(v)))}
            card = replace(card, options=options)
        else:
            new.mkdir()
            if isinstance(loader, Xlsa17):
                card = _features_inside(card, loader.feature_paths(source))
            for file in files:
                # Parts of one field lie in a folder of their own; features from elsewhere come along.
                inside = file.relative_to(source) if file.is_relative_to(source) else Path(file.name)
                (new / inside).parent.mkdir(parents=True, exist_ok=True)
                bring(file, new / inside)
        text = card_path(new)
        if card != FeatureCard():
            text.write_text(card.to_toml(), encoding="utf-8")
        _remove_data_set(path)
        # The data set's own file comes last: without it the others are nothing.
        for beside in temporary.iterdir():
            if beside != new:
                os.rename(beside, path.parent / beside.name)
        os.rename(new, path)


def _features_inside(card: FeatureCard, files: Sequence[Path]) -> FeatureCard:
    """Return the options for a copy: features files from elsewhere come along, and are found by their names."""
    if "features" not in card.options:
        return card
    inside = "+".join(file.stem for file in files)
    return replace(card, options={**card.options, "features": inside})


def _remove_data_set(path: Path) -> None:
    """Remove a folder, or a file with those that belong to it."""
    layout = layout_of(path)
    if layout is not None and path.is_file():
        for beside in (*layout().files(path), card_path(path)):
            _remove(beside)
    _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
