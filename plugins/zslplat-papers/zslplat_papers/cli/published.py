"""``published list`` and ``show``: the papers' tables, as they are printed and with what is known against them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json
from zslplat.front.schema import REQUIRED, Option
from zslplat_papers.published import PublishedTable

app = Commands(
    help="The tables of the papers as data: list them, show one, write one as CSV.",
)


class ListTableOptions(TypedDict, total=False):
    """The options of ``published list``."""

    json: Json


@app.command("list")
def list_(options: ListTableOptions) -> None:
    """List the published tables, and what of each paper they hold."""
    from rich.table import Table

    from zslplat.cli.output import stdout_console
    from zslplat_papers.published import load_table, table_ids

    tables = [load_table(name) for name in table_ids()]
    if options["json"]:
        print_json([_in_short(table) for table in tables])
        return
    shown = Table("table", "paper", "in the paper", "what", "numbers", "status")
    for table in tables:
        short = _in_short(table)
        shown.add_row(*(str(short[key]) for key in ("table", "name", "label", "title", "numbers", "status")))
    stdout_console().print(shown)


class ShowTableOptions(TypedDict, total=False):
    """The options of ``published show``."""

    table: Annotated[
        str, Option("Id of a table, for example 000-table-2 (zslplat published list).", REQUIRED, positional=True)
    ]
    out: Annotated[Path | None, Option("Write one line per cell, with all that is known of it, to this CSV.")]
    json: Json


@app.command()
def show(options: ShowTableOptions) -> None:
    """Show a published table as it is printed, with its notes and its source."""
    from zslplat.cli.output import stdout_console
    from zslplat.figures import Table, write_table
    from zslplat_papers.published import load_table

    published = load_table(options["table"])
    if options["out"] is not None:
        records = [{**record, "notes": " | ".join(record["notes"])} for record in published.records()]
        write_table(Table({key: [record[key] for record in records] for key in records[0]}), options["out"])
    if options["json"]:
        print_json(_whole(published))
        return
    console = stdout_console()
    paper = published.paper
    console.print(
        f"{published.id}: {published.title} ({paper.name}, {published.label}, {published.where})",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    for block in _blocks(published, console.width):
        console.print(block)
    lines = [f"measured: {_measured(published)}", *_details(published), *_numbered_notes(published)]
    lines += [f"source: {published.source}", f"status: {published.status}{_other_statuses(published)}"]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if options["out"] is not None:
        echo(f"written: {options['out']}")


def _other_statuses(table: PublishedTable) -> str:
    others = [f"{row.label} {row.status}" for row in table.rows if row.status != table.status]
    return f"; {', '.join(others)}" if others else ""


def _in_short(table: PublishedTable) -> dict[str, Any]:
    return {
        "table": table.id,
        "paper": table.paper.code,
        "name": table.paper.name,
        "label": table.label,
        "title": table.title,
        "where": table.where,
        "kind": table.kind,
        "status": table.status,
        "rows": len(table.rows),
        "columns": len(table.columns),
        "numbers": sum(cell.value is not None for cell in table.cells.values()),
    }


def _whole(table: PublishedTable) -> dict[str, Any]:
    return {
        **_in_short(table),
        "source": table.source,
        "paper_title": table.paper.title,
        "authors": table.paper.authors,
        "venue": table.paper.venue,
        "year": table.paper.year,
        "notes": list(table.notes),
        "columns": [vars(column) for column in table.columns],
        "rows": [{**vars(row), "notes": list(row.notes)} for row in table.rows],
        "cells": [{**vars(cell), "notes": list(cell.notes)} for cell in table.cells.values()],
    }


def _blocks(table: PublishedTable, width: int) -> Iterator[Any]:
    """Yield the table as printed, in as many pieces as the width asks for, rows named in each.

    Own rows are bold; numbers of notes stand behind the cells and rows that they are on.
    """
    from rich.table import Table
    from rich.text import Text

    numbers = _note_numbers(table)
    names = [f"{row.label}{_marks(numbers[row.id, ''])}" for row in table.rows]
    columns = [
        [
            column.label or column.id,
            *(f"{table.cells[r.id, column.id].printed}{_marks(numbers[r.id, column.id])}" for r in table.rows),
        ]
        for column in table.columns
    ]
    for piece in _pieces([max(map(len, texts)) + 3 for texts in columns], width - max(map(len, names)) - 4):
        shown = Table("method")
        for column in columns[piece]:
            shown.add_column(Text(column[0]), justify="right", no_wrap=True)
        for number, (row, name) in enumerate(zip(table.rows, names, strict=True), start=1):
            texts = [name, *(column[number] for column in columns[piece])]
            shown.add_row(*map(Text, texts), style="bold" if row.own else "")
        yield shown


def _pieces(widths: list[int], room: int) -> Iterator[slice]:
    """Yield slices of the columns that fit into the room, at least one column each."""
    start = taken = 0
    for number, width in enumerate(widths):
        if number > start and taken + width > room:
            yield slice(start, number)
            start, taken = number, 0
        taken += width
    yield slice(start, len(widths))


def _note_numbers(table: PublishedTable) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return {(row, column): numbers of its notes}, the column empty for notes on a whole row."""
    noted = [((row.id, ""), row.notes) for row in table.rows] + [(key, c.notes) for key, c in table.cells.items()]
    numbers, last = {}, 0
    for key, notes in noted:
        numbers[key] = tuple(range(last + 1, last + 1 + len(notes)))
        last += len(notes)
    return numbers


def _marks(numbers: tuple[int, ...]) -> str:
    return "".join(f" [{number}]" for number in numbers)


def _numbered_notes(table: PublishedTable) -> list[str]:
    lines = [f"note: {note}" for note in table.notes]
    labels = {row.id: row.label for row in table.rows} | {"": ""}
    names = {column.id: column.id for column in table.columns} | {"": "whole row"}
    for (row, column), numbers in _note_numbers(table).items():
        notes = table.cells[row, column].notes if column else table.row(row).notes
        lines += [f"[{n}] {labels[row]}, {names[column]}: {text}" for n, text in zip(numbers, notes, strict=True)]
    return lines


def _measured(table: PublishedTable) -> str:
    """Return what is measured in most columns, and by name of the others what in them."""
    said: dict[str, list[str]] = {}
    for column in table.columns:
        unit = f" ({column.unit})" if column.unit else ""
        said.setdefault(f"{column.measures}{unit}", []).append(column.id)
    common = max(said, key=lambda text: len(said[text]))
    others = [f"{text} in {', '.join(columns)}" for text, columns in said.items() if text != common]
    return "; ".join([common, *others])


def _details(table: PublishedTable) -> list[str]:
    lines = []
    for key in ("split", "features", "protocol"):
        said = list(dict.fromkeys(text for column in table.columns if (text := getattr(column, key))))
        if said:
            lines.append(f"{key}: {' / '.join(said)}")
    labels = [row.label for row in table.own_rows]
    if labels and table.kind == "table":
        lines.append(f"the paper's own: {', '.join(labels)}")
    return lines
