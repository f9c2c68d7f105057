"""How the files of a data set were read, as lines for people: which field is what, and what was taken for what."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.wording import counted


def notes_of(dataset: Dataset) -> list[str]:
    """Return the sentences that say what was taken for what in the files of a data set."""
    return [str(note) for note in dataset.source.get("notes", ())]


def unread_of(dataset: Dataset) -> list[str]:
    """Return the fields of the files that play no part."""
    return [str(name) for name in dataset.source.get("unread", ())]


def lines_of_reading(dataset: Dataset) -> list[str]:
    """Return the whole reading of a data set: every part with its shape and the field that it was read from."""
    keys = dataset.source.get("keys", {})

    def line(part: str, text: str, *roles: str) -> str:
        field = next((f" (from {keys[role]})" for role in roles if role in keys), "")
        return f"{part:<13} {text}{field}"

    y, names = dataset.y, dataset.class_names
    lines = [line("read as", str(dataset.source.get("loader", "")))] if "loader" in dataset.source else []
    for view, source in dataset.features().items():
        text = f"{view + ': ' if view else ''}{_sizes(source.shape)} {np.dtype(source.dtype).name}"
        lines.append(line("features", text, f"X {view}" if view else "X"))
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    lines.append(line("labels", f"{counted(len(names), 'class', 'classes')}: {shown}", "y"))
    for name, signatures in dataset.signatures.items():
        what = "one row per row of features" if signatures.per_row else "rows of classes"
        lines.append(line("signatures", f"{name}: {_sizes(signatures.values.shape)}, {what}", *_roles_of(name)))
    for name, rows in dataset.splits.items():
        classes = int((y[rows] > 0).any(axis=0).sum()) if y.ndim == 2 else len(np.unique(y[rows]))
        text = f"{name}: {counted(len(rows), 'row')} of {counted(classes, 'class', 'classes')}"
        lines.append(line("split", text, name, "split"))
    for fold in dataset.folds:
        text = f"{fold.name}: trains on {len(fold.train)} classes, validates on {len(fold.validation)}"
        lines.append(line("fold", text, "folds", "val"))
    if dataset.groups is not None:
        lines.append(line("groups", str(len(np.unique(dataset.groups))), "groups"))
    if unread := unread_of(dataset):
        lines.append(line("not read", ", ".join(unread)))
    return [*lines, *(line("note", note) for note in notes_of(dataset))]


def _roles_of(name: str) -> tuple[str, ...]:
    return ("S",) if name == "S" else ("row_signatures",) if name == "rows" else ()


def _sizes(shape: Any) -> str:
    return " x ".join(map(str, shape))
