"""What all charts of a page share: styles of the methods, names that are unique, and room that is left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from zslplat.palette import Style
from zslplat.reports.blocks import Block, Chart, Paragraph

BEST, MANY = 20, 60  # rows of a table that its chart shows in a brief report, and in any other
# Characters that the charts of single studies may take together: some 25 charts, of which 15 take a second to draw.
ROOM = 400_000


class PageContext:
    """Gives each method its style and each chart its name, and keeps the page below some megabytes.

    ``silenced`` are the codes of findings that are counted, not shown; ``notes`` collects what could not be read while
    drawing. ``brief``: studies are shown side by side alone, and their charts show fewer rows. ``store_options`` are
    the options that lead a command to the store, each after a blank.
    """

    def __init__(
        self,
        methods: Iterable[str] = (),
        silenced: Collection[str] = (),
        room: int = ROOM,
        *,
        brief: bool = False,
        store_options: str = "",
    ) -> None:
        self.store_options = store_options
        self.brief = brief
        self._numbers: dict[str, int] = {name: number for number, name in enumerate(methods)}
        self.silenced = silenced
        self.room = room
        self.left_out = 0
        self.notes: list[str] = []
        self._charts = 0

    def style(self, method: str) -> Style:
        """Return the style of a method, the same at every call."""
        return Style(self.number(method))

    def number(self, method: str) -> int:
        """Return the number of the style of a method, in the order of their first use."""
        return self._numbers.setdefault(method, len(self._numbers))

    def key(self) -> str:
        """Return a name for a chart that no other has."""
        self._charts += 1
        return f"chart{self._charts}"

    def first(self, rows: Sequence[Any]) -> tuple[Sequence[Any], str]:
        """Return the rows of a table that its chart shows, and in words that the others are in the table alone."""
        shown = rows[: BEST if self.brief else MANY]
        return shown, f" The first {len(shown)} of {len(rows)} rows of the table." if len(shown) < len(rows) else ""

    def fitting(self, draw: Callable[[], Iterable[Block]], what: str) -> list[Block]:
        """Return charts where there is room for them, else words that say so."""
        if self.room <= 0:
            self.left_out += 1
            return [
                Paragraph(f"{what}: left out, to keep the file small; report the study by itself to see it.", "note")
            ]
        blocks = list(draw())
        self.room -= sum(_weight(block) for block in blocks)
        return blocks


def _weight(block: Block) -> int:
    if not isinstance(block, Chart):
        return 0
    return len(block.svg) + (80 * sum(map(len, block.table.rows)) if block.table else 0)
