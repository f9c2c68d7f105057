"""``compare``: what is recorded for one task on one data set, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import options as o
from zslplat.cli.experiments import DEFAULT_DATASET, DEFAULT_TASK


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compare)


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Studies, methods or run ids; default: all of the task and data set.", metavar="[NAME]..."),
    ] = None,
    dataset: o.DatasetSpec = DEFAULT_DATASET,
    task: o.TaskSpec = DEFAULT_TASK,
    against: Annotated[
        str | None,
        typer.Option("--against", help="What the others are compared with; default: the best on validation."),
    ] = None,
    metric: Annotated[str | None, typer.Option("--metric", help="Metric; default: the task's own.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file that gets the table.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="A row per study and single run; default: one per setting.")
    ] = False,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Compare the recorded test scores of methods, with paired bootstrap intervals of their differences.

    The intervals are over the test rows, drawn alike for all methods, and over the repeats of random methods. Methods
    that were scored on other test rows, which a task may draw by the seed, have no interval of their difference.
    Methods that score the rows of a batch jointly (transductive) stand below the others, with a baseline of their own.
    """
    from rich.table import Table as Shown

    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.comparison.filters import Filters
    from zslplat.comparison.leaderboard import OTHER_ROWS
    from zslplat.comparison.selection import compared
    from zslplat.data.catalogue import parse_dataset
    from zslplat.spec import Spec
    from zslplat.tables import Table, write_table
    from zslplat.tracking.stores import show_what_is_left
    from zslplat.tuning.code_changes import MEANING

    task_spec, dataset_spec = Spec.parse(task), parse_dataset(dataset)
    settings = o.settings_from(store=store, tracking_uri=tracking_uri, storage_url=storage_url)
    show_what_is_left(settings, o.say)
    found = compared(
        settings,
        [str(dataset_spec)],
        str(task_spec),
        Filters(names or ()),
        against=against,
        metric=metric,
        every=every,
        warn=o.say,
    )
    rows, name = found.rows, found.metric
    columns = {column: [row[column] for row in rows] for column in rows[0]}
    if out is not None:
        write_table(Table(columns), out)
    if as_json:
        print_json(found.to_json())
        return
    baselines = {row["group"]: row["baseline"] for row in rows}
    console = stdout_console()
    if len(set(baselines.values())) == 1:
        origin = rows[0]["baseline"]
    else:
        origin = ", ".join(f"{baseline} ({group})" for group, baseline in baselines.items())
    title = f"{name} of task {task_spec} on {dataset_spec}; differences from {origin}"
    console.print(title, highlight=False, markup=False, soft_wrap=True)
    table = Shown("method", "validation", "test", "95% interval", "difference", "95% interval", "", "knows of batch")
    for number in (1, 2, 4):
        table.columns[number].justify = "right"
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        spread = f" ± {row['spread']:.4f}" if row["spread"] is not None else ""
        table.add_row(
            row["method"] + (" *" if row["from_memory"] else ""),
            _number(row["validation"]),
            _number(row["test"]) + spread,
            _ends(row["low"], row["high"]),
            _number(row["difference"], sign=True),
            _ends(row["difference_low"], row["difference_high"], sign=True),
            row["verdict"],
            "not recorded" if row["knows"] is None else row["knows"],
            end_section=following is not None and following["group"] != row["group"],
        )
    console.print(table, markup=False)
    notes = [f"{row['method']}: {row['code']} ({MEANING.get(row['code'], '')})" for row in rows if row["code"]]
    if all(row["low"] is None for row in rows):
        notes.append(f"{name} has no intervals: evaluations keep no bootstrap replicates of it")
    if any(row["from_memory"] for row in rows):
        notes.append("*: written from memory, without the method's source at hand; its docstring says what is unsure")
    if any(row["verdict"] == OTHER_ROWS for row in rows):
        unsaid = ", or recorded without saying which" if any(row["test_rows"] is None for row in rows) else ""
        notes.append(
            f"{OTHER_ROWS}: scored on other test rows than {origin}{unsaid}; such differences have no interval"
        )
    for note in notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _number(value: float | None, *, sign: bool = False) -> str:
    return "" if value is None else f"{value:+.4f}" if sign else f"{value:.4f}"


def _ends(low: float | None, high: float | None, *, sign: bool = False) -> str:
    return "" if low is None or high is None else f"{_number(low, sign=sign)} .. {_number(high, sign=sign)}"
