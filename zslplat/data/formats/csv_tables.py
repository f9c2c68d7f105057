"""Text files: a table as Arrow has it, and signatures of classes. Errors name line, column and cell."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.store.precision import require_exact
from zslplat.errors import DataError

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


def _read_lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in line] for line in csv.reader(file)]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {not_utf8(path, error)}") from error
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def read_signatures(path: Path) -> RawSignatures:
    """Return signatures with the class of each line, and the names of the attributes where there is a header."""
    lines = [(number, line) for number, line in enumerate(_read_lines(path), start=1) if any(line)]
    names: list[str] = []
    if lines and not all(is_number(cell) for cell in lines[0][1][1:]):
        names, lines = lines[0][1][1:], lines[1:]
    form = "expected one line per class: its name, then its attributes, as in zebra,0.5,1"
    width = len(lines[0][1]) if lines else 0
    if not lines:
        raise DataError(f"{path}: {'holds a header alone' if names else 'is empty'}; {form}")
    if width < 2:
        wrong = other_separator(lines[0][1]) or f"only {shown(lines[0][1][0])} is there"
        raise DataError(f"{path}: line {lines[0][0]}: {wrong}; {form}")
    values = []
    for number, line in lines:
        where = f"{path}: line {number}, class {shown(line[0])}"
        if len(line) != width:
            raise DataError(
                f"{where}: {len(line) - 1} attributes, but line {lines[0][0]} has {width - 1}; give as many"
            )
        bad = next((column for column, cell in enumerate(line) if column and not is_number(cell)), 0)
        if bad:
            column = f"column {bad + 1}" + (f" ({names[bad - 1]})" if len(names) == width - 1 else "")
            what = f"{shown(line[bad])} is no number" if line[bad] else "nothing is there"
            hint = other_separator(line) or "every attribute must be a number"
            raise DataError(f"{where}, {column}: {what}; {hint}")
        require_exact(line[1:], where)
        values.append([float(cell) for cell in line[1:]])
    if names and len(names) != width - 1:
        raise DataError(
            f"{path}: the header names {len(names)} attributes, and line {lines[0][0]} has {width - 1}; it names the "
            "column of classes, too, as in class,stripes,fur"
        )
    classes = np.array([line[0] for _, line in lines], dtype=np.str_)
    return RawSignatures(np.array(values), classes, names=names, named=True)


def read_arrow(path: Path, texts: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Return a table as Arrow has it, of all columns or of some; ``texts`` are columns that stay texts: 01 is not 1.

    Only an empty cell is null. Raises :class:`DataError` for what is no table of UTF-8 with commas between cells.
    """
    import pyarrow as pa
    import pyarrow.csv

    try:
        _check_text(path)
        options = pyarrow.csv.ReadOptions(use_threads=False)
        convert = pyarrow.csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            column_types={name: pa.string() for name in texts},
            include_columns=columns,
        )
        return pyarrow.csv.read_csv(path, options, convert_options=convert)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be read as a CSV file ({reason}); write it again") from error


def _check_text(path: Path) -> None:
    """Raise :class:`DataError` for text that is not UTF-8, or not separated by commas; files may be large."""
    before, first = 0, list[str]()
    with path.open("rb") as file:
        for line in file:
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                error.start += before
                raise DataError(f"{path}: {not_utf8(path, error)}") from error
            if b"\0" in line:
                raise DataError(f"{path}: holds NUL bytes, as text in UTF-16 does; save it as UTF-8")
            if not before and b"," not in line and (separator := other_separator([text])):
                raise DataError(f"{path}: {separator}")
            if len(first) < 2 and text.strip():
                first.append(text)
                if len(first) == 2:
                    _check_separator(path, *first)
            before += len(line)


def _check_separator(path: Path, head: str, line: str) -> None:
    """Raise :class:`DataError` where the first two lines agree in another separator, though names hold commas."""
    for sign in _OTHERS:
        cells = _cells(line, sign)
        if not len(cells) == len(_cells(head, sign)) > 1:
            continue
        if len(_cells(line, ",")) != len(_cells(head, ",")) or all(is_number(cell.replace(",", ".")) for cell in cells):
            raise DataError(f"{path}: {other_separator([line])}; put a name that holds a comma in quotes")


def _cells(line: str, sign: str) -> list[str]:
    if sign not in line:
        return [line]
    try:
        return next(csv.reader([line], delimiter=sign))
    except csv.Error:  # a cell is longer than one may be
        return [line]
