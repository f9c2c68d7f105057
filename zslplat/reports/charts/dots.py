"""One line of a chart per name: results with their intervals, differences per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.ticker import FuncFormatter

from zslplat.reports.charts.canvas import FAINT, INK, PAPER, axes_of, drawn_colour, plain, room_for, to_svg
from zslplat.reports.charts.lines import WIDTH, log_axis
from zslplat.reports.charts.styles import Style

ROW = 26


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
        for number, dot in enumerate(dots):
            y, colour = -number, drawn_colour(dot.style.colour)
            if bars:
                drawn.barh(y, dot.value - (level or 0), left=level or 0, height=0.62, color=colour, linewidth=0)
                continue
            if dot.wide is not None:
                drawn.plot(dot.wide, (y, y), color=colour, linewidth=1.5, solid_capstyle="butt")
                for end in dot.wide:
                    drawn.plot((end, end), (y - 0.14, y + 0.14), color=colour, linewidth=1.5)
            if dot.narrow is not None:
                drawn.plot(dot.narrow, (y, y), color=colour, linewidth=5, solid_capstyle="butt", alpha=0.75)
            drawn.plot(
                dot.value, y, marker=dot.style.marker, markersize=8, color=colour, markeredgecolor=PAPER, linestyle=""
            )
        if level is not None:
            drawn.axvline(level, color=INK if bars else FAINT, linewidth=0.9, linestyle="-" if bars else (0, (2, 3)))
        drawn.set_yticks([-n for n in range(len(dots))], names)
        drawn.set_ylim(-len(dots) + 0.4, 0.6)
        drawn.tick_params(axis="y", length=0)
        drawn.spines["left"].set_visible(False)
        drawn.grid(axis="y", visible=False)
        drawn.set_xlabel(plain(xlabel, 80))
        if signed:
            drawn.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.2g}" if value else "0"))
        return to_svg(canvas, key, title, description)


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
        for mark in marks:
            drawn.plot(
                mark.x,
                mark.y,
                linestyle="",
                marker=mark.style.marker,
                markersize=9,
                color=drawn_colour(mark.style.colour),
                markeredgecolor=PAPER,
            )
        drawn.margins(0.08)
        drawn.set_xlabel(plain(xlabel, 70))
        drawn.set_ylabel(plain(ylabel, 50))
        if logx:
            log_axis(drawn)
        return to_svg(canvas, key, title, description)
