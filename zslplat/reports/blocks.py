"""What a page is made of: words, tables, charts, in sections. The templates make HTML of it and escape every text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from zslplat.reports.charts import Swatch


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the value by which it is sorted and from which the text was rounded.

    ``link`` is the anchor of a section that it leads to.
    """

    text: str
    value: float | None = None
    strong: bool = False
    link: str = ""

    @property
    def sorted_by(self) -> float | None:
        """The value where it is a number that has a place among others; None for one that is not finite."""
        return self.value if self.value is not None and math.isfinite(self.value) else None


@dataclass(frozen=True)
class Column:
    """A column of a table; ``numeric`` ones are set flush right, ``hint`` says in words what they hold."""

    label: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A table whose first column names its rows; it can be sorted by the reader."""

    kind = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``tone`` is ``plain``, ``lead``, ``note`` or ``warning``."""

    kind = "words"
    text: str
    tone: str = "plain"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    kind = "items"
    entries: Sequence[str]
    tone: str = "plain"


@dataclass(frozen=True)
class Commands:
    """Lines of a shell that repeat what was done."""

    kind = "commands"
    caption: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Chart:
    """A chart: SVG, its title, what it shows in words, a legend, and the table of what is drawn."""

    kind = "chart"
    svg: Markup
    title: str
    description: str
    legend: Sequence[tuple[Swatch, str]] = ()
    table: TableBlock | None = None
    note: str = ""


@dataclass(frozen=True)
class Folded:
    """Blocks that are opened by the reader, and on paper."""

    kind = "folded"
    summary: str
    blocks: Sequence[Block]


Block = TableBlock | Paragraph | Items | Commands | Chart | Folded


@dataclass(frozen=True)
class Section:
    """A heading with blocks and further sections below it; ``anchor`` is its address within the page.

    A ``folded`` one is opened by the reader, and on paper.
    """

    title: str
    anchor: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report: ``about`` are pairs of what it tells of itself, ``notes`` say what could not be read."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    about: Sequence[tuple[str, str]] = field(default_factory=tuple)
    notes: Sequence[str] = ()
