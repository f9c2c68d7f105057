"""A comparison on the terminal: a table that fits the width of a page, with its notes."""

from __future__ import annotations

import sys

from rich import box
from rich.table import Table
from rich.text import Text

from zslplat.cli.terminal import Console
from zslplat.comparison.selection import Comparison
from zslplat.comparison.sheets import BEST, Sheet, sheets

PAGE = 120
_GAP = 2
_ANY = 10_000  # more than any table needs


def print_comparison(found: Comparison, *, wide: bool) -> None:
    """Print the table of a comparison; ``wide`` shows every column that has content, however wide that is."""
    width = None if wide else min(Console().width, PAGE) if sys.stdout.isatty() else PAGE
    for sheet in sheets(found, width=width, gap=_GAP):
        _print_sheet(Console(width=width or _ANY), sheet)


def _print_sheet(console: Console, sheet: Sheet) -> None:
    _line(console, sheet.title)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for title, right in zip(sheet.titles, sheet.right, strict=True):
        table.add_column(Text(title), justify="right" if right else "left")
    for group, members in sheet.sections.items():
        if len(sheet.sections) > 1:
            table.add_row(Text(f"{group}:", style="italic"))
        for cells in members:
            table.add_row(*(Text(cell.text, "bold" if cell.standing == BEST else "") for cell in cells))
    console.print(table)
    hidden = [f"--wide shows also: {', '.join(dict.fromkeys(sheet.left_out))}"] if sheet.left_out else []
    for note in [*sheet.notes, *hidden]:
        _line(console, note)


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
