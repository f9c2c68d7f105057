"""Figures of matplotlib as pages and notebooks show them, without a window or pyplot.

In a page a figure is SVG with no colours, fonts or names of its own. It is drawn in the light colours of
:mod:`zslplat.palette`. Its SVG is read again as XML: colours become variables of the style sheet, what no reader needs
is dropped (names, comments, metadata, fonts), and what a screen reader needs is added.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zslplat.palette import FAINT, GRID, INK, LIGHT

# Fonts that come with systems, or are installed beside, for letters that matplotlib's own lacks.
MORE_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR"),
    *("Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "IPAGothic"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Tamil", "Noto Sans Bengali", "Arial Unicode MS"),
)


def with_more_letters(figure: Figure) -> None:
    """Have the texts of a figure drawn with installed fonts where matplotlib's own has no such letter."""
    from matplotlib.font_manager import get_font_names
    from matplotlib.text import Text

    installed = set(get_font_names())
    families = [name for name in MORE_FONTS if name in installed]
    if not families:
        return
    for text in figure.findobj(Text):
        if not text.get_text().isascii():
            family = text.get_fontfamily()
            text.set_fontfamily([*family, *(name for name in families if name not in family)])


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Let matplotlib draw letters that its fonts lack without a word: as a box, or in SVG as the reader has them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s)Glyph .* missing from", UserWarning)
        yield


class Picture(Figure):
    """A :class:`matplotlib.figure.Figure` with a representation for notebooks."""

    def _repr_html_(self) -> str:
        buffer = io.BytesIO()
        with_more_letters(self)
        self.savefig(buffer, format="png", dpi=2 * self.get_dpi(), metadata={"Software": None})
        width, _ = self.get_size_inches() * self.get_dpi()
        content = base64.b64encode(buffer.getvalue()).decode("ascii")
        return f'<img alt="figure" style="max-width:100%; width:{width:.0f}px" src="data:image/png;base64,{content}">'


_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
READABLE = 0.69  # how far a chart may be scaled down: its 13 pixels are 9 then
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


@contextmanager
def axes_of(
    width: float, height: float, left: float = 78, right: float = 16, bottom: float = 52, top: float = 14
) -> Iterator[tuple[Figure, Axes]]:
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
        canvas = Figure(figsize=(width / 96, height / 96), dpi=96)
        box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
        yield canvas, canvas.add_axes(box)


def to_svg(canvas: Figure, key: str, title: str, description: str) -> Markup:
    """Return the canvas as an ``svg`` element; ``key`` is unique in the page, title and description are read aloud."""
    buffer = io.BytesIO()
    nothing = {name: None for name in ("Date", "Creator", "Format", "Type")}
    reproducible = {"svg.fonttype": "none", "svg.hashsalt": key}
    with matplotlib.rc_context(reproducible), without_glyph_warnings():
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
    return list(dict.fromkeys(name for name in names if f"#{name}" not in _VARIABLES))


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
        style = _COLOUR.sub(lambda match: _VARIABLES.get(match[0], match[0]), style).strip()
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
