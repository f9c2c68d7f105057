"""Features of images that are known by name: one ``.npz`` file, or a folder with ``features.npy`` and a list of names.

In an ``.npz`` file the features are ``X`` or ``features`` (n, d) and the names ``names``, ``ids`` or ``images`` (n,),
texts or whole numbers. In a folder the names are lines of a text file (:data:`LISTS`), or an ``.npy`` file. A name may
have a folder in front and a suffix behind it: ``jpg/100000.jpg`` is image ``100000``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from zslplat.data.assembly import checked_features
from zslplat.data.class_lists import read_lines
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.npy_folder import npy_stream
from zslplat.data.formats.npz import NpzFile, load_npy
from zslplat.data.store.array_store import file_stamp, sha256_of
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError

FEATURES, NAMES = ("X", "features"), ("names", "ids", "images")

LISTS = ("names.txt", "ids.txt", "images.txt", "names.npy", "ids.npy", "images.npy")


@dataclass(frozen=True)
class NamedImages:
    """Features (n, d) and the names (n,) of the images, each once; ``paths`` are the files that they lie in."""

    where: Path
    X: np.ndarray | RowStream
    names: tuple[str, ...]
    paths: tuple[Path, ...]

    def key(self) -> list[object]:
        """Return what tells these files from others."""
        return [file_stamp(path) for path in self.paths]

    def checksums(self) -> dict[str, str]:
        """Return the files but the features with their checksums."""
        return {path.name: sha256_of(path) for path in self.paths if path.name != "features.npy"}


def named_images(path: Path, *, lists: Sequence[str] = ()) -> NamedImages:
    """Read the features and names at a path; ``lists`` are further names that the list of images may have.

    Raises :class:`DataError` where there are none, where their numbers differ, or where a name is there twice.
    """
    if path.is_dir():
        features = next((path / f"{name}.npy" for name in FEATURES if (path / f"{name}.npy").is_file()), None)
        listed = next((path / name for name in (*lists, *LISTS) if (path / name).is_file()), None)
        if features is None or listed is None:
            needed = f"features.npy and {' or '.join((*lists, LISTS[0]))}, the names of its rows"
            present = ", ".join(sorted(p.name for p in path.iterdir())[:10]) or "nothing"
            raise DataError(f"{path}: expected {needed}; the folder has {present}")
        X: np.ndarray | RowStream = npy_stream(features)
        names, paths = _listed(listed), [features, listed]
    else:
        file = NpzFile(path)
        key, names_key = (next((n for n in usual if n in file.names), "") for usual in (FEATURES, NAMES))
        if not key or not names_key:
            raise DataError(
                f"{path}: expected {' or '.join(FEATURES)}, and {', '.join(NAMES[:-1])} or {NAMES[-1]}; {file.listing}"
            )
        X = checked_features(file.read(key), f"{path}: {key}")
        names, paths = names_of(file.read(names_key), f"{path}, {names_key}"), [path]
    if len(X.shape) != 2 or 0 in X.shape:
        raise DataError(f"{path}: features have shape {X.shape}; expected (images, dimensions)")
    if len(names) != X.shape[0]:
        raise DataError(f"{path}: {X.shape[0]} rows of features but {len(names)} names")
    stems = tuple(stem(name) for name in names)
    if len(set(stems)) < len(stems):
        twice = next(name for name in stems if stems.count(name) > 1)
        raise DataError(f"{path}: image {twice!r} is there twice")
    return NamedImages(path, X, stems, tuple(paths))


def stem(name: str) -> str:
    """Return the name of an image without folder and suffix."""
    last = PurePosixPath(name.strip().replace("\\", "/")).name
    return last.rsplit(".", 1)[0] if "." in last else last


def _listed(path: Path) -> list[str]:
    if path.suffix != ".npy":
        return read_lines(path)
    try:
        listed = load_npy(path)
    except Exception as error:
        raise DataError(f"{path}: cannot be read as names ({error}); save it again with numpy.save") from error
    return names_of(listed, str(path))
