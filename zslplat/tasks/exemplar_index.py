"""The index of an encoded gallery that queries are asked of later; see :mod:`zslplat.methods.exemplars.index`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.preprocessing import FrozenFeatures
from zslplat.data.store.rows import taken
from zslplat.tasks.array_names import selected
from zslplat.tasks.base import Problem

FROZEN = "frozen/features/"


def write_gallery(method: Any, problem: Problem, folder: Path) -> None:
    """Write the gallery of a problem, encoded by a fitted method, with the preprocessing of new rows."""
    from zslplat.methods.exemplars.index import write_index

    truth, names, gallery = problem.truth, problem.meta["classes"], problem.inputs["gallery"]
    rows, y = np.asarray(truth["row"]), np.asarray(truth["y"])
    if "searched" in truth and not np.all(truth["searched"]):
        searched = np.flatnonzero(truth["searched"])
        gallery, rows, y = taken(gallery, searched), rows[searched], y[searched]
    kept = selected(FROZEN, problem.inputs) or {}
    facts = json.loads(str(kept.pop("facts"))) if kept else []
    write_index(
        folder,
        method,
        gallery,
        rows=rows,
        labels=[names[c] for c in y],
        steps=FrozenFeatures.thawed(facts, kept),
    )
