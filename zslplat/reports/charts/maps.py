"""Points of several classes in the plane: t-SNE maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from zslplat.reports.charts.canvas import axes_of, drawn_colour, plain, to_svg
from zslplat.reports.charts.styles import Style

MOST_POINTS = 400


def map_chart(points: np.ndarray, labels: Sequence[str], key: str, title: str, description: str) -> Markup:
    """Return points (m, 2) with the style of their class; the axes of an embedding have no unit, and are not drawn."""
    classes = sorted(set(labels))
    of = np.array([classes.index(label) for label in labels])
    with axes_of(430, 440, left=16, bottom=10, top=30) as (canvas, drawn):
        for number, _ in enumerate(classes):
            own, style = points[of == number], Style(number)
            drawn.plot(
                own[:, 0],
                own[:, 1],
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
        own = np.flatnonzero(texts == label)
        place[own] = np.arange(len(own))
    return np.sort(np.argsort(place, kind="stable")[:most])
