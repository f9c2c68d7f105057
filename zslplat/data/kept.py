"""Data sets kept on disk after the first load, so that later loads only open memory maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.array_store import EntryWriter, read_entry, write_entry
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet

_TEXTS = ("name", "default_signatures", "description", "licence", "citation")


def kept_dataset(
    cache: Path | None,
    key: str,
    build: Callable[[], Dataset],
    *,
    shared: Mapping[str, np.ndarray] | None = None,
) -> Dataset:
    """Return the data set of an earlier load, or build it and keep it, with its fingerprint, under ``key``.

    ``shared`` are arrays (``X``, ``y``) that are kept elsewhere and left out of this entry. Without ``cache`` the data
    set is built each time.
    """
    if cache is None:
        return build()
    elsewhere = dict(shared or {})
    kept = read_entry(cache, key)
    if kept is not None:
        return _rebuild({**elsewhere, **kept[0]}, kept[1])
    dataset = build()
    write_entry(cache, key, lambda writer: _write(writer, dataset, set(elsewhere)))
    kept = read_entry(cache, key)
    # None where the entry was evicted or damaged in between: what was built is still good.
    return dataset if kept is None else _rebuild({**elsewhere, **kept[0]}, kept[1])


def _write(writer: EntryWriter, dataset: Dataset, elsewhere: set[str]) -> dict[str, Any]:
    arrays: dict[str, np.ndarray] = {"X": dataset.X, "y": dataset.y}
    if dataset.groups is not None:
        arrays["groups"] = dataset.groups
    signatures = []
    for name, signature in dataset.signatures.items():
        arrays[f"signatures:{name}"] = signature.values
        if signature.classes is not None:
            arrays[f"signature classes:{name}"] = signature.classes
        signatures.append({"name": name, "per_row": signature.per_row, "names": list(signature.names)})
    for name, index in dataset.splits.items():
        arrays[f"split:{name}"] = index
    for name, array in arrays.items():
        if name not in elsewhere:
            writer.add(name, np.asarray(array))
    return {
        **{text: getattr(dataset, text) for text in _TEXTS},
        "class_names": list(dataset.class_names),
        "signatures": signatures,
        "splits": list(dataset.splits),
        "folds": [[fold.name, fold.train, fold.validation] for fold in dataset.folds],
        "source": dict(dataset.source),
        "fingerprint": dataset.fingerprint,
    }


def _rebuild(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Dataset:
    signatures = {
        kept["name"]: SignatureSet(
            arrays[f"signatures:{kept['name']}"],
            arrays.get(f"signature classes:{kept['name']}"),
            kept["per_row"],
            tuple(kept["names"]),
        )
        for kept in meta["signatures"]
    }
    return Dataset(
        X=arrays["X"],
        y=arrays["y"],
        class_names=tuple(meta["class_names"]),
        signatures=signatures,
        splits={name: arrays[f"split:{name}"] for name in meta["splits"]},
        folds=tuple(ClassFold(name, tuple(train), tuple(held_out)) for name, train, held_out in meta["folds"]),
        groups=arrays.get("groups"),
        source=meta["source"],
        known_fingerprint=meta["fingerprint"],
        **{text: meta[text] for text in _TEXTS},
    )
