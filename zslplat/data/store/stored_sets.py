"""Data sets on disk after the first load: each row once, in an order that says nothing of the classes.

Every view of a data set is one file of rows, which folds are index views of (:mod:`zslplat.data.store.rows`). The rows
lie in an order that is drawn: a method that gets some of them, and where they lie, learns nothing of the order
of the file that they came from, which often runs through the classes. What reads them in the order of the disk sees
them shuffled. Loading goes through a file once: rows are checked, fingerprinted and written as they come.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset, Queries, SignatureSet, begin_digest, check_finite
from zslplat.data.store.array_store import EntryWriter, place_of, read_entry, write_entry
from zslplat.data.store.atomic_files import draft
from zslplat.data.store.rows import Part, Rows, RowStream, Source, Stored, View, float_type, in_row_order
from zslplat.keys import key_of

_VERSION = 3  # of how data sets are kept; a new number leaves older entries unused

_TEXTS = ("name", "default_signatures", "description", "licence", "citation")

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def stored_dataset(cache: Path | None, key: str, build: Callable[[], Dataset]) -> Dataset:
    """Return the data set of an earlier load, or build it and keep it, with its fingerprint, under ``key``.

    Features that lie in an entry already (:func:`stored_features`) stay where they are. Without ``cache`` the data set
    is built each time. Raises :class:`~zslplat.errors.DataError` for NaN or infinity, with the row.
    """
    if cache is None:
        return build()
    stored = read_stored(cache, key)
    if stored is not None:
        return stored
    dataset = build()
    write_entry(cache, _entry_key(key), lambda writer: _write(writer, dataset))
    # None where the entry was evicted or damaged in between: what was built is still good.
    return read_stored(cache, key) or dataset


def _entry_key(key: str) -> str:
    return key_of("kept", _VERSION, key)


def copy_stored_sets(theirs: Path, ours: Path) -> None:
    """Copy the kept data sets of another folder that this one does not hold; raises OSError where it cannot."""
    for entry in sorted(theirs.iterdir()) if theirs.is_dir() else ():
        if entry.is_dir() and not entry.name.startswith(".") and not (ours / entry.name).exists():
            ours.mkdir(parents=True, exist_ok=True)
            with draft(ours) as copy:
                shutil.copytree(entry, copy, dirs_exist_ok=True)
                os.rename(copy, ours / entry.name)


def stored_features(cache: Path, key: str, read: Callable[[], tuple[RowStream, np.ndarray]]) -> tuple[Rows, np.ndarray]:
    """Return the features and labels (n,) of one file, kept under ``key`` for all data sets that share them.

    ``read`` returns them where they are not there yet.
    """
    key = key_of("kept features", _VERSION, key)
    digest: Any = None
    entry = read_entry(cache, key)
    if entry is None:
        stream, labels = read()

        def fill(writer: EntryWriter) -> dict[str, Any]:
            nonlocal digest
            writer.add("y", labels)
            digest = _write_rows(writer, "X", "", stream, storage_order(labels), hashlib.sha256())
            return {"row": list(stream.shape[1:])}

        write_entry(cache, key, fill)
        entry = read_entry(cache, key)
        if entry is None:  # it was evicted or damaged in between
            return Rows.of({"": stream}), labels
    y = entry[0]["y"]
    X = Rows([stored_part(cache / key, "X", View("", tuple(entry[1]["row"])))], storage_order(y))
    X.digest = digest
    return X, y


def stored_part(folder: Path, array: str, view: View) -> Part:
    """Return a view whose rows an entry holds under a name."""
    return Part(view, Stored(*place_of(folder, array)))


def storage_order(y: np.ndarray) -> np.ndarray:
    """Return where each row lies (n,), by labels y (n,) or (n, l): equal data are stored alike, on any machine.

    The seed is made of how many rows each class has, which is out of reach of code that is not to know the order of the
    file, and not of which rows these are: which row has which label plays no part in the order of sums over other rows.
    The draw is SplitMix64 (Steele, Lea and Flood, 2014), whose numbers are all different.
    """
    counts = np.bincount(y) if y.ndim == 1 else (y > 0).sum(axis=0)
    content = f"{y.shape}".encode() + np.ascontiguousarray(counts, dtype=np.int64).tobytes()
    seed = np.frombuffer(hashlib.sha256(content).digest()[:8], np.uint64)
    drawn = seed + np.arange(1, len(y) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in zip((30, 27), _MIX, strict=True):
        drawn = (drawn ^ (drawn >> np.uint64(shift))) * factor
    drawn ^= drawn >> np.uint64(31)
    places = np.empty(len(y), dtype=np.int64)
    places[np.argsort(drawn)] = np.arange(len(y))
    return places


def _write(writer: EntryWriter, dataset: Dataset) -> dict[str, Any]:
    digest = hashlib.sha256()
    places = storage_order(dataset.y)
    views = []
    shared = all(isinstance(source, Stored) for source in dataset.features().values())
    for name, source in dataset.features().items():
        view: dict[str, Any] = {"name": name, "row": list(source.shape[1:])}
        if isinstance(source, Stored):
            # Beside this entry, under a name that holds wherever the cache is moved.
            path = Path(str(source.file))
            view |= {"file": [path.parent.name, path.name], "type": source.dtype, "offset": source.offset}
        else:
            digest = _write_rows(writer, f"X:{name}", name, source, places, digest)
        views.append(view)
    known_before = shared or bool(dataset.known_fingerprint)
    features = dataset.features_digest if known_before else digest.hexdigest()
    arrays: dict[str, np.ndarray] = {"y": dataset.y}
    if dataset.groups is not None:
        arrays["groups"] = dataset.groups
    if dataset.made_of is not None:
        arrays["made_of"] = dataset.made_of
    signatures = []
    for name, signature in dataset.signatures.items():
        arrays[f"signatures:{name}"] = signature.values
        if signature.classes is not None:
            arrays[f"signature classes:{name}"] = signature.classes
        signatures.append({"name": name, "per_row": signature.per_row, "names": list(signature.names)})
    for name, index in dataset.splits.items():
        arrays[f"split:{name}"] = index
    for split, of_split in dataset.queries.items():
        arrays |= {f"queries:{split}:{name}": array for name, array in of_split.arrays()}
    for name, array in arrays.items():
        writer.add(name, np.asarray(array))
    return {
        **{text: getattr(dataset, text) for text in _TEXTS},
        "views": views,
        "class_names": list(dataset.class_names),
        "signatures": signatures,
        "splits": list(dataset.splits),
        "queries": list(dataset.queries),
        "folds": [[fold.name, fold.train, fold.validation] for fold in dataset.folds],
        "source": dict(dataset.source),
        "fingerprint": dataset.fingerprint if known_before else dataset.fingerprinted(digest),
        "features_digest": features,
    }


def _write_rows(writer: EntryWriter, array: str, view: str, source: Source, places: np.ndarray, digest: Any) -> Any:
    """Write one view from beginning to end, each row to its place; check the rows on the way.

    Return the digest with the rows added. Rows that float32 does not hold are written a second time, as float64.
    """
    where = getattr(source, "where", "") or (f"view {view!r}" if view else "features")
    assert not isinstance(source, Stored)
    passes = source.passes() if isinstance(source, RowStream) else [(source.dtype, in_row_order(source))]
    for dtype, blocks in passes:
        extended = digest.copy()
        begin_digest(extended, view, tuple(source.shape), dtype)
        placed = _placed(blocks, dtype, places, extended, where)
        writer.add_rows(array, tuple(source.shape), float_type(dtype), placed)
    return extended


def _placed(
    blocks: Iterable[np.ndarray], dtype: np.dtype[Any], places: np.ndarray, digest: Any, where: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of rows with their places; check them, and add them to the digest."""
    start = 0
    for block in blocks:
        check_finite(where, block, first=start)
        digest.update(np.ascontiguousarray(block, dtype=dtype).data)
        yield places[start : start + len(block)], block
        start += len(block)


