"""The colours, markers and line styles of all pictures and pages, told apart with any colour vision.

Text has a contrast of at least 4.5 to what it stands on, marks of charts at least 3. The eight series keep Okabe and
Ito's order of hues, as dark or as light as their ground asks for. Pictures are drawn in the light colours; in pages
each of them is a variable of the style sheet, which has the dark ones, too (:func:`zslplat.pictures.to_svg`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SERIES = 8
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES = ("-", "--", "-.", ":")
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f5f7f9",
    "ink": "#1a1f26",
    "faint": "#4d5663",
    "grid": "#d8dde3",
    "link": "#0b57a4",
    "warn-panel": "#fff4dc",
    "warn-ink": "#573800",
    "series-1": "#0072b2",
    "series-2": "#c24a00",
    "series-3": "#00805c",
    "series-4": "#a8428a",
    "series-5": "#8a6500",
    "series-6": "#2587b5",
    "series-7": "#474c52",
    "series-8": "#7458c4",
}
DARK: Mapping[str, str] = {
    "paper": "#12161b",
    "panel": "#1b2128",
    "ink": "#e8ebef",
    "faint": "#b0b8c2",
    "grid": "#343c46",
    "link": "#7db8f5",
    "warn-panel": "#3a2c0c",
    "warn-ink": "#ffdf9e",
    "series-1": "#58b0ee",
    "series-2": "#ff8b4d",
    "series-3": "#35c79a",
    "series-4": "#e78cc8",
    "series-5": "#e0b43a",
    "series-6": "#a4e3ee",
    "series-7": "#c4c9d0",
    "series-8": "#b29cf6",
}
INK, FAINT, GRID, PAPER = (LIGHT[name] for name in ("ink", "faint", "grid", "paper"))
PALETTE = tuple(LIGHT[f"series-{number}"] for number in range(1, SERIES + 1))


@dataclass(frozen=True)
class Style:
    """How one of several is drawn, by its number (0, 1, ...)."""

    number: int

    @property
    def colour(self) -> str:
        """The name of its colour's variable, without the dashes in front."""
        return f"series-{(self.number + self.number // SERIES) % SERIES + 1}"

    @property
    def shade(self) -> str:
        """Its colour in the light set, which pictures are drawn with."""
        return LIGHT[self.colour]

    @property
    def marker(self) -> str:
        """Matplotlib's name of its marker; the ninth and later ones combine colours and markers anew."""
        return MARKERS[self.number % len(MARKERS)]

    @property
    def dash(self) -> str:
        """Matplotlib's name of its line style."""
        return DASHES[(self.number + self.number // SERIES) % len(DASHES)]


def variables(colours: Mapping[str, str]) -> str:
    """Return colours as variables of a style sheet."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
