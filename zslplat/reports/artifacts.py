"""The tables that an evaluation left beside its record: read where they can be, absent where they cannot."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.evidence.results import Evaluation

MOST_ROWS = 200_000
Columns = dict[str, list[str]]
Warn = Callable[[str], None]


def table_of(evaluation: Evaluation, name: str, warn: Warn | None = None) -> Columns:
    """Return the columns of a recorded table as text; none where it is missing or cannot be read."""
    path = evaluation.artifacts / f"{name}.csv"
    if not path.is_file():
        return {}
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader)
            rows = [row for row, _ in zip(reader, range(MOST_ROWS), strict=False)]
        if any(len(row) != len(header) for row in rows):
            raise ValueError("its rows differ in length")
    except (OSError, ValueError, StopIteration, csv.Error) as error:
        if warn is not None:
            warn(f"the table {path} cannot be read: {error}; it is left out")
        return {}
    return {column: [row[i] for row in rows] for i, column in enumerate(header)}


def numbers(texts: Sequence[str]) -> list[float]:
    """Return texts as numbers, NaN where they are none."""
    values = []
    for text in texts:
        try:
            values.append(float(text))
        except ValueError:
            values.append(math.nan)
    return values


@dataclass(frozen=True)
class ClassScores:
    """A score per class, the mean over repeats: names, how many rows each has, scores, and what the score is called."""

    names: list[str]
    rows: list[float]
    scores: np.ndarray
    measure: str
    kinds: list[str]


# Of several columns of a table per class, the first of these that it has is what the headline number is a mean of.
_MEASURES = ("accuracy_calibrated", "accuracy_among_all", "accuracy", "average_precision")


def class_scores(tested: Sequence[Evaluation], warn: Warn | None = None, metric: str = "") -> ClassScores | None:
    """Return the scores per class of repeats, those behind ``metric``; None where no table says them."""
    measures = _MEASURES[1:] if metric == "H" else _MEASURES
    tables = [table for table in (table_of(evaluation, "per_class", warn) for evaluation in tested) if "class" in table]
    measure = next((name for name in measures if tables and all(name in table for table in tables)), None)
    if measure is None or any(table["class"] != tables[0]["class"] for table in tables):
        return None
    first = tables[0]
    scores = np.mean([numbers(table[measure]) for table in tables], axis=0)
    rows = numbers(first["rows"]) if "rows" in first else [math.nan] * len(first["class"])
    return ClassScores(first["class"], rows, scores, measure, first.get("kind", []))
