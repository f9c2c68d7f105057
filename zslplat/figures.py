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


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot: an estimate with the ends of up to two intervals; the narrow one is drawn thick.

    A row without a ``value`` is a heading. ``note`` stands at the right. ``mark``: ``filled``; ``hollow``, which is not
    part of the pooled estimate; ``pooled``, a diamond as wide as its interval. ``style`` numbers colour and marker.
    """

    label: str
    value: float | None = None
    narrow: tuple[float, float] | None = None
    wide: tuple[float, float] | None = None
    note: str = ""
    mark: str = "filled"
    style: int = 0


@dataclass(frozen=True)
class Forest:
    """Estimates below each other with their intervals, the first on top.

    ``level``: a dashed line, such as no difference or chance; ``band``: the ends of a margin, which is shaded.
    """

    rows: Sequence[ForestRow]
    xlabel: str
    title: str = ""
    level: float | None = None
    band: tuple[float, float] | None = None
    signed: bool = False


Figure = Curve | MatrixFigure | ScatterFigure | Forest


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
