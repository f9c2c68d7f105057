"""What figures and tables show, as plain values; :mod:`zslplat.drawing` makes pictures of figures."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Curve:
    """A figure of one or several lines: ``lines`` maps a label to (x, y)."""

    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    xlabel: str
    ylabel: str
    title: str = ""
    logx: bool = False
    points: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class MatrixFigure:
    """A figure of a matrix with named rows and columns, for example a confusion matrix."""

    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    xlabel: str = ""
    ylabel: str = ""
    title: str = ""


@dataclass(frozen=True)
class ScatterFigure:
    """A figure of labelled points in the plane, for example a t-SNE map; several panels side by side."""

    panels: Mapping[str, np.ndarray]
    labels: np.ndarray
    names: Sequence[str]
    title: str = ""


Figure = Curve | MatrixFigure | ScatterFigure


@dataclass(frozen=True)
class Table:
    """Columns of equal length, in order; written as CSV."""

    columns: Mapping[str, Sequence[Any]]


def write_table(table: Table, path: Path | str) -> None:
    """Write a table as CSV: a header, one line per row, numbers in full precision, nothing for None.

    Raises :class:`ValueError` where columns differ in length.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(zip(*table.columns.values(), strict=True))
