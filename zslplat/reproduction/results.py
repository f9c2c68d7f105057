"""Kept results: small CSV files with their provenance, from which claims are judged and documentation is drawn.

The project's own lie in this package (``results/``), so that an installed copy knows them as well as a checkout does.
A user's own lie in ``./results`` or wherever ``--results`` says; a line there takes the place of one of the same key.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zslplat.data.store.atomic_files import alone_in, replacing
from zslplat.errors import StoreError, UsageError
from zslplat.records.environment import environment_record, git_state
from zslplat.reproduction.columns import check_columns, check_line
from zslplat.tables import Table, write_table

PACKAGED = Path(__file__).parent / "results"
OWN = Path("results")
PROVENANCE = ("commit", "versions", "seed", "hours", "kept")
_VERSIONS = ("zslplat", "numpy", "scipy", "scikit-learn")
Line = dict[str, str]


def keep_results(
    name: str,
    lines: Sequence[Mapping[str, Any]],
    key: Sequence[str],
    folder: Path | None = None,
    *,
    hours: float,
) -> Path:
    """Write lines into ``NAME.csv`` in the folder of results, each with where it comes from; return the file.

    ``key`` names the columns that tell lines apart: a line of the same key is replaced, all others stay. ``hours`` is
    what all of it took; a line that says ``seconds`` says its own. Without ``folder`` a checkout keeps them among its
    own sources, an installed copy in ``./results``. Raises :class:`StoreError` where they cannot be written.
    """
    folder = results_folder(folder)
    path = folder / f"{name}.csv"
    stamp = provenance(hours)
    new = [{**stamp, **line, **_own_hours(line)} for line in lines]
    known = {key_of(line, key) for line in new}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder):
            earlier = read_file(path)
            kept: list[Mapping[str, Any]] = [line for line in earlier if key_of(line, key) not in known]
            columns = dict.fromkeys(column for line in (*kept, *new) for column in line if column not in PROVENANCE)
            together = sorted([*kept, *new], key=lambda line: key_of(line, key))
            table = {column: [_text(line.get(column)) for line in together] for column in (*columns, *PROVENANCE)}
            with replacing(path) as beside:
                write_table(Table(table), beside)
    except OSError as error:
        raise StoreError(
            f"results cannot be kept in {path}: {error.strerror or error}; give --results FOLDER"
        ) from error
    return path


def results_folder(folder: Path | None = None) -> Path:
    """Return where results are kept: the folder given; else a checkout's own, or of an installed copy ``./results``."""
    return folder or (PACKAGED if git_state() else OWN)


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


def check_kept(names: Iterable[str], folder: Path) -> None:
    """Read the results that lines will be added to; raises :class:`StoreError` for damaged ones.

    What takes hours asks this first.
    """
    for name in names:
        read_file(folder / f"{name}.csv")


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
    """Return the kept lines of a name: those of ``folder``, or the package's with those of ``./results`` over them."""
    if folder is not None:
        return read_file(folder / f"{name}.csv")
    found = {key_of(line, key or tuple(line)): line for line in read_file(PACKAGED / f"{name}.csv")}
    found |= {key_of(line, key or tuple(line)): line for line in read_file(OWN / f"{name}.csv")}
    return list(found.values())


def result_names(folder: Path | None = None) -> list[str]:
    """Return the names of all kept results."""
    places = [PACKAGED, OWN] if folder is None else [folder]
    return sorted({path.stem for place in places for path in place.glob("*.csv")})


def read_file(path: Path) -> list[Line]:
    """Return the lines of a file of results; none where there is no file.

    Raises :class:`StoreError` for a file that is no table, and for what was cut off or edited, with line and column:
    see :mod:`zslplat.reproduction.columns`.
    """
    if not path.is_file():
        return []
    told, ended, lines = f"kept results {path}", 0, []
    try:
        # A spreadsheet begins the file with a mark of its encoding.
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            try:
                columns = next(reader, [])
                check_columns(path.stem, columns, f"{told}, line 1")
                ended = reader.line_num
                for cells in reader:
                    # Cells may have lines of their own: a line of results begins where the one before it ended.
                    where, ended = f"{told}, line {ended + 1}", reader.line_num
                    if not cells:
                        continue
                    if len(cells) != len(columns):
                        raise StoreError(
                            f"{where}: {len(cells)} cells, expected {len(columns)} as in the first line; it was cut "
                            "off or edited: restore it from a copy of the file"
                        )
                    lines.append(dict(zip(columns, cells, strict=True)))
                    check_line(path.stem, lines[-1], where)
            except csv.Error as error:
                raise StoreError(
                    f"{told}, line {ended + 1}: {error}, expected cells with commas between them, in quotes where "
                    "they have commas; mend the line, or restore the file from a copy"
                ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{told} are no CSV in UTF-8: {error}; mend or remove the file") from error
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
