"""Which data sets there are, and which one a spec means: registered names first, then the data root.

Under the data root a name is a folder in one of the layouts of :mod:`zslplat.data.layouts` (the xlsa17 package, CSV,
``.npy``, Parquet, HDF5), or a file (``.npz``, Parquet, HDF5), named without its suffix.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.layouts import EXPECTED, FILE_SUFFIXES, LAYOUTS, OPTIONS, layout_of, named, roots_below, under
from zslplat.data.reading import notes_of, unread_of
from zslplat.data.roots import HOW_TO_SET
from zslplat.data.rows import Rows, blocks_of
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import (
    DataError,
    MissingDataError,
    PluginError,
    UnknownDataError,
    UnknownNameError,
    UsageError,
    near_names,
)
from zslplat.spec import Spec, format_value

Registered = Mapping[str, type[DataSource] | Callable[[], type[DataSource]]]


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that can be asked for by name: ``kind`` is ``registered`` or that of its layout, such as ``npz``."""

    name: str
    kind: str
    summary: str
    path: Path | None = None


def available(places: DataPlaces, registered: Registered) -> list[CatalogueEntry]:
    """List the registered data sets, then those under the data root, each by name; nothing is loaded.

    A registered name hides a data set of the same name under the root. A plugin that does not load is listed with the
    cause in place of its summary. Where no data root is set, or it is missing, only registered ones are listed.
    """
    entries = []
    for name in sorted(registered):
        try:
            summary = _class_of(registered[name]).summary
        except PluginError as error:
            summary = str(error)
        entries.append(CatalogueEntry(name, "registered", summary))
    if places.root is not None and places.root.is_dir():
        found = under(places.root)
        entries += [
            CatalogueEntry(name, layout.kind, layout.summary(path), path)
            for name, path, layout in found
            if name not in registered
        ]
    return entries


def parse_dataset(text: str) -> Spec:
    """Read the spec of a data set, whose name may hold blanks and signs, as file names do, without quotes about it.

    Raises :class:`UsageError`, for a path with the spec that reads what is there.
    """
    try:
        return Spec.parse(text)
    except UsageError:
        name, mark, options = text.partition("(")
        if not any(separator in name for separator in ("/", os.sep)):
            if name.strip():
                with suppress(UsageError):
                    return Spec.parse(format_value(name.strip()) + mark + options)
            raise
        hint = loader_hint(text)
        if hint:
            raise UsageError(f"data set {text!r} is a path, not a name; {hint}") from None
        if not mark:
            raise UsageError(
                f"data set {text!r}: no such file or folder; write a name, or {', '.join(_forms()[:-1])} or "
                f"{_forms()[-1]}"
            ) from None
        raise


def in_a_shell(name: str) -> str:
    """Return the name of a data set as it is written in a shell: in quotes where it needs some, once or twice."""
    spec = Spec(name)
    with suppress(UsageError):
        if parse_dataset(name) == spec:
            return shlex.quote(name)
    return shlex.quote(str(spec))


def loader_hint(text: str) -> str:
    """Return which spec loads the file or folder at a path; an empty text where there is nothing of a known layout."""
    path = Path(text).expanduser()
    layout = layout_of(path)
    if layout is None:
        nothing = f"it is no file and no folder in a layout that is known; expected {EXPECTED}"
        return nothing if path.exists() and "/" in text else ""
    return f"write --dataset {shlex.quote(f'{layout.kind}({layout.option}={format_value(text)})')}"


def _forms() -> list[str]:
    return [f'{layout.kind}({layout.option}="PATH")' for layout in reversed(LAYOUTS)]


