"""Figures and tables of a search: its history, and how much each hyperparameter mattered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.drawing import LINE, TITLE, label_text, optional_picture, render, save
from zslplat.figures import Curve, Table, write_table
from zslplat.records.importance import Importance, importance_of


def write_history(
    folder: Path, records: Sequence[Mapping[str, Any]], primary: str, maximise: bool, warn: Callable[[str], None]
) -> None:
    """Write the trials of a study as ``trials.csv``, and figures of what the search tried.

    ``warn`` prints which could not be drawn.
    """

    def draw(curve: Curve, path: Path) -> None:
        with optional_picture(path, warn):
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


def write_search_figures(folder: Path, trials: list[Any], primary: str, warn: Callable[[str], None]) -> Importance:
    """Write ``importance.csv`` and ``importance.png`` for finished trials of Optuna's, where they can be told.

    Return the shares, or why there are none. ``warn`` prints that the picture could not be drawn.
    """
    result = importance_of(trials)
    if not result.shares:
        return result
    names = list(result.shares)
    write_table(
        Table({"hyperparameter": names, "share": [result.shares[name] for name in names]}), folder / "importance.csv"
    )
    path = folder / "importance.png"
    with optional_picture(path, warn):
        _draw_importance(result, primary, path)
    return result


def _draw_importance(result: Importance, primary: str, path: Path) -> None:
    canvas, axes = _canvas(1.2 + 0.4 * len(result.shares))
    names, shares = list(result.shares)[::-1], list(result.shares.values())[::-1]
    axes.barh(range(len(names)), shares, color="#0072B2", height=0.6)
    axes.set_yticks(range(len(names)), [label_text(name, LINE) for name in names])
    for place, share in enumerate(shares):
        axes.text(share, place, f" {share:.2f}", va="center", fontsize=8)
    axes.set_xlim(0, max(shares) * 1.15)
    axes.set_xlabel(label_text(f"share of the variation of {primary}", TITLE))
    axes.set_title(f"Importance, by {result.trials} trials (functional ANOVA)", fontsize=10)
    save(canvas, path)


def _canvas(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(6.4, height), layout="constrained", facecolor="white")
    return canvas, canvas.add_subplot()
