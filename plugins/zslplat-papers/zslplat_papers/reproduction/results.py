"""Files of results that are kept: small CSV files, each line with its provenance.

This package brings such files (``PACKAGED``). A user's lie in ``./results`` or wherever ``--results`` says; a line
there takes the place of one of the same key.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from zslplat.data.store.atomic_files import folder_lock, replacing
from zslplat.errors import StoreError, quoted
from zslplat.figures import Table, write_table
from zslplat.records.environment import environment_record

PACKAGED = Path(__file__).parent / "results"
FOLDER = Path("results")
PROVENANCE = ("commit", "versions", "seed", "hours", "kept")
_VERSIONS = ("zslplat", "numpy", "scipy", "scikit-learn")
# Columns of numbers in all files; those that tell a line from the others are in each.
NUMBERS = {
    *("classes", "difference", "high", "high_classes", "hours", "low", "low_classes", "oracle", "oracle_gain"),
    *("oracle_gain_by_metric", "ours", "paper", "repeats", "seconds", "test", "trials"),
}
# What no line of a file lacks, by the name of the file.
NEEDED = {
    "claims": ("claim", "suite", "contrast", "difference"),
    "reproduce-*": ("row", "column", "way", "metric", "ours"),
    "bench-*-scores": ("data", "row", "task", "metric", "test"),
}
Line = dict[str, str]


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
            raise StoreError(f"{what}; give another folder") from error


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

    Raises :class:`StoreError` for what was cut off or edited: a cell that is missing, one too many, or no number.
    """
    if not path.is_file():
        return []
    needed = next((names for pattern, names in NEEDED.items() if fnmatchcase(path.stem, pattern)), ())
    try:
        # A spreadsheet begins the file with a mark of its encoding.
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, restkey="", strict=True)
            lines = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"kept results {path} are no CSV in UTF-8: {error}; restore the file from a copy") from error
    for place, line in enumerate(lines or [dict.fromkeys(reader.fieldnames or (), "0")], 1):
        odd = [column for column in needed if not line.get(column)]
        odd += [column for column in line if column in NUMBERS and not _is_number(line[column])]
        if odd or "" in line or None in line.values():
            what = f"column {odd[0]}: {quoted(line.get(odd[0]) or '')}" if odd else f"{len(line)} cells"
            expected = "a number" if odd and odd[0] in NUMBERS else "a cell in each column"
            raise StoreError(f"kept results {path}, entry {place}, {what}, expected {expected}; restore it from a copy")
    return lines


def number(text: str | None) -> float | None:
    """Return a number of a line that was read, and checked as it was; None for an empty entry."""
    return float(text) if text else None


def _is_number(text: str | None) -> bool:
    try:
        return float(text or 0) is not None
    except ValueError:
        return False


def _own_hours(line: Mapping[str, Any]) -> dict[str, str]:
    seconds = line.get("seconds")
    return {} if seconds in (None, "") else {"hours": f"{float(seconds) / 3600:.4f}"}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
