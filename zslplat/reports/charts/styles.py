"""One colour, marker and line style per method, the same in all charts of a page.

Colours are variables of the page's style sheet (``--series-1`` ... ``--series-8``, a light and a dark set, told apart
with any colour vision); markers and dashes tell the same without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

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
    """A mark of a legend: ``line`` and ``marker`` say which of the two are drawn."""

    style: Style
    line: bool = True
    marker: bool = True

    @property
    def svg(self) -> Markup:
        """The mark, hidden from screen readers, who read the text beside it."""
        colour = f"var(--{self.style.colour})"
        gaps = f' stroke-dasharray="{_GAPS[self.style.dash]}"' if _GAPS[self.style.dash] else ""
        line = f'<path d="M1 8H35" stroke="{colour}" stroke-width="2" fill="none"{gaps}/>' if self.line else ""
        marker = f'<g fill="{colour}">{_SHAPES[self.style.marker]}</g>' if self.marker else ""
        return Markup(
            f'<svg class="swatch" width="36" height="16" viewBox="0 0 36 16" aria-hidden="true">{line}{marker}</svg>'
        )
