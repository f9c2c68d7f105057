"""Which data sets there are, and which one a spec means: registered names first, then the data root.

Under the data root a name is a folder in one of the layouts of :data:`LAYOUTS` (the xlsa17 package, ``.npy``, Parquet),
or a file (``.npz``, CSV, Parquet, HDF5), named without its suffix.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.in_memory import NAME as IN_MEMORY
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import CsvSource, ParquetSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import HOW_TO_SET, DataPlaces, DataSource, FileSource
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

LAYOUTS: tuple[type[FileSource], ...] = (*(Xlsa17, NpySource, ParquetSource, CsvSource, Hdf5Source, NpzSource),)
FILE_SUFFIXES = tuple(suffix for layout in LAYOUTS for suffix in layout.suffixes)
EXPECTED = ", ".join(layout.expected for layout in LAYOUTS[:-1]) + f", or {LAYOUTS[-1].expected}"
# Of files that are no data sets; a name that ends so is a path, and never taken for the slip of another name.
_OTHER_SUFFIXES = (".mat", ".csv", ".tsv", ".txt", ".json", ".xls", ".xlsx", ".pkl", ".pt", ".pth", ".zip", ".gz")
_MOST_FOLDERS = 200  # that are looked into for others, of each


def layout_of(path: Path) -> type[FileSource] | None:
    """Return the layout of the file or folder at a path, None where it has none that is known."""
    return next((layout for layout in LAYOUTS if layout.fits(path)), None)


def find_data_set(root: Path, name: str) -> tuple[Path, type[FileSource] | None] | None:
    """Return what a name means under the data root, with its layout: a folder, or a file without its suffix.

    None where there is nothing of that name; a folder without a layout is passed over where there is a file. Raises
    :class:`UsageError` where several files have the name.
    """
    folder = root / name
    if folder.is_dir() and (layout := layout_of(folder)):
        return folder, layout
    files = [file for suffix in FILE_SUFFIXES if (file := root / f"{name}{suffix}").is_file()]
    if len(files) > 1:
        raise UsageError(
            f"data set {name!r} may be {' or '.join(file.name for file in files)} in {root}; name the file"
        )
    if files:
        return files[0], layout_of(files[0])
    return (folder, None) if folder.exists() else None


def data_sets_under(root: Path) -> Iterator[tuple[str, Path, type[FileSource]]]:
    """Yield (name, path, layout) of all data sets of the data root, by name."""
    for path in sorted(root.iterdir()):
        # Files of signatures lie beside tables, and are no data sets.
        beside = path.is_file() and ".signatures" in f".{path.name}"
        layout = None if path.name.startswith(".") or beside else layout_of(path)
        if layout is not None:
            yield path.name if path.is_dir() else path.stem, path, layout


def roots_below(root: Path) -> list[Path]:
    """Return the folders one or two levels below a data root that hold data sets, as ``xlsa17/data`` does."""
    places = [place for folder in _folders(root) for place in (folder, *_folders(folder))]
    return [place for place in places if layout_of(place) is None and next(data_sets_under(place), None) is not None]


def _folders(folder: Path) -> list[Path]:
    """Return the first folders inside one that is no data set itself."""
    with suppress(OSError):  # one that may not be read
        inside = (path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith("."))
        return [path for path in islice(inside, _MOST_FOLDERS) if layout_of(path) is None and os.access(path, os.R_OK)]
    return []


# Options without which a source loads nothing: it is a format, and no data set.
_NEEDED = {"path", "folder", "key"}

Registered = Mapping[str, type[DataSource] | Callable[[], type[DataSource]]]


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that can be asked for by name, or a format that files are read in.

    ``kind`` is ``registered``, ``format``, or that of the layout, such as ``npz``; ``size`` says rows, dimensions and
    classes of what was loaded before.
    """

    name: str
    kind: str
    summary: str
    path: Path | None = None
    size: str = ""


def available(places: DataPlaces, registered: Registered) -> list[CatalogueEntry]:
    """List the registered data sets, then those under the data root, each by name; nothing is loaded.

    A registered name hides a data set of the same name under the root. A plugin that does not load is listed with the
    cause in place of its summary. Where no data root is set, or it is missing, only registered ones are listed.
    """
    entries = []
    for name in sorted(registered):
        try:
            component = _class_of(registered[name])
            kind = "format" if _NEEDED & component.parameters.keys() else "registered"
            entries.append(CatalogueEntry(name, kind, component.summary))
        except PluginError as error:
            entries.append(CatalogueEntry(name, "registered", str(error)))
    if places.root is not None and places.root.is_dir():
        data_sets = data_sets_under(places.root)
        entries += [
            CatalogueEntry(name, layout.kind, layout.summary_of(path), path, _size(layout, path, places))
            for name, path, layout in data_sets
            if name not in registered
        ]
    return entries


def _size(layout: type[FileSource], path: Path, places: DataPlaces) -> str:
    """Return the size of a data set that was loaded before, as nothing is loaded for a list."""
    with suppress(DataError, OSError):
        dataset = layout(path=str(path.absolute())).stored(places)
        if dataset is not None:
            return f"{' x '.join(map(str, dataset.X.shape))}, {len(dataset.class_names)} classes"
    return ""


