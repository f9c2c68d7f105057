"""A gallery of encoded rows on disk that answers queries: a fitted method, its encodings, and how to treat new rows.

The folder holds ``index.json`` and one ``.npy`` file per array, no pickle:

    state/<name>.npy       what the method learned
    gallery/<name>.npy     the encoding of the gallery, memory-mapped when it is searched
    steps/<number>.npy     what the preprocessing learned
    rows.npy, labels.npy   what to call the rows of the gallery: data set rows, and class names where they are known

Both writing and searching go through the gallery in blocks, so that memory does not grow with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.formats.array_likes import numbers_of
from zslplat.data.formats.npz import load_npy
from zslplat.data.store.atomic_files import draft
from zslplat.data.store.preprocessing import FrozenFeatures
from zslplat.errors import DataError, StoreError, UsageError, ZslplatError
from zslplat.families.exemplars.methods.base import BLOCK_ROWS, Encoding, ExemplarMethod
from zslplat.methods.base import Arrays

FORMAT = 2


@dataclass(frozen=True)
class Hits:
    """The best rows for each of q queries, best first: places in the gallery, their names, labels and similarity."""

    places: np.ndarray
    rows: np.ndarray
    scores: np.ndarray
    labels: np.ndarray | None = None


@dataclass(frozen=True)
class ExemplarIndex:
    """A fitted method and the encoding of a gallery.

    ``rows`` (g,) names the rows, ``labels`` (g,) their classes where they are known; ``steps`` is the preprocessing of
    new rows.
    """

    method: ExemplarMethod
    gallery: Encoding
    rows: np.ndarray
    labels: np.ndarray | None = None
    steps: FrozenFeatures = field(default_factory=FrozenFeatures)

    def query(self, X: np.ndarray, top: int = 10) -> Hits:
        """Return the ``top`` best rows of the gallery for each row of X (q, d), unprocessed as data sets hold them.

        Equal scores go to the row that comes first in the gallery. Raises UsageError for rows of another width,
        StoreError where the files of the index do not fit each other.
        """
        if top < 1:
            raise UsageError(f"top={top} is out of range; expected 1 or more")
        try:
            return self._hits(numbers_of(X, "X"), top)
        except ZslplatError:
            raise
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise StoreError(f"the index cannot be searched ({text}); write it again") from error

    def _hits(self, X: np.ndarray, top: int) -> Hits:
        encoded = self.method.encode(self.steps.apply(X))
        best_scores = np.empty((len(encoded), 0))
        best = np.empty((len(encoded), 0), dtype=np.int64)
        for start in range(0, len(self.gallery), BLOCK_ROWS):
            part = self.gallery.take(slice(start, start + BLOCK_ROWS))
            scores = np.hstack([best_scores, self.method.similarity(encoded, part)])
            places = np.hstack([best, np.broadcast_to(np.arange(start, start + len(part)), (len(encoded), len(part)))])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
            best_scores = np.take_along_axis(scores, order, axis=1)
            best = np.take_along_axis(places, order, axis=1)
        labels = None if self.labels is None else np.asarray(self.labels)[best]
        return Hits(best, np.asarray(self.rows)[best], best_scores, labels)

    @classmethod
    def load(cls, folder: Path) -> ExemplarIndex:
        """Open an index; its gallery is memory-mapped. Raises StoreError where it is missing, broken or too new."""
        try:
            meta = json.loads((folder / "index.json").read_text())
            if meta["format"] != FORMAT:
                raise StoreError(f"{folder} has index format {meta['format']}; this version reads format {FORMAT}")
            method_class = registry.component("methods", meta["method"])
            if method_class.kind != ExemplarMethod.kind:
                raise ValueError(f"{meta['method']} is a {method_class.kind} method")
            method = method_class.build(meta["parameters"])
            method.restore({name: load_npy(_file(folder / "state", name)) for name in meta["state"]})
            gallery = {n: np.lib.format.open_memmap(_file(folder / "gallery", n), mode="r") for n in meta["gallery"]}
            encoding = Encoding(**gallery)
            steps = _steps(folder, meta)
            rows = load_npy(folder / "rows.npy")
            labels = load_npy(folder / "labels.npy") if meta["labels"] else None
            if any(array.shape != (len(encoding),) for array in (rows, labels) if array is not None):
                raise ValueError(f"its {len(encoding)} rows do not have one name and one class each")
        except StoreError:
            raise
        except FileNotFoundError as error:
            raise StoreError(f"{folder} holds no whole index: {error.filename} is missing; write it again") from error
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise StoreError(f"the index {folder} cannot be read: {text}; write it again") from error
        return cls(method, encoding, rows, labels, steps)


def write_index(
    folder: Path,
    method: ExemplarMethod,
    X: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    steps: FrozenFeatures | None = None,
) -> None:
    """Encode the gallery X (g, ...), preprocessed, with a fitted method, and write the index.

    It is not opened: the method may be a stand-in. The folder appears whole or not at all. Raises UsageError where it
    exists or the method is not registered, StoreError where it cannot be written.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists; remove it or choose another folder for the index")
    if len(X) == 0:
        raise DataError("an index needs at least one row")
    name = registered_name(method)
    steps = steps or FrozenFeatures()
    learned = steps.arrays()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with draft(folder.parent, ".zslplat-index-") as temporary:
            meta = {
                "format": FORMAT,
                "method": name,
                "parameters": {k: _plain(v) for k, v in method.get_params(deep=False).items()},
                "state": _save(temporary / "state", method.state()),
                "steps": steps.facts(),
                "learned": list(learned),
                "gallery": _encode_into(temporary / "gallery", method, X),
                "labels": labels is not None,
            }
            _save(temporary / "steps", {f"{i:02d}": array for i, array in enumerate(learned.values())})
            named = {"rows": np.arange(len(X)) if rows is None else np.asarray(rows)}
            _save(temporary, named if labels is None else {**named, "labels": np.asarray(labels, dtype=np.str_)})
            (temporary / "index.json").write_text(json.dumps(meta, indent=1))
            os.rename(temporary, folder)
    except OSError as error:
        raise StoreError(
            f"cannot write {folder}: {error.strerror or error}; free space there or choose another folder"
        ) from error


