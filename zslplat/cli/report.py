"""``report``: what is recorded, as one HTML file."""

from pathlib import Path
from typing import Annotated

from zslplat.cli.commands import Commands
from zslplat.front.options import Json, SilenceOptions, TrackingOptions
from zslplat.front.schema import Option


def register(app: Commands) -> None:
    """Add the command to the application."""
    app.command()(report)


class ReportOptions(TrackingOptions, SilenceOptions, total=False):
    """The options of ``report``."""

    names: Annotated[
        list[str] | None,
        Option("Studies, methods or run ids; default: all that is recorded.", metavar="[NAME]...", positional=True),
    ]
    suite: Annotated[str | None, Option("Only what was carried out for this suite.")]
    dataset: Annotated[str | None, Option("Only what was done on this data set.", short="-d", complete="datasets")]
    task: Annotated[str | None, Option("Only what was done for this task.", short="-t", complete="tasks")]
    out: Annotated[Path | None, Option("HTML file; default: reports/ in the store, named by what it is of.")]
    json: Json


def report(options: ReportOptions) -> None:
    """Write one HTML file of what is recorded: results in words, tables, charts, costs, and how to do it again.

    The file needs no network, can be read on a phone and on paper, and holds the numbers that ``compare`` gives. An
    earlier report is replaced; any other file is left alone.
    """
    import shlex

    from zslplat.cli.output import place_options, print_json, stdout_console, warn
    from zslplat.front.requests import settings_of
    from zslplat.listeners import catch_up
    from zslplat.reports.contents import Request
    from zslplat.reports.page import write_report

    settings = settings_of(options)
    catch_up(settings, warn)
    selection = Request(tuple(options["names"] or ()), options["suite"], options["dataset"], options["task"])
    words = ["zslplat", "report", *selection.names]
    words += ["--suite", options["suite"]] if options["suite"] else []
    words += ["--dataset", options["dataset"]] if options["dataset"] else []
    words += ["--task", options["task"]] if options["task"] else []
    words += ["--out", str(options["out"])] if options["out"] else []
    words += [word for code in options["silence"] or () for word in ("--silence", code)]
    places = place_options(settings)
    report_file = write_report(settings, selection, options["out"], shlex.join(words) + places, places)
    for note in report_file.notes:
        warn(note)
    if options["json"]:
        print_json(
            {
                "file": str(report_file.file),
                "bytes": report_file.size,
                "replaced": report_file.replaced,
                "boards": list(report_file.chapters),
                "notes": list(report_file.notes),
            }
        )
        return
    done = "replaced the earlier report" if report_file.replaced else "wrote the report"
    text = f"{done} {report_file.file} ({report_file.size / 1e6:.2f} MB); open it in a browser"
    stdout_console().print(text, highlight=False, markup=False, soft_wrap=True)