def read_stored(cache: Path, key: str) -> Dataset | None:
    """Return the data set of an earlier load, None where there is none."""
    key = _entry_key(key)
    stored = read_entry(cache, key)
    if stored is None:
        return None
    arrays, meta = stored
    parts = []
    for fact in meta["views"]:
        view = View(fact["name"], tuple(fact["row"]))
        if "file" not in fact:
            parts.append(stored_part(cache / key, f"X:{view.name}", view))
            continue
        entry, file = fact["file"]
        if read_entry(cache, entry) is None:  # the features that this data set shares were evicted
            return None
        shape = (len(arrays["y"]), *view.shape)
        parts.append(Part(view, Stored(str(cache / entry / file), fact["type"], shape, fact["offset"])))
    return _rebuild(Rows(parts, storage_order(arrays["y"])), arrays, meta)


def _rebuild(X: Rows, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Dataset:
    signatures = {
        fact["name"]: SignatureSet(
            arrays[f"signatures:{fact['name']}"],
            arrays.get(f"signature classes:{fact['name']}"),
            fact["per_row"],
            tuple(fact["names"]),
        )
        for fact in meta["signatures"]
    }
    return Dataset(
        X=X,
        y=arrays["y"],
        class_names=tuple(meta["class_names"]),
        signatures=signatures,
        splits={name: arrays[f"split:{name}"] for name in meta["splits"]},
        folds=tuple(ClassFold(name, tuple(train), tuple(held_out)) for name, train, held_out in meta["folds"]),
        groups=arrays.get("groups"),
        made_of=arrays.get("made_of"),
        queries={split: _queries(split, arrays) for split in meta.get("queries", ())},
        source=meta["source"],
        known_fingerprint=meta["fingerprint"],
        known_features=meta.get("features_digest", ""),
        **{text: meta[text] for text in _TEXTS},
    )


def _queries(split: str, arrays: Mapping[str, np.ndarray]) -> Queries:
    prefix = f"queries:{split}:"
    return Queries(**{name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})


def in_files(dataset: Dataset, cache: Path) -> Dataset:
    """Return the same data set with its features in files: those of a loader that keeps nothing are kept here."""
    if all(isinstance(source, Stored) for source in dataset.features().values()):
        return dataset
    stored = stored_dataset(cache, key_of("in memory", dataset.fingerprint), lambda: dataset)
    return replace(dataset, X=stored.X, known_fingerprint=dataset.fingerprint, known_features=dataset.features_digest)
