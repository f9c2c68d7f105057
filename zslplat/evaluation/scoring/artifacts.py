"""The files that an evaluation leaves: learned matrices, tables, figures, series. No pickle."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from zslplat.drawing import optional_picture, render
from zslplat.errors import OutcomeWarning
from zslplat.figures import Curve, Figure, ScatterFigure, Table, write_table
from zslplat.keys import key_of
from zslplat.names import MOST_BYTES
from zslplat.tasks.base import Outcome

_CUT = 150  # bytes that are kept of a longer file name


def write_artifacts(
    folder: Path,
    matrices: Mapping[str, np.ndarray],
    series: Mapping[str, Sequence[float]],
    outcome: Outcome,
    matrices_bytes: int,
) -> None:
    """Write the files of a fitted method and its outcome.

    ``matrices/*.npy`` as long as they fit into ``matrices_bytes`` together (the others are named in
    ``matrices/left_out.json``); tables as CSV and figures as PNG where the outcome has them, the points of maps as CSV
    as well; every series (of the method's diagnostics) as CSV, and as PNG beside figures. A figure that cannot be drawn
    is left out with a warning (:class:`~zslplat.errors.OutcomeWarning`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_matrices(folder / "matrices", matrices, matrices_bytes)
    for name, table in outcome.tables.items():
        write_table(table, folder / f"{_file_name(name)}.csv")
    for name, figure in outcome.figures.items():
        _draw(figure, folder / f"{_file_name(name)}.png")
        if isinstance(figure, ScatterFigure) and name not in outcome.tables:
            write_table(_points(figure), folder / f"{_file_name(name)}.csv")
    for name, values in series.items():
        steps = list(range(1, len(values) + 1))
        write_table(Table({"step": steps, name: values}), folder / f"{_file_name(name)}.csv")
        if outcome.figures and len(values) > 1:
            curve = Curve({name: (steps, values)}, "iteration", name, f"{name} by iteration")
            _draw(curve, folder / f"{_file_name(name)}.png")


def _draw(figure: Figure, path: Path) -> None:
    with optional_picture(path, lambda text: warnings.warn(OutcomeWarning(text), stacklevel=2)):
        render(figure, path)


def _points(figure: ScatterFigure) -> Table:
    """Return the points of a map: panel, class, x, y."""
    columns: dict[str, list[object]] = {"panel": [], "class": [], "x": [], "y": []}
    for panel, points in figure.panels.items():
        columns["panel"] += [panel] * len(points)
        columns["class"] += [figure.names[label] for label in figure.labels]
        columns["x"] += points[:, 0].tolist()
        columns["y"] += points[:, 1].tolist()
    return Table(columns)


def _write_matrices(folder: Path, matrices: Mapping[str, np.ndarray], budget: int) -> None:
    left_out = {}
    for name, matrix in matrices.items():
        if matrix.nbytes > budget:
            left_out[name] = {"shape": list(matrix.shape), "bytes": int(matrix.nbytes)}
            continue
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{_file_name(name)}.npy", matrix, allow_pickle=False)
        budget -= matrix.nbytes
    if left_out:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "left_out.json").write_text(json.dumps(left_out, indent=1))


def _file_name(name: str) -> str:
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-") or "unnamed"
    # A hundred letters may be three hundred bytes, which is what file systems count.
    encoded = plain.encode()
    return plain if len(encoded) <= MOST_BYTES else f"{encoded[:_CUT].decode(errors='ignore')}-{key_of(name)[:8]}"
