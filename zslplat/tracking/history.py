"""The history of a search as table and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.drawing import dispensable, render
from zslplat.figures import Curve
from zslplat.tables import Table, write_table


def write_history(
    folder: Path, records: Sequence[Mapping[str, Any]], primary: str, maximise: bool, warn: Callable[[str], None]
) -> None:
    """Write the trials of a study as ``trials.csv``, and figures of what the search tried.

    Of those that cannot be drawn ``warn`` is told.
    """

    def draw(curve: Curve, path: Path) -> None:
        with dispensable(path, warn):
            render(curve, path)

    names = sorted({name for record in records for name in record["parameters"]})
    columns: dict[str, list[Any]] = {
        "trial": [r["number"] for r in records],
        "state": [r["state"] for r in records],
        primary: [r["value"] for r in records],
        "seconds": [r.get("seconds") for r in records],
        "reason": [r["reason"] for r in records],
        **{name: [r["parameters"].get(name) for r in records] for name in names},
    }
    write_table(Table(columns), folder / "trials.csv")
    numbers = [r["number"] for r in records if r["value"] is not None]
    values = np.array([r["value"] for r in records if r["value"] is not None], dtype=float)
    if len(values):
        best = np.maximum.accumulate(values) if maximise else np.minimum.accumulate(values)
        curve = Curve(
            {"trial": (numbers, values.tolist()), "best so far": (numbers, best.tolist())},
            "trial",
            f"validation {primary}",
            "Search history",
        )
        draw(curve, folder / "history.png")
    searched = [n for n in names if all(isinstance(r["parameters"].get(n), int | float) for r in records)]
    for name in searched:
        if len(values) > 1:
            points = sorted((r["parameters"][name], r["value"]) for r in records if r["value"] is not None)
            low, high = points[0][0], points[-1][0]
            curve = Curve(
                {"trials": ([p[0] for p in points], [p[1] for p in points])},
                name,
                f"validation {primary}",
                f"{primary} against {name}",
                logx=low > 0 and high / low > 50,
            )
            draw(curve, folder / f"searched-{name}.png")
