"""What is wrong with the text of a CSV file, in words that let it be repaired: line, column, what stands there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

# What spreadsheets and databases put in place of the comma.
_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST = 40


def is_number(cell: str) -> bool:
    """Tell whether a cell is read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def shown(cell: str) -> str:
    """Return a cell as messages quote it."""
    return repr(cell if len(cell) <= _LONGEST else cell[:_LONGEST] + "...")


def other_separator(cells: Sequence[str]) -> str:
    """Return what is wrong where the cells of a line, split at commas, still hold another separator, else ``""``."""
    sign = next((sign for sign in _OTHERS if any(sign in cell for cell in cells)), "")
    if not sign:
        return ""
    parts = [part.strip() for part in ",".join(cells).split(sign)]
    point = " and a decimal point" if any("," in part and is_number(part.replace(",", ".")) for part in parts) else ""
    comma = " and decimal commas" if point else ""
    return f"cells are separated by {_OTHERS[sign]}{comma}; write commas between cells{point}, as in 0.5,1.25"


def not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    """Return what to do about a file whose text is in another encoding, with the line where that shows first."""
    start = path.read_bytes()[: error.start + 2]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is text in UTF-16; save it as UTF-8"
    line = start[:-2].count(b"\n") + 1
    return f"line {line} is no text in UTF-8; save the file as UTF-8"


def fault_of_numbers(lines: Iterable[str], header: bool) -> str:
    """Return what is wrong with the first line that does not hold as many numbers as the one before, else ``""``.

    ``lines`` are those of the whole file; ``header``: the first is one.
    """
    width = at = 0
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.partition("#")[0].strip().split(",")]
        if cells == [""]:
            continue
        if header and number == 1:
            if separator := other_separator(cells):
                return separator
            continue
        bad = next((column for column, cell in enumerate(cells, start=1) if not is_number(cell)), 0)
        if bad:
            if separator := other_separator(cells):
                return f"line {number}: {separator}"
            what = f"{shown(cells[bad - 1])} is no number" if cells[bad - 1] else "nothing is there"
            rest = "" if width or bad > 1 else "; leave out a column that names or counts the rows"
            return f"line {number}, column {bad}: {what}; every cell must be a number{rest}"
        if width and len(cells) != width:
            return f"line {number} has {len(cells)} numbers, and line {at} has {width}; every line must have as many"
        width, at = width or len(cells), at or number
    return ""


def counts(cells: Sequence[str]) -> bool:
    """Tell whether the cells of a line are 0, 1, 2, ...: names that pandas gives to columns without any."""
    return len(cells) > 2 and list(cells) == [str(number) for number in range(len(cells))]
