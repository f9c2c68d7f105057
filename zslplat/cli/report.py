"""``report``: what is recorded, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import completion
from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(report)


def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Studies, methods or run ids; default: all that is recorded.", metavar="[NAME]..."),
    ] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="Only what was carried out for this suite.")] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", autocompletion=completion.datasets, help="Only what was done on this data set."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", autocompletion=completion.tasks, help="Only what was done for this task."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="HTML file; default: reports/ in the store, named by what it is of.")
    ] = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
) -> None:
    """Write one HTML file of what is recorded: results in words, tables, charts, costs, and how to do it again.

    The file needs no network, can be read on a phone and on paper, and holds the numbers that ``compare`` gives. An
    earlier report is replaced; any other file is left alone.
    """
    import shlex

    from zslplat.cli.reporting import place_options, print_json, stdout_console
    from zslplat.listeners import catch_up
    from zslplat.reports.selection import Asked
    from zslplat.reports.writing import write_report

    settings = o.settings_from(None, store, tracking_uri, storage_url, silence)
    catch_up(settings, o.say)
    asked = Asked(tuple(names or ()), suite, dataset, task)
    words = ["zslplat", "report", *asked.names]
    words += ["--suite", suite] if suite else []
    words += ["--dataset", dataset] if dataset else []
    words += ["--task", task] if task else []
    words += ["--out", str(out)] if out else []
    words += [word for code in silence or () for word in ("--silence", code)]
    options = place_options(settings)
    written = write_report(settings, asked, out, shlex.join(words) + options, options)
    for note in written.notes:
        o.say(note)
    if as_json:
        print_json(
            {
                "file": str(written.file),
                "bytes": written.size,
                "replaced": written.replaced,
                "boards": list(written.boards),
                "notes": list(written.notes),
            }
        )
        return
    done = "replaced the earlier report" if written.replaced else "wrote the report"
    text = f"{done} {written.file} ({written.size / 1e6:.2f} MB); open it in a browser"
    stdout_console().print(text, highlight=False, markup=False, soft_wrap=True)
