"""Charts without an axis of values: points of several classes in the plane, and a matrix as a field of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.patches import Rectangle

from zslplat.reports.charts.canvas import GRID, HEAT, HIGH, LOW, axes_of, drawn_colour, plain, room_for, to_svg
from zslplat.reports.charts.styles import Style

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
