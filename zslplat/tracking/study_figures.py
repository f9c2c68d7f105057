"""Figures and tables of a search: its history, how much each hyperparameter mattered, values over two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.drawing import LINE, TITLE, label_text, optional_picture, render, save
from zslplat.figures import Curve, Table, write_table
from zslplat.records.importance import Importance, importance_of

_LEVELS = 12
_WIDE = 50.0  # ends of a range so many times apart are drawn on a logarithmic axis


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
    """Write ``importance.csv``, ``importance.png`` and ``contour.png`` for finished trials of Optuna's, where they can
    be told; return the shares, or why there are none. ``warn`` prints which pictures could not be drawn.
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
    numeric = [name for name in names if all(_is_number(t.params.get(name)) for t in trials if t.values is not None)]
    if len(numeric) > 1:
        path = folder / "contour.png"
        with optional_picture(path, warn):
            _draw_contour(trials, numeric[0], numeric[1], primary, path)
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


def _draw_contour(trials: list[Any], across: str, up: str, primary: str, path: Path) -> None:
    """Draw the values over two hyperparameters; points that lie on a line have no map."""
    from matplotlib.tri import Triangulation

    scored = [t for t in trials if t.values]
    x = np.array([t.params[across] for t in scored], dtype=float)
    y = np.array([t.params[up] for t in scored], dtype=float)
    values = np.array([t.values[0] for t in scored], dtype=float)
    logarithmic = [bool(v.min() > 0 and v.max() / v.min() > _WIDE) for v in (x, y)]
    plane = [np.log10(v) if log else v for v, log in zip((x, y), logarithmic, strict=True)]
    try:
        triangles = Triangulation(*plane)
    except (RuntimeError, ValueError):
        return
    canvas, axes = _canvas(4.4)
    image = axes.tricontourf(triangles, values, levels=_LEVELS, cmap="Blues")
    axes.scatter(*plane, s=12, color="#D55E00", linewidths=0, label="trials")
    canvas.colorbar(image, ax=axes, fraction=0.05, pad=0.02).set_label(label_text(f"validation {primary}", LINE))
    for name, log, set_label in zip((across, up), logarithmic, (axes.set_xlabel, axes.set_ylabel), strict=True):
        set_label(label_text(f"log10 {name}" if log else name, LINE))
    title = f"{primary} over {across} and {up}, between {len(scored)} trials"
    axes.set_title(label_text(title, TITLE), fontsize=10)
    save(canvas, path)


def _canvas(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(6.4, height), layout="constrained", facecolor="white")
    return canvas, canvas.add_subplot()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
