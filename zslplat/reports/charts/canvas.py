"""From matplotlib's canvas to SVG for a page: no colours of its own, no fonts, no names that could clash.

Matplotlib draws with colours that stand for variables of the style sheet. Its SVG is read again as XML, where they are
replaced, what no reader needs is dropped (names, comments, metadata, fonts), and what a screen reader needs is added.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure as Canvas

from zslplat.drawing import without_glyph_warnings

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
    """The styles of the methods of a page, numbered in the order of their first use."""

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


_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# Colours that are drawn with, and the variables that they stand for.
INK, FAINT, GRID, PAPER, HEAT, LOW, HIGH = (f"#0a0a{number:02x}" for number in range(1, 8))
_VARIABLES = {
    **dict(zip((INK, FAINT, GRID, PAPER, HEAT, LOW, HIGH), ("ink", "faint", "grid", "paper"), strict=False)),
    HEAT: "heat",
    LOW: "cell-low",
    HIGH: "cell-high",
    **{f"#0b0b{number:02x}": f"series-{number}" for number in range(1, COLOURS + 1)},
}
_COLOUR = re.compile(r"#0[ab]0[ab][0-9a-f]{2}")
READABLE = 0.73  # how far a chart may be scaled down: its 13 pixels are 9.5 then
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
_FONT = re.compile(r"font(-family)?:[^;]*;?\s*")
_SIZE = re.compile(r"font:\s*(?:[\w-]+\s+)*?([\d.]+)px")


def plain(text: str, most: int = 200) -> str:
    """Return a name as it can be drawn: no characters that XML cannot hold, shortened in its middle."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def room_for(names: Sequence[str], size: float = 13) -> float:
    """Return about how many pixels the longest of these names takes in a font of this size."""
    return 0.58 * size * max((len(name) for name in names), default=0)


def drawn_colour(variable: str) -> str:
    """Return the colour that stands for a variable of the style sheet, for example ``series-3``."""
    return next(colour for colour, name in _VARIABLES.items() if name == variable)


@contextmanager
def axes_of(width: float, height: float, left: float = 78, bottom: float = 52, top: float = 14) -> Iterator[Any]:
    """Give a canvas of this size in pixels and its axes, in the page's style, with room for labels around them.

    The room is a parameter instead of measured: the browser has other fonts, and measuring takes as long as drawing.
    """
    style = {
        "svg.fonttype": "none",
        "font.size": 9.75,  # points, that is 13 pixels
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.7,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "text.color": INK,
        "path.simplify": True,
        "text.parse_math": False,  # names may hold dollars
    }
    with matplotlib.rc_context(style):
        canvas = Canvas(figsize=(width / 96, height / 96), dpi=96)
        box = (left / width, bottom / height, (width - left - 16) / width, (height - bottom - top) / height)
        yield canvas, canvas.add_axes(box)


def to_svg(canvas: Canvas, key: str, title: str, description: str) -> Markup:
    """Return the canvas as an ``svg`` element; ``key`` is unique in the page, title and description are read aloud."""
    buffer = io.BytesIO()
    nothing = {name: None for name in ("Date", "Creator", "Format", "Type")}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}), without_glyph_warnings():
        canvas.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    names = {name: f"{key}-{number}" for number, name in enumerate(_pointed_at(root))}
    _tidy(root, names)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    # What is smaller cannot be read; a square chart is whole on a phone.
    root.attrib["style"] = f"--narrowest: {READABLE * 96 * canvas.get_figwidth():.0f}px"
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{key}-{tag}"})
        element.text = plain(text, 2000)
        root.insert(position, element)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _pointed_at(root: ElementTree.Element) -> list[str]:
    """Return the names that something in the drawing refers to, each once."""
    text = [value for element in root.iter() for name, value in element.attrib.items() if name != "id"]
    names = re.findall(r"#([A-Za-z][\w-]*)", " ".join(value for value in text if "url(" in value or value[:1] == "#"))
    return list(dict.fromkeys(name for name in names if not _COLOUR.fullmatch(f"#{name}")))


def _tidy(element: ElementTree.Element, names: dict[str, str]) -> None:
    """Replace colours, names and fonts in an element and all below it; drop what is not shown."""
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.endswith("}metadata"):
            element.remove(child)
            continue
        _tidy(child, names)
        if child.tag.endswith("}style") or (child.tag.endswith("}defs") and not len(child)):
            element.remove(child)
    attributes = element.attrib
    identifier = attributes.pop("id", None)
    if identifier in names:
        attributes["id"] = names[identifier]
    if "style" in attributes:
        size = _SIZE.search(attributes["style"])
        style = _FONT.sub("", attributes["style"])
        style = _COLOUR.sub(lambda match: f"var(--{_VARIABLES[match[0]]})", style).strip()
        if size:
            style = f"font-size: {float(size[1]):g}px; {style}"
        attributes["style"] = style.rstrip("; ")
        if not attributes["style"]:
            del attributes["style"]
    for name, value in attributes.items():
        if "url(#" in value or name.endswith("href"):
            attributes[name] = re.sub(r"#([\w-]+)", lambda match: f"#{names.get(match[1], match[1])}", value)
        elif name in ("d", "x", "y", "transform", "points"):
            attributes[name] = _DECIMALS.sub(r"\1", " ".join(value.split()))
