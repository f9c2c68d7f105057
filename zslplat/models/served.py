"""A saved model as MLflow calls it: rows in, a table of predictions out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import names_of, numbers_of
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.errors import UsageError
from zslplat.models.predictors import load_saved

# What a request may say beside its rows, and what holds where it says nothing: see ``PARAMETERS`` in docs/models.md.
PARAMETERS: Mapping[str, Any] = {"classes": [], "signatures": [], "generalised": False, "top": 0, "scores": False}


class Served:
    """The model of an export; ``predict`` takes rows as an array (n, d) or a frame with a column for each feature.

    What MLflow wants of a Python model is these two methods, so that this module needs no MLflow.
    """

    def __init__(self, folder: Path) -> None:
        self.model = load_saved(folder)

    def predict(self, rows: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return a frame of predictions, a line for each row: ``class``, ``score``, those of the next best.

        ``params``: ``classes``, names of new classes, and ``signatures``, their attributes one class after the other in
        one list; ``generalised``, ``top`` and ``scores`` as `zslplat predict` has them. Raises
        :class:`~zslplat.errors.UsageError` and :class:`~zslplat.errors.DataError` for what does not fit.
        """
        import pandas as pd

        asked = {**PARAMETERS, **{name: value for name, value in (params or {}).items() if value is not None}}
        model = self.model
        X = model.checked(rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows))
        candidates = model.asked_for(_signatures(asked["classes"], asked["signatures"]), bool(asked["generalised"]))
        step = len(X) if model.joint else model.block_rows
        top = int(asked["top"]) or model.usual_top()
        tables = [
            pd.DataFrame(model.table(X[first : first + step], first, top, candidates, scores=bool(asked["scores"])))
            for first in range(0, len(X), max(1, step))
        ]
        return pd.concat(tables, ignore_index=True).drop(columns="row")


def _signatures(classes: Any, flat: Any) -> tuple[list[str], np.ndarray] | None:
    names, values = names_of(classes, "classes"), in_type(numbers_of(flat, "signatures"), DOUBLE, "signatures")
    if not names and not values.size:
        return None
    if not names or values.size % len(names) or not values.size:
        raise UsageError(
            f"{len(names)} classes and {values.size} numbers of signatures; give classes, and in signatures the "
            "attributes of each, one class after the other in one list"
        )
    return names, values.reshape(len(names), -1)