def open_source(spec: Spec, places: DataPlaces, registered: Registered) -> DataSource:
    """Return the source that a spec means, its options checked.

    Raises :class:`UnknownNameError` with the near matches among both kinds of names, :class:`DataError` when the name
    is not registered and there is no data root to look in.
    """
    options = dict(spec.parameters)
    if spec.name in registered:
        return _class_of(registered[spec.name])(**options)
    root = places.root
    found = None if root is None else named(root, spec.name)
    inside = root is not None and spec.name.endswith(FILE_SUFFIXES) and (root / spec.name).is_file()
    if inside:
        stem = Path(spec.name).stem
        form = shlex.quote(str(Spec(stem, options))) if options else in_a_shell(stem)
        raise UsageError(f"data set {spec.name!r} is a file of the data root; write its name, --dataset {form}")
    hint = "" if found else loader_hint(spec.name)
    if hint:
        raise UsageError(f"data set {spec.name!r} is not a name but a path; {hint}")
    if root is None:
        near = near_names(spec.name, registered, cutoff=0.7)
        if near:
            raise UnknownNameError(
                "data set",
                spec.name,
                registered,
                f"did you mean {', '.join(near)}? One of your own needs a data root, and none is set: name the folder "
                f"of your data sets with {HOW_TO_SET}",
            )
        raise MissingDataError(
            f"data set {spec.name!r} is not built in ({', '.join(sorted(registered))}) and no data root is set; name "
            f"the folder of your data sets with {HOW_TO_SET}"
        )
    if not root.is_dir():
        raise MissingDataError(f"data set {spec.name!r}: data root {root} is no folder; set it with {HOW_TO_SET}")
    for key in OPTIONS:
        if key in options:
            raise UsageError(f"{spec.name}: {key} is given by the name itself; remove {key}=...")
    if found is not None:
        path, layout = found
        if layout is None:
            raise DataError(f"{path}: no data set in a layout that is known; expected {EXPECTED}")
        return layout.loader(**{layout.option: path.name}, **options)
    for place in roots_below(root):
        if (named(place, spec.name) or (None, None))[1] is not None:
            raise MissingDataError(
                f"data set {spec.name!r} lies in {place}, which is not the data root {root}; give --data-root "
                f"{shlex.quote(str(place))}"
            )
    known = {*registered, *(name for name, _, _ in under(root))}
    if near_names(spec.name, registered, cutoff=0.7):
        raise UnknownNameError(f"data set (neither built in nor in data root {root}):", spec.name, known)
    raise UnknownDataError(f"data set (neither built in nor in data root {root}):", spec.name, known)


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return what ``zslplat data info`` shows, as JSON values: shapes, classes, folds, signatures, splits, sources."""
    y, splits = dataset.y, {name: np.asarray(index) for name, index in dataset.splits.items()}
    several = y.ndim == 2

    def classes(index: np.ndarray) -> int:
        return int((y[index] > 0).any(axis=0).sum()) if several else len(np.unique(y[index]))

    description: dict[str, Any] = {
        "name": dataset.name,
        "description": dataset.description,
        "rows": len(dataset.X),
        "dimensions": list(dataset.X.shape[1:]),
        "feature_type": str(dataset.X.dtype),
        "views": {
            view.name: {"dimensions": list(view.shape), **_extent(dataset.X.only([view.name]))}
            for view in dataset.views
            if isinstance(dataset.X, Rows)
        },
        "classes": len(dataset.class_names),
        "labels_per_row": "several" if several else "one",
        "splits": {name: {"rows": len(index), "classes": classes(index)} for name, index in splits.items()},
        "folds": [
            {"name": f.name, "train_classes": len(f.train), "validation_classes": len(f.validation)}
            for f in dataset.folds
        ],
        "signatures": {},
        "default_signatures": dataset.default_signatures,
        "queries": {
            split: {"queries": len(asked.rows), "database": len(asked.database), "junk": len(asked.junk)}
            for split, asked in dataset.queries.items()
        },
        "groups": 0 if dataset.groups is None else len(np.unique(dataset.groups)),
        "features": _extent(dataset.X),
        "fingerprint": dataset.fingerprint,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "source": {key: value for key, value in dataset.source.items() if key not in ("notes", "unread")},
        "notes": notes_of(dataset),
        "unread": unread_of(dataset),
    }
    if several:
        description["labels_of_a_row"] = float((y > 0).sum(axis=1).mean())
        description["labels_not_counted"] = int((y < 0).sum())
    if "train" in splits:
        description["seen_classes"] = classes(splits["train"])
    if "test_unseen" in splits:
        description["unseen_classes"] = classes(splits["test_unseen"])
    for name, signature in dataset.signatures.items():
        described = "rows of X" if signature.per_row else "classes"
        description["signatures"][name] = {
            "describes": described,
            "rows": len(signature.values),
            "attributes": int(signature.values.shape[1]),
            **_extent(signature.values),
        }
    return description


def _extent(values: np.ndarray | Rows) -> dict[str, float]:
    """Return the smallest and largest value and the shares of negative and of zero entries, block by block."""
    low, high, negative, zero = np.inf, -np.inf, 0, 0
    for _, block in blocks_of(values):
        low, high = min(low, float(block.min())), max(high, float(block.max()))
        negative += int(np.count_nonzero(block < 0))
        zero += int(np.count_nonzero(block == 0))
    return {"min": low, "max": high, "negative_share": negative / values.size, "zero_share": zero / values.size}


def _class_of(entry: type[DataSource] | Callable[[], type[DataSource]]) -> type[DataSource]:
    return entry if isinstance(entry, type) else entry()
