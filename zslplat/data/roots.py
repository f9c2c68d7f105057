"""Finding a data set's files under the data root, with one clear line where they are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from zslplat.data.source import DataPlaces
from zslplat.errors import MissingDataError, UnknownDataError

HOW_TO_SET = "--data-root, ZSLPLAT_DATA_ROOT or data_root in zslplat.toml"


def require_root(places: DataPlaces, wanted: str) -> Path:
    """Return the data root; raises :class:`MissingDataError` when none is set or the folder is missing."""
    if places.root is None:
        raise MissingDataError(f"{wanted}: no data root is set; name the folder of your data sets with {HOW_TO_SET}")
    if not places.root.is_dir():
        raise MissingDataError(f"{wanted}: data root {places.root} is no folder; set it with {HOW_TO_SET}")
    return places.root


def find_folder(places: DataPlaces, name: str) -> Path:
    """Return the folder ``name``: a path, or the name of a folder under the data root."""
    return _find(places, name, "folder", Path.is_dir)


def find_file(places: DataPlaces, name: str) -> Path:
    """Return the file ``name``: a path, or the name of a file under the data root."""
    return _find(places, name, "file", Path.is_file)


def find_path(places: DataPlaces, name: str, suffixes: Sequence[str]) -> Path:
    """Return the folder ``name``, or the file of that name, with one of the suffixes where it has none."""
    for suffix in ("", *suffixes):
        given = Path(name + suffix).expanduser()
        for path in ([] if places.root is None else [places.root / given]) + [given]:
            if path.is_dir() or (path.is_file() and path.suffix in suffixes):
                return path
    return _find(places, name, f"folder or {' or '.join(suffixes)} file", lambda path: path.suffix in suffixes)


def _find(places: DataPlaces, name: str, what: str, fits: Callable[[Path], bool]) -> Path:
    given = Path(name).expanduser()
    if places.root is not None and fits(places.root / given) and (places.root / given).exists():
        return places.root / given
    if fits(given) and given.exists():
        return given
    if given.is_file() and what == "folder":
        raise MissingDataError(f"{given}: is a file; the data set is a folder of files")
    if given.is_absolute():
        raise MissingDataError(f"{given}: no such {what}")
    root = require_root(places, name)
    known = [p.name for p in root.iterdir() if fits(p) and not p.name.startswith(".")]
    raise UnknownDataError(f"{what} in data root {root}", name, known)
