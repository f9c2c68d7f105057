"""What all charts of a page share: styles of the methods, and names that are unique."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from zslplat.palette import Style

BEST, MANY = 20, 60  # rows of a table that its chart shows in a brief report, and in any other


class PageContext:
    """Gives each method its style and each chart its name.

    ``silenced`` are the codes of findings that are counted, not shown; ``notes`` collects what could not be read while
    drawing. ``brief``: studies are shown side by side alone, and their charts show fewer rows. ``store_options`` are
    the options that lead a command to the store, each after a blank.
    """

    def __init__(
        self,
        methods: Iterable[str] = (),
        silenced: Collection[str] = (),
        *,
        brief: bool = False,
        store_options: str = "",
    ) -> None:
        self.store_options = store_options
        self.brief = brief
        self._numbers: dict[str, int] = {name: number for number, name in enumerate(methods)}
        self.silenced = silenced
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
