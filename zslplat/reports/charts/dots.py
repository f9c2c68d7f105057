"""One line of a chart per name: results with their intervals, differences per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from zslplat.reports.charts.canvas import FAINT, INK, PAPER, axes_of, drawn_colour, plain, room_for, to_svg
from zslplat.reports.charts.lines import WIDTH, log_axis
from zslplat.reports.charts.styles import Style

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


def _beside(drawn: Axes, names: Sequence[str]) -> None:
    """Write a name left of each row; as a tick each would be five objects, of which four are not seen."""
    drawn.set_yticks([])
    x, transform = -GAP / (drawn.get_position().width * WIDTH), drawn.get_yaxis_transform()
    for number, name in enumerate(names):
        drawn.text(x, -number, name, transform=transform, ha="right", va="center_baseline")


def _lines(
    drawn: Axes,
    spans: Sequence[tuple[float, tuple[float, float] | None, str]],
    width: float,
    *,
    ends: bool = False,
    alpha: float = 1.0,
) -> None:
    """Draw horizontal lines (y, ends, colour), with end marks where these are asked for."""
    shown = [(y, pair, colour) for y, pair, colour in spans if pair is not None]
    if not shown:
        return
    heights, colours = [y for y, _, _ in shown], [colour for _, _, colour in shown]
    low, high = ([pair[end] for _, pair, _ in shown] for end in (0, 1))
    drawn.hlines(heights, low, high, colors=colours, linewidth=width, alpha=alpha)
    if ends:
        below, above = ([y + shift for y in heights] * 2 for shift in (-0.14, 0.14))
        drawn.vlines([*low, *high], below, above, colors=colours * 2, linewidth=width, capstyle="projecting")


def _markers(drawn: Axes, points: Sequence[tuple[float, float, Style, str]], size: float) -> None:
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
