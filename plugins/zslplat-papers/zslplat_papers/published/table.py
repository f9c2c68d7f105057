"""A published table: papers, rows, columns and cells, each with what is known of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zslplat.errors import DataError, UsageError, near_names

KINDS = ("table", "figure", "text")
# checked: a test finds each number in the paper's text. second-hand: read in public documents that cite the paper.
# unchecked: from memory; compare with the paper before anything rests on it.
STATUSES = ("checked", "second-hand", "unchecked")
DIRECTIONS = ("higher", "lower", "")
MISSING = ("", "-")

_NUMBER = r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?"
_PRINTED = re.compile(rf"({_NUMBER})(?: ± ({_NUMBER})|/\d+)?")


def parse_printed(text: str) -> tuple[float | None, float | None]:
    """Return value and spread of a cell as it is printed: ``"53.4 ± 1.7"`` is (53.4, 1.7), ``"4/5"`` is (4, None).

    A dash (the paper has no value) and an empty text (the paper prints none there) have no value. Raises
    :class:`DataError` for anything else.
    """
    if text in MISSING:
        return None, None
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise DataError(f"{text!r} is not a cell; write a number, 'number ± spread', 'count/of' or '-'")
    value, spread = (None if part is None else float(part.replace(",", "")) for part in match.groups())
    return value, spread


@dataclass(frozen=True)
class Paper:
    """A paper: its code ("000"), what it is called in text, and its bibliography; year 0: not stated."""

    code: str
    name: str
    title: str
    authors: str
    venue: str
    year: int = 0


@dataclass(frozen=True)
class Column:
    """A column: what is measured (in words, and the name of the metric here where there is one), on which data.

    ``better`` is "higher", "lower", or "" where neither is better. ``data`` is the data set, and "" in a column over
    several (an average, a count).
    """

    id: str
    label: str
    data: str
    measures: str
    metric: str
    unit: str
    better: str
    split: str
    features: str
    protocol: str


@dataclass(frozen=True)
class Row:
    """A row: a method (or a variant, or a statement about one); ``own`` says that it is the paper's own.

    ``reference`` is whom the paper cites for it, ``anchor`` the words of its text before the numbers, by which the row
    is found there.
    """

    id: str
    label: str
    method: str
    own: bool
    reference: str
    status: str
    anchor: str
    notes: tuple[str, ...]


_Part = TypeVar("_Part", Row, Column)


@dataclass(frozen=True)
class Cell:
    """A printed cell: the text as printed, its number, the spread where one is printed, and notes on it."""

    row: str
    column: str
    printed: str
    value: float | None
    spread: float | None
    notes: tuple[str, ...] = ()

    @property
    def rounding(self) -> float:
        """How far the number may lie from what was rounded to it: half a unit of its last digit, 0 without a number."""
        if self.value is None or "/" in self.printed:
            return 0.0
        _, _, decimals = self.printed.partition(" ")[0].partition(".")
        return 0.5 * 10.0 ** -len(decimals)


@dataclass(frozen=True)
class PublishedTable:
    """A table, a figure's stated numbers, or numbers stated in a section's text.

    ``label`` is what the paper calls it, ``where`` the section, ``kind`` "table", "figure" or "text". Every row has a
    cell in every column; :meth:`cell` finds one.
    """

    id: str
    paper: Paper
    label: str
    title: str
    where: str
    kind: str
    status: str
    source: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    cells: Mapping[tuple[str, str], Cell] = field(repr=False)

    def row(self, row: str) -> Row:
        """Return a row by its id; raises :class:`UsageError` that lists the rows."""
        return _named(self.rows, "row", row, self.id)

    def column(self, column: str) -> Column:
        """Return a column by its id; raises :class:`UsageError` that lists the columns."""
        return _named(self.columns, "column", column, self.id)

    def cell(self, row: str, column: str) -> Cell:
        """Return the cell of a row in a column; raises :class:`UsageError` for an unknown one."""
        return self.cells[self.row(row).id, self.column(column).id]

    @property
    def own_rows(self) -> tuple[Row, ...]:
        """The rows of the paper's own methods."""
        return tuple(row for row in self.rows if row.own)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per cell, in order of rows, with all that is known of it; numbers as numbers."""
        return [
            {
                "table": self.id,
                "row": row.id,
                "label": row.label,
                "method": row.method,
                "own": row.own,
                "status": row.status,
                "column": column.id,
                "data": column.data,
                "measures": column.measures,
                "metric": column.metric,
                "unit": column.unit,
                "better": column.better,
                "split": column.split,
                "features": column.features,
                "protocol": column.protocol,
                "printed": cell.printed,
                "value": cell.value,
                "spread": cell.spread,
                "notes": [*row.notes, *cell.notes],
            }
            for row in self.rows
            for column in self.columns
            for cell in (self.cells[row.id, column.id],)
        ]


def _named(parts: tuple[_Part, ...], kind: str, name: str, table: str) -> _Part:
    for part in parts:
        if part.id == name:
            return part
    raise unknown(f"{kind} of table {table}", name, [part.id for part in parts])


def unknown(kind: str, name: str, names: list[str]) -> UsageError:
    """Return the error for a name that is not there: near matches first, then all names."""
    near = near_names(name, names)
    hint = f"did you mean {', '.join(near)}? " if near else ""
    return UsageError(f"unknown {kind} {name!r}; {hint}known: {', '.join(names) or 'none'}")
