"""What every task shows of its predictions: one schema of the rows, and the confusion of the classes."""

from __future__ import annotations

import numpy as np

from zslplat.figures import MatrixFigure, Table
from zslplat.metrics.accuracy import confusion_counts


def predictions_table(
    names: list[str],
    row: np.ndarray,
    true: np.ndarray,
    predicted: np.ndarray,
    score: np.ndarray,
    **more: np.ndarray,
) -> Table:
    """Return (row, true, predicted, score, ...) in the order of the data set's rows.

    All arrays are (m,); ``true`` and ``predicted`` index ``names``, ``row`` the data set. ``more`` are further columns;
    one named ``split`` or ``draw`` numbers repetitions of the rows, which follow one another.
    """
    repeated = next((more[name] for name in ("split", "draw") if name in more), np.zeros(len(row)))
    order = np.lexsort((row, repeated))
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
