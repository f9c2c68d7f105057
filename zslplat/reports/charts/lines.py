"""Lines against a common axis: seen-unseen curves, budgets, sensitivity, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from zslplat.reports.charts.canvas import INK, PAPER, axes_of, drawn_colour, plain, room_for, to_svg
from zslplat.reports.charts.styles import Style

WIDTH, HEIGHT = 620, 380
TURNED = 6  # more names than this at the x axis are turned
MARKED = 40  # a longer line shows no marker at each of its points


@dataclass(frozen=True)
class Line:
    """One line: points in order, its style, and points of it that are marked for themselves."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style
    steps: bool = False
    marked: Sequence[tuple[float, float]] = ()
    dots_only: bool = False


@dataclass(frozen=True)
class Axes:
    """What the axes hold; ``names`` are the words at x = 0, 1, ... where x is no number."""

    xlabel: str
    ylabel: str
    logx: bool = False
    whole: bool = False
    names: Sequence[str] = ()
    xlimits: tuple[float, float] | None = None
    ylimits: tuple[float, float] | None = None
    level: tuple[float, str] | None = None
    square: bool = False


def line_chart(lines: Sequence[Line], axes: Axes, key: str, title: str, description: str) -> Markup:
    """Return lines as SVG."""
    turned = [plain(name, 14) for name in axes.names] if len(axes.names) > TURNED else []
    size = (500, 480) if axes.square else (WIDTH, HEIGHT)
    with axes_of(*size, bottom=52 + 0.7 * room_for(turned)) as (canvas, drawn):
        for line in lines:
            _draw(drawn, line)
        if axes.level is not None:
            value, text = axes.level
            drawn.axhline(value, color=INK, linewidth=0.9, linestyle=(0, (2, 3)))
            drawn.annotate(
                plain(text, 60),
                (1, value),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8.6,
                color=INK,
            )
        _scale(drawn, axes)
        return to_svg(canvas, key, title, description)


def _draw(drawn: Any, line: Line) -> None:
    colour = drawn_colour(line.style.colour)
    drawn.plot(
        line.x,
        line.y,
        color=colour,
        linestyle="" if line.dots_only else line.style.dash,
        linewidth=1.9,
        drawstyle="steps-post" if line.steps else "default",
        marker=line.style.marker if len(line.x) <= MARKED or line.dots_only else "",
        markersize=5.5,
        markeredgecolor=PAPER,
        markeredgewidth=0.5,
        clip_on=False,
    )
    for x, y in line.marked:
        drawn.plot(
            x, y, linestyle="", marker=line.style.marker, markersize=9, color=colour, markeredgecolor=INK, zorder=4
        )


def _scale(drawn: Any, axes: Axes) -> None:
    drawn.set_xlabel(plain(axes.xlabel, 70))
    drawn.set_ylabel(plain(axes.ylabel, 50))
    if axes.xlimits is not None:
        drawn.set_xlim(*axes.xlimits)
    if axes.ylimits is not None:
        drawn.set_ylim(*axes.ylimits)
    if axes.names:
        drawn.set_xticks(range(len(axes.names)), [plain(name, 14) for name in axes.names])
        drawn.set_xlim(-0.5, len(axes.names) - 0.5)
        if len(axes.names) > TURNED:
            drawn.tick_params(axis="x", labelrotation=40)
    elif axes.logx:
        log_axis(drawn)
    elif axes.whole:
        drawn.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))


def log_axis(drawn: Any) -> None:
    """Give the x axis a logarithmic scale with ticks in plain figures."""
    drawn.set_xscale("log")
    low, high = drawn.get_xlim()
    subs = (1.0, 2.0, 5.0) if np.log10(high / low) < 2.5 else (1.0,)
    drawn.xaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
    drawn.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    drawn.minorticks_off()  # they would take more than half of the time of a chart


def thinned(x: Sequence[float], y: Sequence[float], most: int) -> tuple[list[float], list[float]]:
    """Return at most ``most`` points of a line, the first and the last among them, evenly along its length."""
    if len(x) <= most:
        return list(x), list(y)
    points = np.column_stack([x, y])
    spread = np.ptp(points, axis=0)
    way = np.abs(np.diff(points, axis=0) / np.where(spread > 0, spread, 1)).sum(axis=1)
    along = np.concatenate([[0.0], np.cumsum(way)])
    chosen = np.unique(np.searchsorted(along, np.linspace(0, along[-1], most)).clip(0, len(x) - 1))
    return points[chosen, 0].tolist(), points[chosen, 1].tolist()
