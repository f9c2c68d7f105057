"""What an evaluation keeps of every scored row, and the tables of predictions that all tasks show.

| column | type | meaning |
|---|---|---|
| ``row`` | int64 | row of the data set |
| ``true`` | int32 | its class, an index into ``meta["classes"]`` |
| ``group`` | int32 | its group, where the data set has groups: a place among the sorted groups |
| ``made_of`` | int32 | the k things that it is made of, where the data set says so |
| ``predicted`` | int32 | the class it was given |
| ``score`` | float32 | the score by which it was given that class |

What is kept is enough to compute resampled metrics again, and nothing else. These 24 bytes a row (20 without groups,
and 4 k more where rows are made of k things) are common to all tasks; a task says in its docstring what it adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.figures import MatrixFigure, Table
from zslplat.metrics.accuracy import confusion_counts


@dataclass(frozen=True)
class RowOutcomes:
    """Columns with an entry per scored row (or per query), and small JSON values that hold for all of them."""

    columns: Mapping[str, np.ndarray]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns["row"])

    @property
    def domain(self) -> np.ndarray | None:
        """Whether each row is of a class that was seen in training (m,), where rows of both kinds are scored.

        It needs no column: ``meta["seen"]`` says it of every class.
        """
        return np.array(self.meta["seen"])[self.columns["true"]] if "seen" in self.meta else None


def common_columns(
    row: np.ndarray, true: np.ndarray, predicted: np.ndarray, score: np.ndarray, group: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the columns of the table above from arrays (m,); ``group`` is None where there are no groups."""
    with np.errstate(over="ignore"):  # a score beyond float32 is infinite there: it is shown, not computed with
        columns: dict[str, np.ndarray] = {
            "row": np.asarray(row, dtype=np.int64),
            "true": np.asarray(true, dtype=np.int32),
            "predicted": np.asarray(predicted, dtype=np.int32),
            "score": np.asarray(score, dtype=np.float32),
        }
    return columns if group is None else columns | {"group": np.asarray(group, dtype=np.int32)}


def groups_of(dataset: Dataset, rows: np.ndarray, name: str = "group") -> dict[str, np.ndarray]:
    """Return {name: places (m,) of the rows' groups among the data set's sorted groups}; nothing without groups."""
    if dataset.groups is None:
        return {}
    places: np.ndarray = np.unique(dataset.groups, return_inverse=True)[1]
    return {name: places[rows]}


def predictions_table(
    names: list[str], row: np.ndarray, true: np.ndarray, predicted: np.ndarray, score: np.ndarray, **more: np.ndarray
) -> Table:
    """Return (row, true, predicted, score, ...) in the order of the data set's rows.

    All arrays are (m,); ``true`` and ``predicted`` index ``names``, ``row`` the data set. ``more`` are further columns.
    """
    order = np.argsort(row, kind="stable")
    return Table(
        {
            "row": row[order].tolist(),
            "true": [names[i] for i in true[order]],
            "predicted": [names[i] for i in predicted[order]],
            "score": [float(v) for v in score[order]],
            **{name: values[order].tolist() for name, values in more.items()},
        }
    )


def confusion(y: np.ndarray, predicted: np.ndarray, names: list[str], title: str) -> tuple[Table, MatrixFigure]:
    """Return the non-zero cells as a table (true, predicted, rows, share) and the row-wise shares as a figure.

    Classes without a row are left out of the rows of the figure; all stay among its columns.
    """
    counts = confusion_counts(y, predicted, len(names))
    present = np.flatnonzero(counts.sum(axis=1))
    shares = counts[present] / counts[present].sum(axis=1, keepdims=True)
    true, guess = np.nonzero(counts[present])
    table = Table(
        {
            "true": [names[present[i]] for i in true],
            "predicted": [names[j] for j in guess],
            "rows": counts[present][true, guess].tolist(),
            "share": shares[true, guess].tolist(),
        }
    )
    rows = [names[i] for i in present]
    return table, MatrixFigure(shares, rows, names, "predicted class", "true class", title)
