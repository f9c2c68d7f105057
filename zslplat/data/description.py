"""A data set in about ten lines: what it holds, where each part was read from, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset, redivided_line, signatures_line, unseen_line
from zslplat.data.exposure import exposures_of
from zslplat.data.store.rows import Rows, blocks_of
from zslplat.keys import COLUMNS
from zslplat.names import counted


def notes_of(dataset: Dataset) -> list[str]:
    """Return the sentences that say what was taken for what in the files of a data set."""
    return [str(note) for note in dataset.source.get("notes", ())]


def unread_of(dataset: Dataset) -> list[str]:
    """Return the fields of the files that play no part."""
    return [str(name) for name in dataset.source.get("unread", ())]


def description_lines(dataset: Dataset) -> list[str]:
    """Return every part of a data set with its size and the field that it was read from, a line each."""
    keys, source = dataset.source.get("keys", {}), dataset.source
    lines = []

    def add(part: str, text: str, *roles: str) -> None:
        field = next((f" (from {keys[role]})" for role in roles if role in keys), "")
        lines.append(f"{part:<13} {text}{field}")

    if "loader" in source:
        add("read as", f"{source['loader']}{' from ' + str(source['path']) if 'path' in source else ''}")
    for view, features in dataset.features().items():
        text = f"{view + ': ' if view else ''}{_sizes(features.shape)} {np.dtype(features.dtype).name}"
        add("features", text, f"X {view}" if view else "X")
    for part, encodings in source.get("encodings", {}).items():
        for name, one in encodings.items():
            digest = f" (SHA-256 {one['weights_sha256'][:12]}...)" if one["weights_sha256"] else ""
            trained = one["pretraining"] if isinstance(one["pretraining"], str) else "classes that the card names"
            trained = f"trained on {trained}" if one["pretraining"] else ""
            facts = (one["encoder"], one["weights"] + digest, one["preprocessing"], trained)
            add("made by", f"{part} {name}: {'; '.join(fact for fact in facts if fact)}")
    for exposure in exposures_of(dataset):
        add("seen before", exposure.line)
    several = ", several to a row" if dataset.y.ndim > 1 else ""
    add("labels", f"{_classes(len(dataset.class_names))}{several}: {_first(dataset.class_names)}", "y")
    for name, signatures in dataset.signatures.items():
        what = "one row per row of features" if signatures.per_row else "rows of classes"
        role = "S" if name == "S" else "row_signatures" if name == "rows" else ""
        add("signatures", f"{name}: {_sizes(signatures.values.shape)}, {what}", role)
    for name, rows in dataset.splits.items():
        labels = _labels(dataset, rows)
        kind = {"train": "seen", "test_unseen": "unseen"}.get(name, "") if "test_unseen" in dataset.splits else ""
        which = f": {_first([dataset.class_names[label] for label in labels])}" if kind else ""
        add("split", f"{name}: {counted(len(rows), 'row')} of {_classes(len(labels), kind)}{which}", name, "split")
    for fold in dataset.folds:
        text = f"{fold.name}: trains on {len(fold.train)} classes, validates on {len(fold.validation)}"
        add("fold", text, "folds", "val")
    if dataset.groups is not None:
        add("groups", str(len(np.unique(dataset.groups))), "groups")
    if unread := unread_of(dataset):
        add("not read", ", ".join(unread))
    for note in notes_of(dataset):
        add("note", note)
    if "test_unseen" in dataset.splits and "test_seen" not in dataset.splits:
        add("note", "no test rows of seen classes: the generalised task is --task 'gzsl(protocol=paper)'")
    return lines


def missing_parts(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yield what zero-shot tasks lack in a data set, with the line that mends it."""
    if dataset.y.ndim > 1 or dataset.queries or "path" not in dataset.source:
        return
    if all(signatures.per_row for signatures in dataset.signatures.values()):
        yield "no signatures of classes, which zero-shot tasks need", signatures_line(dataset)
    if dataset.signatures and len(np.unique(dataset.y)) == len(dataset.y):
        yield "one row of each class, as a table of signatures has", "give the table of the rows that these describe"
    elif not dataset.splits:
        yield "no split, so no class is unseen", unseen_line(dataset)
    elif "test" in dataset.splits and dataset.signatures:
        yield "all classes of the test train, so none is unseen", redivided_line(dataset)
    elif "test_seen" in dataset.splits and "test_unseen" not in dataset.splits:
        yield "no test rows of unseen classes", "name the split of rows whose classes are not trained on `test_unseen`"
    elif {"train", "test_unseen"} <= dataset.splits.keys():
        trained, tested = (len(_labels(dataset, dataset.splits[name])) for name in ("train", "test_unseen"))
        if trained < 4:
            yield f"{_classes(trained)} to train on", "give at least four: validation holds out two and trains on two"
        if tested < 2:
            yield f"{_classes(tested, 'unseen')}, and telling classes apart takes two", unseen_line(dataset)


def _labels(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    y = dataset.y[rows]
    return np.flatnonzero((y > 0).any(axis=0)) if y.ndim == 2 else np.unique(y)


def _classes(count: int, kind: str = "") -> str:
    return counted(count, f"{kind} class".strip(), f"{kind} classes".strip())


def _first(names: Any) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _sizes(shape: Any) -> str:
    return " x ".join(map(str, shape))


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
            view.name: {"dimensions": list(view.shape), **_extent(dataset.X.select_views([view.name]))}
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
            split: {"queries": len(of_split.rows), "database": len(of_split.database), "junk": len(of_split.junk)}
            for split, of_split in dataset.queries.items()
        },
        "groups": 0 if dataset.groups is None else len(np.unique(dataset.groups)),
        "features": _extent(dataset.X),
        "fingerprint": dataset.fingerprint,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "source": {key: value for key, value in dataset.source.items() if key not in ("notes", "unread", COLUMNS)},
        "notes": notes_of(dataset),
        "unread": unread_of(dataset),
    }
    if exposures := exposures_of(dataset):
        description["exposures"] = [asdict(exposure) for exposure in exposures]
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
