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
        typer.Argument(
            help='Studies, methods, specs or run ids, patterns as "mfmr*" among them; default: all.',
            metavar="[NAME]...",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            help=f"Data set; may be repeated, for a table methods x data sets. Default: {DEFAULT_DATASET}, or those of "
            "the study, experiment or suite that is asked for.",
        ),
    ] = None,
    all_datasets: Annotated[
        bool, typer.Option("--all-datasets", help="All data sets on which the task is recorded.")
    ] = False,
    task: o.TaskSpec = DEFAULT_TASK,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help='Show these methods only: a name or spec, or a pattern, "mfmr*".'),
    ] = None,
    studies: Annotated[
        list[str] | None, typer.Option("--study", help="Show these studies only; patterns are known, too.")
    ] = None,
    experiments: Annotated[
        list[str] | None,
        typer.Option("--experiment", help='Show what was recorded in this experiment only, "zsl: digit-pairs".'),
    ] = None,
    suites: Annotated[
        list[str] | None, typer.Option("--suite", help="Show what was recorded for this suite only.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="What the others are compared with; default: the best on validation."),
    ] = None,
    metric: Annotated[str | None, typer.Option("--metric", help="Metric; default: the task's own.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File that gets the table, by its ending: .md, .tex, .csv, .parquet or .json; "
            "of several data sets .svg or .png draws mean ranks with their critical difference.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="A row per study and single run; default: one per setting.")
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Show every column, however wide the table is.")] = False,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
) -> None:
    """Compare the recorded test scores of methods, with intervals of their differences and what these cover.

    Intervals are over these test rows, drawn alike for all methods, and over new classes like those of the test, which
    verdicts are by; the repeats of random methods are part of both. Methods that were scored on other test rows, which
    a task may draw by the seed, have no interval of their difference. Methods that score the rows of a batch jointly
    (transductive) stand below the others, with a baseline of their own.

    There is a row per setting. Reruns and other studies of the same setting stand behind it: of what the newest code
    computed, the study with the most trials is shown, and of equals the newest.
    """
    from zslplat.cli.comparison_table import print_comparison
    from zslplat.cli.reporting import print_json, print_warnings, stdout_console
    from zslplat.comparison.exports import check_ending, export
    from zslplat.comparison.filters import Filters
    from zslplat.comparison.selection import compared
    from zslplat.data.catalogue import parse_dataset
    from zslplat.errors import UsageError
    from zslplat.spec import Spec
    from zslplat.tracking.stores import show_what_is_left

    if out is not None:
        check_ending(out)
    if datasets and all_datasets:
        raise UsageError("--dataset names data sets and --all-datasets means all; give one of the two")
    filters = Filters(*(tuple(given or ()) for given in (names, methods, studies, experiments, suites)))
    everywhere = all_datasets or any((filters.studies, filters.experiments, filters.suites))
    asked = datasets or ([] if everywhere else [DEFAULT_DATASET])
    settings = o.settings_from(None, store, tracking_uri, storage_url, silence)
    task_spec, specs = Spec.parse(task), [str(parse_dataset(dataset)) for dataset in asked]
    show_what_is_left(settings, o.say)
    found = compared(settings, specs, str(task_spec), filters, against=against, metric=metric, every=every, warn=o.say)
    if out is not None:
        export(found, out)
    if as_json:
        print_json(found.to_json())
        return
    print_comparison(found, wide=wide)
    print_warnings(stdout_console(), found.warnings, len(found.findings) - len(found.warnings))
