"""Figures of a search: how much each hyperparameter mattered, and the values over the two that mattered most."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.records.importance import Importance, importance_of
from zslplat.tables import Table, write_table

_LEVELS, _DOTS = 12, 130
_WIDE = 50.0  # ends of a range so many times apart are drawn on a logarithmic axis


def write_search_figures(folder: Path, trials: list[Any], primary: str) -> Importance:
    """Write ``importance.csv``, ``importance.png`` and ``contour.png`` for finished trials of Optuna's, where they can
    be told; return what was found, or why nothing.
    """
    found = importance_of(trials)
    if not found.shares:
        return found
    names = list(found.shares)
    write_table(
        Table({"hyperparameter": names, "share": [found.shares[name] for name in names]}), folder / "importance.csv"
    )
    _draw_importance(found, primary, folder / "importance.png")
    numeric = [name for name in names if all(_is_number(t.params.get(name)) for t in trials if t.value is not None)]
    if len(numeric) > 1:
        # Points that lie on a line have no map.
        with suppress(RuntimeError, ValueError):
            _draw_contour(trials, numeric[0], numeric[1], primary, folder / "contour.png")
    return found


def _draw_importance(found: Importance, primary: str, path: Path) -> None:
    canvas, axes = _canvas(1.2 + 0.4 * len(found.shares))
    names, shares = list(found.shares)[::-1], list(found.shares.values())[::-1]
    axes.barh(names, shares, color="#0072B2", height=0.6)
    for place, share in enumerate(shares):
        axes.text(share, place, f" {share:.2f}", va="center", fontsize=8)
    axes.set_xlim(0, max(shares) * 1.15)
    axes.set_xlabel(f"share of the variation of {primary}")
    axes.set_title(f"Importance, by {found.trials} trials (functional ANOVA)", fontsize=10)
    _save(canvas, path)


def _draw_contour(trials: list[Any], across: str, up: str, primary: str, path: Path) -> None:
    scored = [t for t in trials if t.value is not None]
    x = np.array([t.params[across] for t in scored], dtype=float)
    y = np.array([t.params[up] for t in scored], dtype=float)
    values = np.array([t.value for t in scored], dtype=float)
    canvas, axes = _canvas(4.4)
    logarithmic = [bool(v.min() > 0 and v.max() / v.min() > _WIDE) for v in (x, y)]
    plane = [np.log10(v) if log else v for v, log in zip((x, y), logarithmic, strict=True)]
    image = axes.tricontourf(*plane, values, levels=_LEVELS, cmap="Blues")
    axes.scatter(*plane, s=12, color="#D55E00", linewidths=0, label="trials")
    canvas.colorbar(image, ax=axes, fraction=0.05, pad=0.02).set_label(f"validation {primary}")
    for name, log, set_label in zip((across, up), logarithmic, (axes.set_xlabel, axes.set_ylabel), strict=True):
        set_label(f"log10 {name}" if log else name)
    axes.set_title(f"{primary} over {across} and {up}, between {len(scored)} trials", fontsize=10)
    _save(canvas, path)


def _canvas(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(6.4, height), layout="constrained", facecolor="white")
    return canvas, canvas.add_subplot()


def _save(canvas: Any, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(canvas)
    # Without the software's version the same figure is the same file.
    canvas.savefig(path, dpi=_DOTS, metadata={"Software": None})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
