"""The console of commands and functions: names from files cannot move its cursor, colour or hide anything."""

from __future__ import annotations

from typing import Any

import rich.console
from rich.text import Text

from zslplat.names import visible


class Console(rich.console.Console):
    """A console that shows control characters in texts and cells of tables escaped; its own colours stay.

    Names between colons, as in ``outside:A: ...``, are no pictures.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is shown."""
        return super().render_str(visible(text), **options)
