"""Reading published tables from their files, refusing what is incomplete or said twice."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from zslplat.errors import DataError
from zslplat.registry import registry
from zslplat_papers.published.table import (
    DIRECTIONS,
    KINDS,
    STATUSES,
    Cell,
    Column,
    Paper,
    PublishedTable,
    Row,
    parse_printed,
    unknown,
)

DATA = Path(__file__).parent / "data"
_PAPERS, _CLAIMS = "papers.toml", "claims.toml"

# Keys of a table that its columns take over unless they say otherwise.
_INHERITED = ("measures", "metric", "unit", "better", "split", "features", "protocol")
_TABLE = (
    "paper",
    "label",
    "title",
    "where",
    "kind",
    "status",
    "source",
    "notes",
    "columns",
    "rows",
    "cells",
    "remarks",
)
_COLUMN = ("id", "label", "data")
_ROW = ("id", "label", "method", "own", "reference", "status", "anchor", "notes", "cells")
_REMARK = ("row", "column", "text")


def table_ids() -> list[str]:
    """Return the ids of all published tables, of this package and of others, sorted: "000-table-2", ..."""
    return sorted(_paths())


def _paths() -> dict[str, Path]:
    """Return the files of the tables by id: those of this package, and those of the hook ``zslplat_tables``."""
    here = {path.stem: path for path in DATA.glob("*.toml") if path.name not in (_PAPERS, _CLAIMS)}
    return {name: Path(registry().entry("tables", name).load()) for name in registry().names("tables")} | here


@cache
def load_table(table: str) -> PublishedTable:
    """Return a published table by its id; raises :class:`UsageError` that lists the ids for an unknown one."""
    paths = _paths()
    if table not in paths:
        raise unknown("published table", table, sorted(paths))
    return read_table(paths[table], table)


@cache
def load_papers() -> Mapping[str, Paper]:
    """Return the papers by their code."""
    content = read_toml(DATA / _PAPERS)
    return {code: Paper(code, **entry) for code, entry in content.items()}


def read_table(path: Path, table: str = "") -> PublishedTable:
    """Read a table's file (and the CSV file of its cells, where it names one); ``table``: an id other than its name.

    Raises :class:`DataError` that names the file for keys that nobody reads, rows or columns said twice, cells that
    are too few, too many or no numbers, and notes on cells that do not exist.
    """
    try:
        return _table(path, table or path.stem, read_toml(path))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from error
    except KeyError as error:
        raise DataError(f"{path.name}: {error.args[0]!r} is missing") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raises :class:`DataError` where it is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is not TOML: {error}") from error


def only(keys: Iterable[str], allowed: Iterable[str], where: str) -> None:
    """Raise :class:`DataError` where an entry has a key that nobody reads."""
    odd = sorted(set(keys) - set(allowed))
    if odd:
        raise DataError(f"{where} has {', '.join(odd)}; it may have {', '.join(sorted(allowed))}")


def unique(names: Iterable[str], kind: str) -> None:
    """Raise :class:`DataError` where a name comes twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{kind} {', '.join(twice)} is there more than once")


def one_of(value: str, allowed: Iterable[str], what: str) -> str:
    """Return the value; raises :class:`DataError` where it is none of those that are allowed."""
    if value not in allowed:
        raise DataError(f"{what} is {value!r}; expected one of {', '.join(map(repr, allowed))}")
    return value


def _table(path: Path, table: str, content: dict[str, Any]) -> PublishedTable:
    only(content, (*_TABLE, *_INHERITED), "the table")
    status = one_of(content["status"], STATUSES, "status")
    columns = tuple(_column(entry, content) for entry in content["columns"])
    rows = tuple(_row(entry, status) for entry in content["rows"])
    unique((column.id for column in columns), "column")
    unique((row.id for row in rows), "row")
    printed = _printed(path, content, columns)
    notes = _remarks(content.get("remarks", []), rows, columns)
    return PublishedTable(
        id=table,
        paper=_paper(content["paper"]),
        label=content["label"],
        title=content["title"],
        where=content["where"],
        kind=one_of(content["kind"], KINDS, "kind"),
        status=status,
        source=content["source"],
        notes=tuple(content.get("notes", ())),
        columns=columns,
        rows=rows,
        cells={key: Cell(*key, text, *parse_printed(text), notes.get(key, ())) for key, text in printed.items()},
    )


def _paper(entry: str | dict[str, Any]) -> Paper:
    """Return a paper of this package by its code, or one that the table describes itself."""
    if isinstance(entry, str):
        papers = load_papers()
        return papers[one_of(entry, tuple(papers), "paper")]
    names = [field.name for field in fields(Paper)]
    only(entry, names, "paper")
    return Paper(**{name: entry[name] for name in names if name != "year" or name in entry})


def _column(entry: dict[str, Any], table: dict[str, Any]) -> Column:
    only(entry, (*_COLUMN, *_INHERITED), f"column {entry.get('id')}")
    inherited = {key: entry.get(key, table[key]) for key in _INHERITED}
    one_of(inherited["better"], DIRECTIONS, f"better of column {entry['id']}")
    return Column(id=entry["id"], label=entry.get("label", entry["id"]), data=entry["data"], **inherited)


def _row(entry: dict[str, Any], status: str) -> Row:
    only(entry, _ROW, f"row {entry.get('id')}")
    return Row(
        id=entry["id"],
        label=entry["label"],
        method=entry["method"],
        own=entry.get("own", False),
        reference=entry.get("reference", ""),
        status=one_of(entry.get("status", status), STATUSES, f"status of row {entry['id']}"),
        anchor=entry.get("anchor", entry["label"]),
        notes=tuple(entry.get("notes", ())),
    )


def _printed(path: Path, content: dict[str, Any], columns: tuple[Column, ...]) -> dict[tuple[str, str], str]:
    """Return {(row, column): printed text}, from the rows themselves or from the CSV file that the table names."""
    names = [column.id for column in columns]
    rows = [entry["id"] for entry in content["rows"]]
    if "cells" in content:
        with open(path.parent / content["cells"], newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        if header != ["row", *names]:
            raise DataError(f"{content['cells']} has the columns {header}; expected {['row', *names]}")
        if [line[0] for line in lines] != rows:
            raise DataError(f"{content['cells']} has the rows {[line[0] for line in lines]}; expected {rows}")
        cells = {line[0]: line[1:] for line in lines}
    else:
        cells = {entry["id"]: entry["cells"] for entry in content["rows"]}
    for row, texts in cells.items():
        if len(texts) != len(names):
            raise DataError(f"row {row} has {len(texts)} cells for {len(names)} columns")
    return {(row, name): text for row, texts in cells.items() for name, text in zip(names, texts, strict=True)}


def _remarks(
    entries: list[dict[str, str]], rows: tuple[Row, ...], columns: tuple[Column, ...]
) -> dict[tuple[str, str], tuple[str, ...]]:
    notes: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in entries:
        only(entry, _REMARK, "a remark")
        key = (
            one_of(entry["row"], [row.id for row in rows], "row of a remark"),
            one_of(entry["column"], [column.id for column in columns], "column of a remark"),
        )
        notes[key] = (*notes.get(key, ()), entry["text"])
    return notes
