"""What figures show, as plain values: :mod:`zslplat.drawing` makes pictures of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