def _file(folder: Path, name: str) -> Path:
    """Return the file of an array; raises ValueError for a name that leads elsewhere."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"{name!r} is no name of an array")
    return folder / f"{name}.npy"


def _steps(folder: Path, meta: Mapping[str, Any]) -> FrozenFeatures:
    learned = {name: load_npy(folder / "steps" / f"{i:02d}.npy") for i, name in enumerate(meta["learned"])}
    return FrozenFeatures.from_facts(meta["steps"], learned)


def registered_name(method: ExemplarMethod) -> str:
    """Return the name under which a method's class is registered; raises UsageError where it is not.

    A stand-in for a method in another process says so itself (``registered_as``).
    """
    name = getattr(type(method), "registered_as", None) or registry.registered_name(type(method), "methods")
    if name is None:
        target = f"{type(method).__module__}:{type(method).__qualname__}"
        raise UsageError(f"{target} is no registered method, so that an index of it could not be opened again")
    return name


def _encode_into(folder: Path, method: ExemplarMethod, X: np.ndarray) -> list[str]:
    """Encode X block by block into memory-mapped files; return the names of the arrays."""
    folder.mkdir()
    files: dict[str, np.memmap] = {}
    for start in range(0, len(X), BLOCK_ROWS):
        arrays: Arrays = method.encode(X[start : start + BLOCK_ROWS]).arrays()
        for name, array in arrays.items():
            if start == 0:
                shape = (len(X), *array.shape[1:])
                files[name] = np.lib.format.open_memmap(
                    folder / f"{name}.npy", mode="w+", dtype=array.dtype, shape=shape
                )
            files[name][start : start + len(array)] = array
    for file in files.values():
        file.flush()
    return list(files)


def _save(folder: Path, arrays: Mapping[str, Any]) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.asarray(array), allow_pickle=False)
    return list(arrays)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, int | float) else _text(value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
