"""One colour, marker and line style per method, the same in all charts of a page.

Colours are variables of the page's style sheet (``--series-1`` ... ``--series-8``, a light and a dark set, told apart
with any colour vision); markers and dashes tell the same without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = 8
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Style:
    """How one of several is drawn, by its number (0, 1, ...)."""

    number: int

    @property
    def colour(self) -> str:
        """The name of its colour's variable, without the dashes in front."""
        return f"series-{(self.number + self.number // COLOURS) % COLOURS + 1}"

    @property
    def marker(self) -> str:
        """Matplotlib's name of its marker; the ninth and later ones combine colours and markers anew."""
        return MARKERS[self.number % len(MARKERS)]

    @property
    def dash(self) -> str:
        """Matplotlib's name of its line style."""
        return DASHES[(self.number + self.number // COLOURS) % len(DASHES)]


class Styles:
    """The styles of the methods of a page, given in the order in which they are asked for."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        for name in names:
            self.of(name)

    def of(self, name: str) -> Style:
        """Return the style of a method, the same at every call."""
        return Style(self._numbers.setdefault(name, len(self._numbers)))
