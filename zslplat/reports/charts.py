"""Charts of a page as SVG: lines over a common axis, points in the plane; their legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from zslplat.palette import INK, PAPER, Style
from zslplat.pictures import axes_of, plain, room_for, to_svg

_SHAPES = {
    "o": '<circle cx="18" cy="8" r="4"/>',
    "s": '<rect x="14.2" y="4.2" width="7.6" height="7.6"/>',
    "^": '<path d="M18 3.4 22.6 12H13.4Z"/>',
    "v": '<path d="M18 12.6 22.6 4H13.4Z"/>',
    "D": '<path d="M18 2.8 23.2 8 18 13.2 12.8 8Z"/>',
    "P": '<path d="M16.4 3h3.2v3.4H23v3.2h-3.4V13h-3.2V9.6H13V6.4h3.4Z"/>',
    "X": '<path d="M15 3.2 18 6.2 21 3.2 22.8 5 19.8 8 22.8 11 21 12.8 18 9.8 15 12.8 13.2 11 16.2 8 13.2 5Z"/>',
    "<": '<path d="M13.4 8 22 3.4V12.6Z"/>',
}
_GAPS = {"-": "", "--": "6 3", "-.": "7 3 1.5 3", ":": "1.5 3"}


@dataclass(frozen=True)
class Swatch:
    """A mark of a legend: the marker, and the line through it where ``line`` is true."""

    style: Style
    line: bool = True

    @property
    def svg(self) -> Markup:
        """The mark, hidden from screen readers, which read the text beside it."""
        colour = f"var(--{self.style.colour})"
        gaps = f' stroke-dasharray="{_GAPS[self.style.dash]}"' if _GAPS[self.style.dash] else ""
        line = f'<path d="M1 8H35" stroke="{colour}" stroke-width="2" fill="none"{gaps}/>' if self.line else ""
        marker = f'<g fill="{colour}">{_SHAPES[self.style.marker]}</g>'
        return Markup(
            f'<svg class="swatch" width="36" height="16" viewBox="0 0 36 16" aria-hidden="true">{line}{marker}</svg>'
        )


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
    square: bool = False


def line_chart(lines: Sequence[Line], axes: Axes, key: str, title: str, description: str) -> Markup:
    """Return lines as SVG."""
    turned = [plain(name, 14) for name in axes.names] if len(axes.names) > TURNED else []
    size = (500, 480) if axes.square else (WIDTH, HEIGHT)
    with axes_of(*size, bottom=52 + 0.7 * room_for(turned)) as (canvas, drawn):
        for line in lines:
            _draw(drawn, line)
        _scale(drawn, axes)
        return to_svg(canvas, key, title, description)


def _draw(drawn: Any, line: Line) -> None:
    colour = line.style.shade
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
