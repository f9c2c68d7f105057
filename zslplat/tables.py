"""Tables of named columns, and their CSV files."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """Columns of equal length, in order; written as CSV."""

    columns: Mapping[str, Sequence[Any]]


def write_table(table: Table, path: Path | str) -> None:
    """Write a table as CSV: a header, one line per row, numbers in full precision, nothing for None.

    Raises :class:`ValueError` where columns differ in length.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(zip(*table.columns.values(), strict=True))
