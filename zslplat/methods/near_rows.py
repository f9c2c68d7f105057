"""The neighbours of the rows of a batch: exact where comparing all pairs is quick enough, else by an index.

A graph over the rows is what transductive methods pay for. All pairs cost a time that grows with the square of the
rows, an index (:mod:`~zslplat.methods.approximate_neighbours`) one that grows little faster than the rows, at the price
of a neighbour missed now and then, which is measured and reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from zslplat.errors import OutcomeWarning
from zslplat.methods.approximate_neighbours import RowIndex, recall_of
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.neighbours import nearest
from zslplat.space import Choice, parameter

# Up to so many rows every pair is compared, unless the index is asked for.
EXACT_ROWS = 50_000
NEIGHBOURS = parameter(
    f"how neighbours of rows are found: exact, by an index (of the extra ann), or auto: exact up to {EXACT_ROWS} rows",
    Choice(("auto", "exact", "index")),
    default="auto",
)
RECALL = "neighbour_recall"
# Graphs with fewer of their neighbours than this are warned of.
LEAST_RECALL = 0.9


def is_exact(rows: int, how: str) -> bool:
    """Tell whether so many rows are all compared with one another."""
    return how == "exact" or (how == "auto" and rows <= EXACT_ROWS)


def near_rows(X: np.ndarray, k: int | None, how: str, *, index: RowIndex | None = None) -> Arrays:
    """Return ``row_neighbours`` (m, k) and ``row_cosines`` (m, k) of the rows of X, as :func:`nearest` does.

    Where an index finds them, also ``row_recall`` (), the share of the true ones that it found for a drawn sample.
    ``index``: one of X, where there is one already. Raises :class:`MethodError` where an index is wanted and the extra
    is not installed.
    """
    if is_exact(len(X), how):
        near, cosine = nearest(X, k)
        return {"row_neighbours": near, "row_cosines": cosine}
    k = max(0, min(len(X) if k is None else k, len(X) - 1))
    near, cosine = (index or RowIndex(X)).nearest(k)
    return {"row_neighbours": near, "row_cosines": cosine, "row_recall": np.array(recall_of(near, X))}


def note_recall(diagnostics: Diagnostics, statistics: Mapping[str, np.ndarray]) -> None:
    """Report the recall of the neighbours where an index found them, and warn where it missed many."""
    if "row_recall" in statistics:
        say_recall(diagnostics, RECALL, float(statistics["row_recall"]))


def say_recall(diagnostics: Diagnostics, name: str, recall: float) -> None:
    """Report a recall under a name, and warn where it is below :data:`LEAST_RECALL`."""
    diagnostics.numbers[name] = recall
    if recall < LEAST_RECALL:
        text = f"the index found {recall:.0%} of the true neighbours of a drawn sample of rows"
        warnings.warn(OutcomeWarning(text, "ZSP216"), stacklevel=2)
