"""Charts: lines over a common axis, a dot per name, points in the plane, a matrix as a field of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from zslplat.reports.charts.canvas import (
    FAINT,
    GRID,
    HEAT,
    HIGH,
    INK,
    LOW,
    PAPER,
    Style,
    axes_of,
    drawn_colour,
    plain,
    room_for,
    to_svg,
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


ROW, GAP = 26, 4.7  # pixels: the height of a row, from its name to the axis


@dataclass(frozen=True)
class Dot:
    """A value by its name, with the ends of up to two intervals: the narrow one is drawn thick."""

    name: str
    value: float
    style: Style
    narrow: tuple[float, float] | None = None
    wide: tuple[float, float] | None = None


def dot_chart(
    dots: Sequence[Dot],
    xlabel: str,
    key: str,
    title: str,
    description: str,
    *,
    level: float | None = None,
    bars: bool = False,
    signed: bool = False,
) -> Markup:
    """Return a dot per name, first on top; ``bars`` draws each from ``level`` (0), as differences are."""
    names = [plain(dot.name, 30) for dot in dots]
    with axes_of(WIDTH, 70 + ROW * len(dots), left=16 + room_for(names)) as (canvas, drawn):
        places = [(-number, dot, drawn_colour(dot.style.colour)) for number, dot in enumerate(dots)]
        if bars:
            lengths = [dot.value - (level or 0) for dot in dots]
            colours = [colour for _, _, colour in places]
            drawn.barh([y for y, _, _ in places], lengths, left=level or 0, height=0.62, color=colours, linewidth=0)
        else:
            # One object for all lines of a kind: each costs as much time as all of its lines.
            _lines(drawn, [(y, dot.wide, colour) for y, dot, colour in places], 1.5, ends=True)
            _lines(drawn, [(y, dot.narrow, colour) for y, dot, colour in places], 5, alpha=0.75)
            _markers(drawn, [(dot.value, y, dot.style, colour) for y, dot, colour in places], 8)
        if level is not None:
            drawn.axvline(level, color=INK if bars else FAINT, linewidth=0.9, linestyle="-" if bars else (0, (2, 3)))
        _beside(drawn, names)
        drawn.set_ylim(-len(dots) + 0.4, 0.6)
        drawn.spines["left"].set_visible(False)
        drawn.grid(axis="y", visible=False)
        drawn.set_xlabel(plain(xlabel, 80))
        if signed:
            drawn.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.2g}" if value else "0"))
        return to_svg(canvas, key, title, description)


def _beside(drawn: Any, names: Sequence[str]) -> None:
    """Write a name left of each row; as a tick each would be five objects, of which four are not seen."""
    drawn.set_yticks([])
    x, transform = -GAP / (drawn.get_position().width * WIDTH), drawn.get_yaxis_transform()
    for number, name in enumerate(names):
        drawn.text(x, -number, name, transform=transform, ha="right", va="center_baseline")


def _lines(
    drawn: Any,
    spans: Sequence[tuple[float, tuple[float, float] | None, str]],
    width: float,
    *,
    ends: bool = False,
    alpha: float = 1.0,
) -> None:
    """Draw horizontal lines (y, ends, colour), with end marks where ``ends`` is true."""
    shown = [(y, pair, colour) for y, pair, colour in spans if pair is not None]
    if not shown:
        return
    heights, colours = [y for y, _, _ in shown], [colour for _, _, colour in shown]
    low, high = ([pair[end] for _, pair, _ in shown] for end in (0, 1))
    drawn.hlines(heights, low, high, colors=colours, linewidth=width, alpha=alpha)
    if ends:
        below, above = ([y + shift for y in heights] * 2 for shift in (-0.14, 0.14))
        drawn.vlines([*low, *high], below, above, colors=colours * 2, linewidth=width, capstyle="projecting")


def _markers(drawn: Any, points: Sequence[tuple[float, float, Style, str]], size: float) -> None:
    """Draw points (x, y, style, colour), those of a shape together, above all lines."""
    for shape in dict.fromkeys(style.marker for _, _, style, _ in points):
        some = [(x, y, colour) for x, y, style, colour in points if style.marker == shape]
        x, y, colours = zip(*some, strict=True)
        drawn.scatter(x, y, s=size**2, c=colours, marker=shape, edgecolors=PAPER, linewidths=1.0, zorder=2.5)


@dataclass(frozen=True)
class Mark:
    """A point in the plane with a style."""

    x: float
    y: float
    style: Style


def mark_chart(
    marks: Sequence[Mark], xlabel: str, ylabel: str, key: str, title: str, description: str, *, logx: bool
) -> Markup:
    """Return points in the plane, one per method, as score against cost."""
    with axes_of(WIDTH, 340) as (canvas, drawn):
        _markers(drawn, [(mark.x, mark.y, mark.style, drawn_colour(mark.style.colour)) for mark in marks], 9)
        drawn.margins(0.08)
        drawn.set_xlabel(plain(xlabel, 70))
        drawn.set_ylabel(plain(ylabel, 50))
        if logx:
            log_axis(drawn)
        return to_svg(canvas, key, title, description)


MOST_POINTS = 400


def map_chart(points: np.ndarray, labels: Sequence[str], key: str, title: str, description: str) -> Markup:
    """Return points (m, 2) with the style of their class; the axes of an embedding have no unit, and are not drawn."""
    classes = sorted(set(labels))
    numbers = np.array([classes.index(label) for label in labels])
    with axes_of(430, 440, left=16, bottom=10, top=30) as (canvas, drawn):
        for number, _ in enumerate(classes):
            members, style = points[numbers == number], Style(number)
            drawn.plot(
                members[:, 0],
                members[:, 1],
                linestyle="",
                marker=style.marker,
                markersize=4.6,
                color=drawn_colour(style.colour),
                markeredgewidth=0,
                alpha=0.85,
            )
        drawn.set_xticks([])
        drawn.set_yticks([])
        drawn.set_title(plain(title, 60), fontsize=9.75)
        for spine in drawn.spines.values():
            spine.set_visible(False)
        return to_svg(canvas, key, title, description)


def thinned_evenly(labels: Sequence[str], most: int = MOST_POINTS) -> np.ndarray:
    """Return at most ``most`` places (k,), as many of every class as there are, in order."""
    place = np.empty(len(labels), dtype=np.int64)
    texts = np.array(labels)
    for label in np.unique(texts):
        members = np.flatnonzero(texts == label)
        place[members] = np.arange(len(members))
    return np.sort(np.argsort(place, kind="stable")[:most])


WRITTEN = 20  # a larger matrix has no figures in its cells
TURN = 0.75  # cells above this are dark enough for the other colour of figures


def matrix_chart(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    labels: tuple[str, str],
    key: str,
    title: str,
    description: str,
) -> Markup:
    """Return shares (r, c) between 0 and 1 as cells; ``labels`` of the x and the y axis. Empty cells are not drawn."""
    count = max(len(rows), len(columns), 1)
    cell = float(np.clip(560 / count, 12, 40))
    small = float(np.clip(cell * 0.45, 6.2, 9.0))
    names = [plain(name, 18) for name in rows], [plain(name, 18) for name in columns]
    beside = 40 + room_for(max(names, key=room_for), small * 4 / 3)
    size = 20 + cell * count
    with axes_of(size + beside, size + beside, left=beside, bottom=beside) as (canvas, drawn):
        drawn.grid(visible=False)
        for i, j in np.argwhere(values > 0):
            share = float(min(values[i, j], 1.0))
            drawn.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=HEAT, alpha=round(share, 2), linewidth=0))
            if count <= WRITTEN:
                figure = f"{100 * share:.0f}"
                colour = HIGH if share > TURN else LOW
                drawn.text(j, i, figure, ha="center", va="center", fontsize=7.2, color=colour)
        drawn.set_xlim(-0.5, len(columns) - 0.5)
        drawn.set_ylim(len(rows) - 0.5, -0.5)
        for edge in np.arange(-0.5, len(rows)):
            drawn.axhline(edge, color=GRID, linewidth=0.4)
        for edge in np.arange(-0.5, len(columns)):
            drawn.axvline(edge, color=GRID, linewidth=0.4)
        drawn.set_yticks(range(len(rows)), names[0], fontsize=small)
        drawn.set_xticks(range(len(columns)), names[1], fontsize=small, rotation=90)
        drawn.tick_params(length=0)
        for spine in drawn.spines.values():
            spine.set_visible(False)
        drawn.set_xlabel(plain(labels[0], 60))
        drawn.set_ylabel(plain(labels[1], 60))
        return to_svg(canvas, key, title, description)
