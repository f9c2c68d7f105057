"""All that is wrong in one table of CSV and its signatures: each fault with its line, its column and what mends it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from zslplat.data.formats.csv_tables import is_number, other_separator, shown
from zslplat.data.formats.fields import ALIASES
from zslplat.data.formats.parquet import signature_files
from zslplat.data.splits import OF_ROWS, split_of
from zslplat.errors import near_names
from zslplat.names import counted

Fault = tuple[str, str]
_SHOWN = 5  # faults of one column; the others are counted


def faults_of_table(path: Path) -> list[Fault]:
    """Return what is wrong in a table, and in the CSV file of signatures that lies beside it, with what mends it.

    Nothing where the files cannot be read as lines of cells; then the loader says why.
    """
    beside = [file for file in signature_files(path) if file.suffix == ".csv"]
    try:
        table, *signatures = [_Table(file) for file in (path, *beside[:1])]
    except (OSError, ValueError, csv.Error):
        return []
    if other_separator(table.head):
        return []
    leave_out = f"; zslplat data check '{path}(leave_out={{}})' shows the data without the column"
    faults = [*table.faults(leave_out), *(fault for other in signatures for fault in other.faults(""))]
    for other in signatures:
        classes = [cells[0] for _, cells in other.lines]
        mend = f"add the class to {other.name}, or correct the label in {table.name}"
        faults += table.unknown("y", classes.__contains__, f"has no line in {other.name}", classes, mend)
    return [*faults, *table.unknown("split", _is_split, "is no split", OF_ROWS, f"correct it in {table.name}")]


class _Table:
    """The lines of a file as texts, by their numbers; ``head`` names the columns, ``torn`` have another number."""

    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            self.head = [cell.strip() for cell in next(reader, [])]
            lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader if line]
        self.name = path.name
        self.torn = [(number, len(cells)) for number, cells in lines if len(cells) != len(self.head)]
        self.lines = [(number, cells) for number, cells in lines if len(cells) == len(self.head)]

    def faults(self, more: str) -> Iterator[Fault]:
        """Yield lines of another number of cells, and cells that hold none in columns of numbers, nine tenths of which
        are numbers.
        """
        for number, count in self.torn[:_SHOWN]:
            text = f"{self.name}, line {number} has {count} cells, the header has {len(self.head)}"
            yield text, "give the line a cell for each column, or take it out"
        for place, name in enumerate(self.head):
            bad = [(n, cells[place]) for n, cells in self.lines if not _is_finite(cells[place])]
            if len(bad) <= len(self.lines) / 10:
                texts = [(n, f"{shown(cell)} is no finite number" if cell else "the cell is empty") for n, cell in bad]
                yield from self._each(name, texts, f"write a number there{more.format(name)}")

    def unknown(
        self, role: str, fits: Callable[[str], bool], what: str, names: Sequence[str], mend: str
    ) -> Iterator[Fault]:
        """Yield the cells of the column of a role that do not fit, unless none does, with the names that are near."""
        for place in [place for place, name in enumerate(self.head) if name.lower() in ALIASES[role]][:1]:
            bad = [(n, cells[place]) for n, cells in self.lines if not fits(cells[place])]
            bad = bad if len(bad) < len(self.lines) else []
            near = {cell: " or ".join(near_names(cell, names, cutoff=0.6)) for _, cell in bad}
            texts = [
                (n, f"{shown(cell)} {what}" + f"; did you mean {near[cell]}?" * bool(near[cell])) for n, cell in bad
            ]
            yield from self._each(self.head[place], texts, mend)

    def _each(self, column: str, texts: Sequence[tuple[int, str]], mend: str) -> Iterator[Fault]:
        lines: dict[str, list[int]] = {}
        for number, text in texts:
            lines.setdefault(text, []).append(number)
        for text, same in list(lines.items())[:_SHOWN]:
            more = f" and {counted(len(same) - 1, 'more line')}" if len(same) > 1 else ""
            yield f"{self.name}, line {same[0]}{more}, column {column}: {text}", mend
        if len(lines) > _SHOWN:
            yield f"{self.name}, column {column}: {counted(len(lines) - _SHOWN, 'more such cell')}", mend


def _is_split(cell: str) -> bool:
    return not cell or split_of(cell) in OF_ROWS or "fold" in cell


def _is_finite(cell: str) -> bool:
    return is_number(cell) and math.isfinite(float(cell))