def parse_dataset(text: str) -> Spec:
    """Read the spec of a data set, whose name may hold blanks and signs, as file names do, without quotes about it.

    Paths are written alike whatever form they come in: ``./birds.npz`` is ``birds.npz``, and ``birds/`` is ``./birds``.
    Raises :class:`UsageError`.
    """
    try:
        spec = Spec.parse(text)
    except UsageError:
        name, mark, options = text.partition("(")
        spec = Spec(text if Path(text).expanduser().exists() else "")
        with suppress(UsageError):
            spec = Spec.parse(format_value(name.strip()) + mark + options)
        if not spec.name.strip():
            raise
    if not is_path(spec.name):
        return spec
    path = os.path.normpath(spec.name)
    return Spec(path if is_path(path) else f".{os.sep}{path}", spec.parameters)


def is_path(name: str) -> bool:
    """Tell whether the name of a data set is a path: it leads through folders, or has the suffix of a file."""
    return "/" in name or os.sep in name or name.endswith((*FILE_SUFFIXES, *_OTHER_SUFFIXES))


REDRAWN = "redrawn"  # names a data set with its classes drawn anew


def title_of(spec: Spec) -> str:
    """Return what tables and reports call a data set: its name, or that of the file or folder that is read."""
    if spec.name == IN_MEMORY and "name" in spec.parameters:
        return str(spec.parameters["name"])
    if spec.name == REDRAWN:
        of, draw = parse_dataset(str(spec.parameters.get("of", "digit-pairs"))), int(spec.parameters.get("draw", 1))
        folds = spec.parameters.get("folds")
        if not folds:
            return f"{title_of(of)}, draw {draw} of its classes"
        arrangement, fold = divmod(draw - 1, int(folds))
        more = f", arrangement {arrangement + 1}" if arrangement else ""
        return f"{title_of(of)}, fold {fold + 1} of {folds}{more}"
    path = Path(str(next((spec.parameters[key] for key in ("path", "folder") if key in spec.parameters), spec.name)))
    return path.stem if path.suffix in FILE_SUFFIXES else path.name


def in_a_shell(name: str) -> str:
    """Return the name of a data set as it is written in a shell: in quotes where it needs some, once or twice."""
    spec = Spec(name)
    with suppress(UsageError):
        if parse_dataset(name) == parse_dataset(str(spec)):
            return shlex.quote(name)
    return shlex.quote(str(spec))


def open_source(spec: Spec, places: DataPlaces, registered: Registered) -> DataSource:
    """Return the source that a spec means, its options checked: a registered name, a path, or a name under a root.

    A path is looked for in the working directory, then under the data root; a name the other way round. Raises
    :class:`UnknownNameError` with the near matches among all names, and :class:`MissingDataError` where a path leads to
    nothing, or there is no data root to look in.
    """
    name, options, root = spec.name, dict(spec.parameters), places.root
    if name in registered:
        return _class_of(registered[name])(**options)
    if "path" in options:
        raise UsageError(f"{name}: path is given by the name itself; remove path=...")
    roots = [Path(), *([root] if root is not None else [])]
    if is_path(name):
        path = next((place for place in (root / Path(name).expanduser() for root in roots) if place.exists()), None)
        if path is None:
            raise MissingDataError(_nothing_at(name, roots))
        return _opened(path, layout_of(path), options)
    matches = (find_data_set(place, name) for place in reversed(roots) if place.is_dir())
    match = next((match for match in matches if match is not None), None)
    if match is not None:
        return _opened(*match, options)
    if root is None:
        mend = f"name the folder of your data sets with {HOW_TO_SET}, or write the path of a file or folder"
        if near_names(name, registered, cutoff=0.7):
            raise UnknownNameError("data set", name, registered, lister="data list")
        raise MissingDataError(f"data set {name!r} is not built in (zslplat data list) and no data root is set; {mend}")
    if not root.is_dir():
        raise MissingDataError(f"data set {name!r}: data root {root} is no folder; set it with {HOW_TO_SET}")
    for place in roots_below(root):
        if (find_data_set(place, name) or (None, None))[1] is not None:
            raise MissingDataError(
                f"data set {name!r} lies in {place}, which is not the data root {root}; give --data-root "
                f"{shlex.quote(str(place))}"
            )
    names = {*registered, *(one for one, _, _ in data_sets_under(root))}
    kind = UnknownNameError if near_names(name, registered, cutoff=0.7) else UnknownDataError
    raise kind(f"data set (neither built in nor in data root {root}):", name, names, lister="data list")


def _opened(path: Path, layout: type[FileSource] | None, options: Mapping[str, Any]) -> FileSource:
    if layout is None:
        raise DataError(f"{path}: no data set in a layout that is known; expected {EXPECTED}")
    return layout(path=str(path.absolute()), **options)


def _nothing_at(name: str, roots: Sequence[Path]) -> str:
    """Return that a path leads to nothing, with the data sets of a near name in its folder."""
    path = Path(name).expanduser()
    folders = [folder for folder in (root / path.parent for root in roots) if folder.is_dir()]
    there = sorted(
        {(path.parent / file.name, stem) for folder in folders for stem, file, _ in data_sets_under(folder)},
        key=lambda one: (one[0].suffix != path.suffix, one),
    )
    near = [
        str(file) for name in near_names(path.stem, {stem for _, stem in there}) for file, stem in there if stem == name
    ]
    hint = f"did you mean {' or '.join(near)}?" if near else "correct the path"
    places = " and ".join(str(root.absolute()) for root in roots)
    return f"data set {name!r}: no such file or folder (looked in {places}); {hint}"


def _class_of(entry: type[DataSource] | Callable[[], type[DataSource]]) -> type[DataSource]:
    return entry if isinstance(entry, type) else entry()
