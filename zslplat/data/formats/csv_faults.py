"""All that is wrong in one table of CSV and its signatures: each fault with its line, its column and what mends it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from zslplat.data.formats.csv_tables import is_number, shown
from zslplat.data.formats.fields import ALIASES
from zslplat.data.formats.parquet import signature_files
from zslplat.data.splits import OF_ROWS, split_of
from zslplat.errors import near_names
from zslplat.names import counted

Fault = tuple[str, str]
_MOSTLY = 0.9  # a column of which so many cells are numbers holds numbers
_SHOWN = 5  # faults of one column; the others are counted


def faults_of_table(path: Path) -> list[Fault]:
    """Return what is wrong in a table, and in the CSV file of signatures that lies beside it, with what mends it.

    Nothing where the files cannot be read as lines of cells; then the loader says why.
    """
    beside = [file for file in signature_files(path) if file.suffix == ".csv"]
    try:
        table, *signatures = [_Lines(file) for file in (path, *beside[:1])]
    except (OSError, ValueError, csv.Error):
        return []
    faults = [*table.faults(f"zslplat data check '{path}(leave_out={{}})' shows the data without the column")]
    for other in signatures:
        faults += other.faults("every attribute is one")
        faults += table.unknown_labels(other)
    return [*faults, *table.unknown_splits()]


class _Lines:
    """The lines of a file as texts, by their numbers; ``head`` names the columns."""

    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            self.head = [cell.strip() for cell in next(reader, [])]
            lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader if line]
        self.name = path.name
        self.torn = [(number, len(line)) for number, line in lines if len(line) != len(self.head)]
        self.lines = [(number, line) for number, line in lines if len(line) == len(self.head)]

    def faults(self, mend: str) -> Iterator[Fault]:
        """Yield lines of another number of cells, and cells of columns of numbers that hold none."""
        for number, count in self.torn[:_SHOWN]:
            text = f"{self.name}, line {number} has {count} cells, the header has {len(self.head)}"
            yield text, "give the line a cell for each column, or take it out"
        for place, name in enumerate(self.head):
            bad = [(number, line[place]) for number, line in self.lines if not _is_finite(line[place])]
            if len(bad) <= (1 - _MOSTLY) * len(self.lines):
                texts = [f"{shown(cell)} is no finite number" if cell else "the cell is empty" for _, cell in bad]
                yield from self._each(name, [n for n, _ in bad], texts, f"write a number there; {mend.format(name)}")

    def unknown_labels(self, signatures: _Lines) -> Iterator[Fault]:
        """Yield labels that have no line among the signatures."""
        place = self._place_of("y")
        classes = [line[0] for _, line in signatures.lines]
        bad = [] if place is None else [(n, line[place]) for n, line in self.lines if line[place] not in classes]
        if bad and place is not None and len(bad) < len(self.lines):
            near = {label: " or ".join(near_names(label, classes)) for _, label in bad}
            texts = [
                f"class {shown(label)} has no line in {signatures.name}"
                + (f"; did you mean {near[label]}?" if near[label] else "")
                for _, label in bad
            ]
            yield from self._each(self.head[place], [n for n, _ in bad], texts, f"correct it in {self.name}")

    def unknown_splits(self) -> Iterator[Fault]:
        """Yield cells of the column of splits that name none."""
        place = self._place_of("split")
        cells = [] if place is None else [(number, line[place]) for number, line in self.lines]
        bad = [(n, cell) for n, cell in cells if cell and split_of(cell) not in OF_ROWS and "fold" not in cell]
        if place is not None and len(bad) < len(cells):
            names = [near_names(cell, OF_ROWS, most=1, cutoff=0.6) or OF_ROWS for _, cell in bad]
            texts = [f"{shown(cell)} is no split" for _, cell in bad]
            mend = f"write {' or '.join(dict.fromkeys(name for one in names for name in one))} there"
            yield from self._each(self.head[place], [n for n, _ in bad], texts, mend)

    def _place_of(self, role: str) -> int | None:
        return next((place for place, name in enumerate(self.head) if name.lower() in ALIASES[role]), None)

    def _each(self, column: str, numbers: Sequence[int], texts: Sequence[str], mend: str) -> Iterator[Fault]:
        lines: dict[str, list[int]] = {}
        for number, text in zip(numbers, texts, strict=True):
            lines.setdefault(text, []).append(number)
        for text, same in list(lines.items())[:_SHOWN]:
            more = f" and {counted(len(same) - 1, 'more line')}" if len(same) > 1 else ""
            yield f"{self.name}, line {same[0]}{more}, column {column}: {text}", mend
        if len(lines) > _SHOWN:
            yield f"{self.name}, column {column}: {counted(len(lines) - _SHOWN, 'more such cell')}", mend


def _is_finite(cell: str) -> bool:
    return is_number(cell) and math.isfinite(float(cell))
