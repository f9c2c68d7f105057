"""A comparison on the terminal: a table that fits the width of a page, with its notes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zslplat.comparison.presentation import Column, filled, fitting, notes, title
from zslplat.comparison.selection import Comparison

PAGE = 120
_GAP = 2


def print_comparison(found: Comparison, *, wide: bool) -> None:
    """Print a table per data set; ``wide`` shows every column that has content, however wide the table is."""
    for dataset in found.datasets:
        rows = found.on(dataset)
        columns = filled(rows)
        shown = columns if wide else fitting(columns, rows, _width(), _GAP)
        console = Console(width=10_000 if wide else _width())
        _line(console, title(found, dataset))
        groups = list(dict.fromkeys(row["group"] for row in rows))
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in shown:
            table.add_column(column.title, justify="right" if column.right else "left")
        for group in groups:
            if len(groups) > 1:
                table.add_row(Text(f"{group}:", style="italic"))
            for row in rows:
                if row["group"] == group:
                    table.add_row(*(Text(column.text(row)) for column in shown))
        console.print(table)
        hidden = _titles([column for column in columns if column not in shown])
        for note in [*notes(found, rows), *([f"--wide shows also: {', '.join(hidden)}"] if hidden else [])]:
            _line(console, note)
    for note in found.notes:
        _line(Console(width=_width()), note)


def _titles(columns: Sequence[Column]) -> list[str]:
    return list(dict.fromkeys(" ".join(column.title.split()) for column in columns))


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _width() -> int:
    return min(Console().width, PAGE) if sys.stdout.isatty() else PAGE
