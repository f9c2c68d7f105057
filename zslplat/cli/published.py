"""``published list`` and ``show``: the papers' tables, as they are printed and with what is known against them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zslplat.cli import options as o

if TYPE_CHECKING:
    from zslplat.published import PublishedTable

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The tables of the papers as data: list them, show one, write one as CSV.",
)


@app.command("list")
def list_(as_json: o.Json = False) -> None:
    """List the published tables, and what of each paper they hold."""
    from rich.table import Table

    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.published import load_table, table_ids

    tables = [load_table(name) for name in table_ids()]
    if as_json:
        print_json([_in_short(table) for table in tables])
        return
    shown = Table("table", "paper", "in the paper", "what", "numbers", "status")
    for table in tables:
        short = _in_short(table)
        shown.add_row(*(str(short[key]) for key in ("table", "name", "label", "title", "numbers", "status")))
    stdout_console().print(shown)


@app.command()
def show(
    table: Annotated[str, typer.Argument(help="Id of a table, for example 000-table-2 (zslplat published list).")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write one line per cell, with all that is known of it, to this CSV.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Show a published table as it is printed, with its notes and its source."""
    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.published import load_table
    from zslplat.tables import Table, write_table

    published = load_table(table)
    if out is not None:
        records = [{**record, "notes": " | ".join(record["notes"])} for record in published.records()]
        write_table(Table({key: [record[key] for record in records] for key in records[0]}), out)
    if as_json:
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
    console.print(_grid(published))
    lines = [f"measured: {_measured(published)}", *_details(published), *_numbered_notes(published)]
    lines += [f"{label}: {text}" for label, text in (("source", published.source), ("status", published.status))]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if out is not None:
        typer.echo(f"written: {out}")


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


def _grid(table: PublishedTable) -> Any:
    """Return the table as printed; own rows in bold, numbers of notes behind the cells and rows that they are on."""
    from rich.table import Table
    from rich.text import Text

    numbers = _note_numbers(table)
    shown = Table("method")
    for column in table.columns:
        shown.add_column(Text(column.label), justify="right")
    for row in table.rows:
        cells = [
            f"{table.cells[row.id, column.id].printed}{_marks(numbers.get((row.id, column.id), ()))}"
            for column in table.columns
        ]
        texts = [f"{row.label}{_marks(numbers.get((row.id, ''), ()))}", *cells]
        shown.add_row(*map(Text, texts), style="bold" if row.own else "")
    return shown


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
    own = [row.label for row in table.own_rows]
    if own:
        lines.append(f"the paper's own: {', '.join(own)}")
    return lines
