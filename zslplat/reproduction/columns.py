"""What files of kept results hold: the columns of each kind of file, and which of their cells are numbers.

Lines are checked once, as they are read, so that whatever judges or draws them meets numbers. What was cut off or
edited is told with file, line and column, what is there, and what was expected: no verdict follows from the rest of a
line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from zslplat.errors import StoreError, quoted

_ORIGIN = ("commit", "kept")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,15}")
_NAN = "nan"
_SHOWN = 100  # characters of a first line


@dataclass(frozen=True)
class Columns:
    """The columns of one kind of file.

    ``needed`` are read by their names, and ``filled`` of them are empty in no line. ``numbers`` are finite, and so are
    the ``ends`` of intervals (low, high), both or none; ``may_be_nan``: one that could not be given is kept as nan.
    ``counts`` are whole numbers, from the least that is legal.
    """

    needed: tuple[str, ...]
    filled: tuple[str, ...]
    numbers: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]
    counts: Mapping[str, int]
    may_be_nan: bool = True


_ENDS, _BOTH = (("low", "high"),), (("low", "high"), ("low_classes", "high_classes"))
# By the name of the file; others are looked at by people and programs of their own, and have what columns they like.
KINDS = {
    "claims": Columns(
        needed=(
            *("claim", "suite", "contrast", "difference", "low", "high", "over", "classes", "trials", "repeats"),
            *_ORIGIN,
        ),
        filled=("claim", "suite", "contrast", "difference"),
        numbers=("difference", "least"),
        ends=_ENDS,
        counts={"classes": 1, "trials": 0, "repeats": 0},
        may_be_nan=False,
    ),
    "reproduce-*": Columns(
        needed=("row", "column", "stand_in", "way", "metric", "ours", "verdict", "why", "trials", "hours", *_ORIGIN),
        filled=("row", "column", "way", "metric", "ours"),
        numbers=("ours", "paper", "oracle", "oracle_gain", "oracle_gain_by_metric", "hours"),
        ends=_BOTH,
        counts={"trials": 0},
    ),
    "bench-*-scores": Columns(
        needed=(
            *("data", "row", "task", "metric", "test", "knows_of_batch", "from_memory", "trials", "split", "hours"),
            *_ORIGIN,
        ),
        filled=("data", "row", "task", "metric", "test"),
        numbers=("test", "hours"),
        ends=_BOTH,
        counts={"trials": 0},
    ),
}


def check_columns(name: str, columns: Sequence[str], where: str) -> None:
    """Check the first line of the results of a name; raises :class:`StoreError` with ``where`` it stands."""
    kind = _kind(name)
    missing = [column for column in (kind.needed if kind else ()) if column not in columns]
    if missing or not columns:
        text = ",".join(columns)
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        without = f", without {', '.join(missing)}" if missing else ""
        raise StoreError(
            f"{where}: {len(columns)} columns, {text!r}{without}; expected the names of all columns, with commas "
            "between them; mend the file, or restore it from a copy"
        )
    for column in columns:
        if columns.count(column) > 1:
            raise StoreError(f"{where}: column {column} is there twice, expected each once; mend the file")


def check_line(name: str, line: Mapping[str, str], where: str) -> None:
    """Check the cells of a line of the results of a name; raises :class:`StoreError` with ``where`` it stands."""
    if any("\0" in text for text in line.values()):
        raise StoreError(f"{where}: a character NUL, expected text; restore the line from a copy of the file")
    kind = _kind(name)
    if kind is None:
        return
    for column in kind.numbers:
        empty = column not in kind.filled
        _check_number(line.get(column, ""), column, where, empty=empty, may_be_nan=kind.may_be_nan)
    for column in kind.filled:
        if not line[column]:
            raise _odd("", column, where, "not to be empty")
    for column, least in kind.counts.items():
        text = line.get(column, "")
        if text and not (_WHOLE.fullmatch(text) and int(text) >= least):
            raise _odd(text, column, where, f"a whole number from {least}, or nothing")
    for ends in kind.ends:
        _check_ends(line, ends, where, may_be_nan=kind.may_be_nan)


def _check_ends(line: Mapping[str, str], ends: tuple[str, str], where: str, *, may_be_nan: bool) -> None:
    low, high = (line.get(end, "") for end in ends)
    for column, text, other in ((ends[0], low, ends[1]), (ends[1], high, ends[0])):
        _check_number(text, column, where, may_be_nan=may_be_nan)
        if not text and line.get(other):
            raise _odd(text, column, where, f"an end beside {other}, which is {quoted(line[other])}")
    if low and high and float(low) > float(high):
        raise _odd(low, ends[0], where, f"the low end of an interval up to {high}")


def _check_number(text: str, column: str, where: str, *, empty: bool = True, may_be_nan: bool) -> None:
    if (not text and empty) or (text == _NAN and may_be_nan):
        return
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        form = "a finite number" + (f" or {_NAN}" if may_be_nan else "")
        raise _odd(text, column, where, form + (", or nothing" if empty else ""))


def _odd(text: str, column: str, where: str, expected: str) -> StoreError:
    return StoreError(
        f"{where}, column {column}: {quoted(text)}, expected {expected}; mend the cell, or restore the line from a "
        "copy of the file"
    )


def _kind(name: str) -> Columns | None:
    return next((kind for pattern, kind in KINDS.items() if fnmatchcase(name, pattern)), None)
