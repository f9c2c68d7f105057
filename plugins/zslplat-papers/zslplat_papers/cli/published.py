"""``published list`` and ``show``: the papers' tables, as they are printed and with what is known against them."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, TypedDict

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.errors import UsageError
from zslplat.front.options import Json, PlaceOptions
from zslplat.front.schema import REQUIRED, Option
from zslplat.spec import Spec
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


class BesideOptions(PlaceOptions, total=False):
    """The options of ``published beside``."""

    dataset: Annotated[str, Option("Data set of the recorded results, as in tune.", REQUIRED, positional=True)]
    task: Annotated[str, Option("Task of the recorded results.", "zsl", positional=True)]
    data: Annotated[str | None, Option("What the tables call the data; default: the name of the data set.")]
    json: Json


@app.command()
def beside(options: BesideOptions) -> None:
    """Show recorded test scores beside the published ones of the same data and metrics; nothing of that is paired."""
    from rich.table import Table

    from zslplat.cli.output import stdout_console, warn
    from zslplat.evaluation.components import build_component
    from zslplat.evidence.scores import scores_of
    from zslplat.evidence.table import ResultTable
    from zslplat.front.datasets import dataset_spec
    from zslplat.front.requests import settings_of
    from zslplat.records.opening import existing_records

    settings = settings_of(options)
    dataset, task = dataset_spec(options["dataset"], settings), build_component("tasks", Spec.parse(options["task"]))
    names = list(task.metric_names())
    data = (options["data"] or dataset.name).lower()
    with existing_records(settings, warn) as records:
        results = ResultTable(records, warn).tested(str(dataset), options["task"])
        rows: list[dict[str, Any]] = [
            {"method": one.label, "source": "here", "status": "recorded"}
            | {name: 100 * fmean(values) for name, values in one.values.items() if name in names}
            for one in scores_of(results)
        ]
    rows += _printed_rows(data, names)
    if all(row["source"] == "here" for row in rows):
        raise UsageError(
            f"no published table has {' or '.join(names)} of {data!r}; --data NAME says what the tables call it: "
            f"{', '.join(sorted(_names_of_data(names)))}"
        )
    if options["json"]:
        print_json(rows)
        return
    metrics = [name for name in names if any(name in row for row in rows if row["source"] != "here")]
    shown = Table("method", "table", *metrics, "status")
    for row in sorted(rows, key=lambda one: (one["source"] != "here", -one.get(metrics[-1], -1.0))):
        values = [f"{row[name]:.1f}" if name in row else "" for name in metrics]
        shown.add_row(row["method"], row["source"], *values, row["status"])
    console = stdout_console()
    console.print(shown)
    console.print(
        "in %. Printed numbers have no rows, so that nothing is paired and no verdict is given; features, splits and "
        "tuning are as their sources say (zslplat published show TABLE)",
        soft_wrap=True,
    )


def _names_of_data(metrics: Collection[str]) -> set[str]:
    from zslplat_papers.published import load_table, table_ids

    tables = map(load_table, table_ids())
    return {column.data for table in tables for column in table.columns if column.metric in metrics and column.data}


def _printed_rows(data: str, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per row of a table with numbers of these data and metrics, in percent."""
    from zslplat_papers.published import load_table, table_ids

    rows = []
    for table in map(load_table, table_ids()):
        columns = [c for c in table.columns if c.data.lower() == data and c.metric in metrics and c.unit == "%"]
        for row in table.rows:
            cells = {c.metric: table.cells[row.id, c.id].value for c in columns}
            values = {metric: value for metric, value in cells.items() if value is not None}
            if values:
                rows.append({"method": row.label, "source": table.id, "status": row.status, **values})
    return rows


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
