"""Files of results that are kept: small CSV files, each line with its provenance.

This package brings such files (``PACKAGED``). A user's lie in ``./results`` or wherever ``--results`` says; a line
there takes the place of one of the same key. Every file is checked as it is read, so that
what judges or draws its lines meets numbers: a cell that was cut off or edited is reported with file, line and column.
"""

from __future__ import annotations

import csv
import math
import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from zslplat.data.store.atomic_files import folder_lock, replacing
from zslplat.errors import StoreError, UsageError, quoted
from zslplat.figures import Table, write_table
from zslplat.records.environment import environment_record

PACKAGED = Path(__file__).parent / "results"
FOLDER = Path("results")
PROVENANCE = ("commit", "versions", "seed", "hours", "kept")
_VERSIONS = ("zslplat", "numpy", "scipy", "scikit-learn")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,15}")
_NAN = "nan"
_SHOWN = 100  # characters of a first line
Line = dict[str, str]


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


ORIGIN = ("commit", "kept")
BOTH_ENDS = (("low", "high"), ("low_classes", "high_classes"))
# By the name of the file, as a pattern; files of other names may have any columns.
SCHEMAS: Mapping[str, Columns] = {
    "bench-*-scores": Columns(
        needed=(
            *("data", "row", "task", "metric", "test", "knows_of_batch", "from_memory", "trials", "split", "hours"),
            *ORIGIN,
        ),
        filled=("data", "row", "task", "metric", "test"),
        numbers=("test", "hours"),
        ends=BOTH_ENDS,
        counts={"trials": 0},
    ),
    "claims": Columns(
        needed=(
            *("claim", "suite", "contrast", "difference", "low", "high", "over", "classes", "trials", "repeats"),
            *ORIGIN,
        ),
        filled=("claim", "suite", "contrast", "difference"),
        numbers=("difference",),
        ends=BOTH_ENDS[:1],
        counts={"classes": 1, "trials": 0, "repeats": 0},
        may_be_nan=False,
    ),
    "reproduce-*": Columns(
        needed=("row", "column", "stand_in", "way", "metric", "ours", "verdict", "why", "trials", "hours", *ORIGIN),
        filled=("row", "column", "way", "metric", "ours"),
        numbers=("ours", "paper", "oracle", "oracle_gain", "oracle_gain_by_metric", "hours"),
        ends=BOTH_ENDS,
        counts={"trials": 0},
    ),
}


def keep_results(
    name: str,
    lines: Sequence[Mapping[str, Any]],
    key: Sequence[str],
    folder: Path | None = None,
    *,
    hours: float,
) -> Path:
    """Write lines into ``NAME.csv`` in a folder (default: ``./results``), each with its provenance; return the file.

    ``key`` names the columns that tell lines apart: a line of the same key is replaced, all others stay. ``hours`` is
    what all of it took; a line that says ``seconds`` says its own. Raises :class:`StoreError` where they cannot be
    written.
    """
    folder = folder or FOLDER
    path = folder / f"{name}.csv"
    stamp = provenance(hours)
    new = [{**stamp, **line, **_own_hours(line)} for line in lines]
    replaced = {key_of(line, key) for line in new}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with folder_lock(folder):
            earlier = read_file(path)
            unchanged: list[Mapping[str, Any]] = [line for line in earlier if key_of(line, key) not in replaced]
            columns = dict.fromkeys(
                column for line in (*unchanged, *new) for column in line if column not in PROVENANCE
            )
            together = sorted([*unchanged, *new], key=lambda line: key_of(line, key))
            table = {column: [_text(line.get(column)) for line in together] for column in (*columns, *PROVENANCE)}
            with replacing(path) as beside:
                write_table(Table(table), beside)
    except OSError as error:
        raise StoreError(
            f"results cannot be kept in {path}: {error.strerror or error}; give --results FOLDER"
        ) from error
    return path


def key_of(line: Mapping[str, Any], key: Iterable[str]) -> tuple[str, ...]:
    """Return the text of the columns of ``key``, which tell a line of results from the others."""
    return tuple(str(_text(line.get(name))) for name in key)


def check_places(*folders: Path | None) -> None:
    """Raise :class:`StoreError` for a folder that results cannot be written to; none is made that is not there yet.

    What takes hours asks this first.
    """
    for folder in folders:
        if folder is None:
            continue
        place = folder.absolute()
        try:
            with tempfile.TemporaryFile(dir=next(path for path in (place, *place.parents) if path.exists())):
                pass
        except OSError as error:
            what = f"{folder} cannot be written: {error.strerror or error}"
            raise StoreError(f"{what}; give another folder to --out or --results") from error


