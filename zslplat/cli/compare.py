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
    wide: Annotated[bool, typer.Option("--wide", help="Show every column, however wide the table is.")] = False,
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
    from zslplat.cli.comparison_table import print_comparison
    from zslplat.cli.reporting import print_json
    from zslplat.comparison.exports import check_ending, export
    from zslplat.comparison.filters import Filters
    from zslplat.comparison.selection import compared
    from zslplat.data.catalogue import parse_dataset
    from zslplat.spec import Spec
    from zslplat.tracking.stores import show_what_is_left

    if out is not None:
        check_ending(out)
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
    if out is not None:
        export(found, out)
    if as_json:
        print_json(found.to_json())
        return
    print_comparison(found, wide=wide)
