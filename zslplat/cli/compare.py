"""``compare``: what is recorded of tasks on data sets, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import completion
from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compare)


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help='Studies, methods, specs, run ids or rows of suites, patterns as "mfmr*" among them; default: all.',
            metavar="[NAME]...",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            autocompletion=completion.datasets,
            help="Data set; may be repeated. Default: all that are recorded; several make a table methods x data sets.",
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            "-t",
            autocompletion=completion.tasks,
            help="Task; may be repeated. Default: all that are recorded on the data sets, a table each.",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            autocompletion=completion.methods,
            help='Show these methods only: a name or spec, or a pattern, "mfmr*".',
        ),
    ] = None,
    studies: Annotated[
        list[str] | None,
        typer.Option(
            "--study", autocompletion=completion.studies, help="Show these studies only; patterns are known, too."
        ),
    ] = None,
    mlflow_experiments: Annotated[
        list[str] | None,
        typer.Option("--mlflow-experiment", help='Show what one MLflow experiment holds only, "zsl: digit-pairs".'),
    ] = None,
    suites: Annotated[
        list[str] | None, typer.Option("--suite", help="Show what was recorded for this suite only.")
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="KEY[=VALUE]", help="Show what was recorded with this tag only (tune --tag)."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="What the others are compared with; default: the best on validation (the first recorded where nothing "
            "was validated), and over data sets the best mean rank.",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Metric; may be repeated, for a table each. Default: the task's own."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File that gets the table, by its ending: .md, .tex, .csv, .parquet or .json; "
            "of several data sets .svg or .png draws mean ranks with their critical difference.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="A row per study and single run; default: one per experiment.")
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Show every column, however wide the table is.")] = False,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
) -> None:
    """Compare the recorded test scores of methods, with intervals of their differences and what these cover.

    Like ``report`` and ``studies list`` it takes all that is recorded; names and options choose. What was scored on
    validation alone has no row: ``studies list`` and ``report`` show it.

    Intervals are over these test rows, drawn alike for all methods, and over new classes like those of the test, which
    verdicts are by; the repeats of random methods are part of both. Methods that were scored on other test rows, which
    a task may draw by the seed, have no interval of their difference. Methods that score the rows of a batch jointly
    (transductive) stand below the others, with a baseline of their own.

    There is a row per experiment. Reruns and other studies of the same experiment stand behind it: of what the newest
    code computed, the study with the best validation is shown, of equals the one with the most trials, then the newest.

    Several tasks or metrics make a table each, below each other; JSON is then a list.
    """
    from zslplat.cli.comparison_table import print_comparison
    from zslplat.cli.reporting import print_json, print_warnings, stdout_console
    from zslplat.comparison.exports import check_ending, export_each
    from zslplat.comparison.filters import Filters
    from zslplat.front.comparing import compared_as_asked

    if out is not None:
        check_ending(out)
    settings = o.settings_from(None, store, tracking_uri, storage_url, silence)
    found = compared_as_asked(
        settings,
        Filters(*(tuple(given or ()) for given in (names, methods, studies, mlflow_experiments, suites, tags))),
        datasets=datasets or (),
        tasks=tasks or (),
        against=against,
        metrics=metrics or (),
        every=every,
        warn=o.say,
    )
    if out is not None:
        export_each(found, out)
    if as_json:
        contents = [one.to_json() for one in found]
        print_json(contents[0] if len(contents) == 1 else contents)
        return
    for one in found:
        print_comparison(one, wide=wide)
        print_warnings(stdout_console(), one.warnings, len(one.findings) - len(one.warnings))