def check_file(path: Path | None, option: str) -> None:
    """Raise :class:`UsageError` where a folder stands in the place of a file that will be written."""
    if path is not None and path.is_dir():
        raise UsageError(f"{option} {path} is a folder; expected a file")


def check_files(names: Iterable[str], folder: Path | None) -> None:
    """Read the results that lines will be added to; raises :class:`StoreError` for damaged ones.

    What takes hours calls this first.
    """
    for name in names:
        read_file((folder or FOLDER) / f"{name}.csv")


def provenance(hours: float) -> dict[str, str]:
    """Return what every kept line says of its origin: commit, versions, hours, day."""
    environment = environment_record()
    git, packages = environment["git"], environment["packages"]
    commit = str(git.get("commit", "installed"))[:12] + ("+" if git.get("dirty") else "")
    versions = [f"python {environment['python']}", *(f"{name} {packages[name]}" for name in _VERSIONS)]
    return {
        "commit": commit,
        "versions": ", ".join(versions),
        "seed": "",
        "hours": f"{hours:.3f}",
        "kept": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def read_results(name: str, folder: Path | None = None, key: Sequence[str] = ()) -> list[Line]:
    """Return the lines of a name: those of ``folder``, or this package's with those of ``./results`` over them."""
    if folder is not None:
        return read_file(folder / f"{name}.csv")
    lines = [line for place in (PACKAGED, FOLDER) for line in read_file(place / f"{name}.csv")]
    return list({key_of(line, key or tuple(line)): line for line in lines}.values())


def result_names(folder: Path | None = None) -> list[str]:
    """Return the names of all results in ``folder``, or in this package and in ``./results``."""
    places = (PACKAGED, FOLDER) if folder is None else (folder,)
    return sorted({path.stem for place in places for path in place.glob("*.csv")})


def read_file(path: Path) -> list[Line]:
    """Return the lines of a file of results; none where there is no file.

    Raises :class:`StoreError` for a file that is no table, and for what was cut off or edited, with line and column.
    """
    if not path.is_file():
        return []
    schema = next((one for pattern, one in SCHEMAS.items() if fnmatchcase(path.stem, pattern)), None)
    file_text, ended, lines = f"kept results {path}", 0, []
    try:
        # A spreadsheet begins the file with a mark of its encoding.
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            try:
                columns = next(reader, [])
                _check_columns(schema, columns, f"{file_text}, line 1")
                ended = reader.line_num
                for cells in reader:
                    # Cells may have lines of their own: a line of results begins where the one before it ended.
                    where, ended = f"{file_text}, line {ended + 1}", reader.line_num
                    if not cells:
                        continue
                    if len(cells) != len(columns):
                        raise StoreError(
                            f"{where}: {len(cells)} cells, expected {len(columns)} as in the first line; it was cut "
                            "off or edited: restore it from a copy of the file"
                        )
                    lines.append(dict(zip(columns, cells, strict=True)))
                    _check_line(schema, lines[-1], where)
            except csv.Error as error:
                raise StoreError(
                    f"{file_text}, line {ended + 1}: {error}, expected cells with commas between them, in quotes where "
                    "they have commas; mend the line, or restore the file from a copy"
                ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{file_text} are no CSV in UTF-8: {error}; mend or remove the file") from error
    return lines


def number(text: str | None) -> float | None:
    """Return a number of a line that was read, and checked as it was; None for an empty entry."""
    return float(text) if text else None


def _own_hours(line: Mapping[str, Any]) -> dict[str, str]:
    seconds = line.get("seconds")
    return {} if seconds in (None, "") else {"hours": f"{float(seconds) / 3600:.4f}"}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def _check_columns(schema: Columns | None, columns: Sequence[str], where: str) -> None:
    """Check the first line of a file; raises :class:`StoreError` with ``where`` it stands."""
    missing = [column for column in (schema.needed if schema else ()) if column not in columns]
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


def _check_line(schema: Columns | None, line: Mapping[str, str], where: str) -> None:
    """Check the cells of a line; raises :class:`StoreError` with ``where`` it stands."""
    if any("\0" in text for text in line.values()):
        raise StoreError(f"{where}: a character NUL, expected text; restore the line from a copy of the file")
    if schema is None:
        return
    for column in schema.numbers:
        empty = column not in schema.filled
        _check_number(line.get(column, ""), column, where, empty=empty, may_be_nan=schema.may_be_nan)
    for column in schema.filled:
        if not line[column]:
            raise _odd("", column, where, "not to be empty")
    for column, least in schema.counts.items():
        text = line.get(column, "")
        if text and not (_WHOLE.fullmatch(text) and int(text) >= least):
            raise _odd(text, column, where, f"a whole number from {least}, or nothing")
    for ends in schema.ends:
        _check_ends(line, ends, where, may_be_nan=schema.may_be_nan)


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
