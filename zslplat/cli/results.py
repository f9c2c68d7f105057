"""``compare``, ``gate`` and ``report``: what is recorded as tables that fit a page, a verdict, and one HTML file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zslplat.cli.commands import Commands
from zslplat.front.options import Json, PlaceOptions, SilenceOptions, TrackingOptions
from zslplat.front.schema import REQUIRED, Option
from zslplat.front.table_options import CompareCommand

if TYPE_CHECKING:
    from zslplat.comparison.compare import Comparison
    from zslplat.comparison.sheets import Sheet
    from zslplat.front.terminal import Console

PAGE = 120
_GAP = 2
_ANY = 10_000  # more than any table needs


def register(app: Commands) -> None:
    """Add the commands to the application."""
    app.command()(compare)
    app.command()(gate)
    app.command()(report)


def compare(options: CompareCommand) -> None:
    """Compare recorded test scores, with intervals of differences.

    Like ``report`` and ``studies list`` it takes all that is recorded; names and options choose. What was scored on
    validation alone has no row: ``studies list`` and ``report`` show it.

    Two intervals are shown: over these test rows, and over new classes like those of the test. Verdicts go by the
    second. The repeats of random methods are part of both. Methods that were scored on other test rows, which
    a task may draw by the seed, have no interval of their difference. Methods that score the rows of a batch jointly
    (transductive) stand below the others, with a baseline of their own.

    There is a row per experiment, whatever the number of its studies and reruns. It shows what the newest code
    computed, and of that the study with the best validation.

    Several tasks or metrics make a table each, below each other; JSON is a list of them.
    """
    from zslplat.cli.invocation import echo, print_json
    from zslplat.cli.output import print_warnings, stdout_console, warn
    from zslplat.comparison.exports import check_ending, export_each
    from zslplat.front.comparisons import compare_recorded

    path = options["out"]
    if path is not None:
        check_ending(path)
    tables = compare_recorded(options, warn).tables
    if path is not None:
        export_each(tables, path)
        echo(f"wrote {path}", err=True)
    if options["json"]:
        print_json([table.to_json() for table in tables])
        return
    for table in tables:
        print_comparison(table, wide=options["wide"])
        print_warnings(stdout_console(), table.warnings, len(table.findings) - len(table.warnings))


def print_comparison(comparison: "Comparison", *, wide: bool) -> None:
    """Print the table of a comparison; ``wide`` shows every column that has content, however wide that is."""
    from zslplat.comparison.sheets import sheets
    from zslplat.front.terminal import Console

    width = None if wide else min(Console().width, PAGE) if sys.stdout.isatty() else PAGE
    for sheet in sheets(comparison, width=width, gap=_GAP):
        _print_sheet(Console(width=width or _ANY), sheet)


def _print_sheet(console: "Console", sheet: "Sheet") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from zslplat.comparison.sheets import BEST

    _line(console, sheet.title)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for title, right in zip(sheet.titles, sheet.right, strict=True):
        table.add_column(Text(title), justify="right" if right else "left")
    for group, members in sheet.sections.items():
        if len(sheet.sections) > 1:
            table.add_row(Text(f"{group}:", style="italic"))
        for cells in members:
            table.add_row(*(Text(cell.text, "bold" if cell.standing == BEST else "") for cell in cells))
    console.print(table)
    hidden = [f"--wide shows also: {', '.join(dict.fromkeys(sheet.left_out))}"] if sheet.left_out else []
    for note in [*sheet.notes, *hidden]:
        _line(console, note)


def _line(console: "Console", text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


class GateOptions(PlaceOptions, total=False):
    """The options of ``gate``."""

    new: Annotated[str, Option("A study, or a method with one.", REQUIRED, complete="studies", positional=True)]
    against: Annotated[str, Option("The study to compare with, or a method with one.", REQUIRED, complete="studies")]
    margin: Annotated[
        float, Option("How much worse NEW may be. 0: it must be better. -0.01: better by 0.01.", 0.0, least=-1, most=1)
    ]
    looks: Annotated[int, Option("Tries for which the error is budgeted; each spends its share.", 200, least=1)]
    numbers: Annotated[bool, Option("Show the difference too; a loop that steers by it voids the budget.", False)]
    json: Json


def gate(options: GateOptions) -> None:
    """Say whether a study may take the place of another, by validation alone.

    Exit code 0: it passes, the interval of the difference lies above minus the margin. 4: it fails, the interval lies
    below. 3: cannot tell. Errors have 1 or 2. The test split is not looked at. Each look spends one of --looks, so
    that a loop of so many tries, which hears verdicts alone, rarely has a false pass (docs/gate.md).
    """
    from zslplat.cli.invocation import echo, print_json
    from zslplat.cli.output import open_store
    from zslplat.cli.studies import study_called
    from zslplat.front.progress import progress
    from zslplat.records.overview import Overview
    from zslplat.suites.gate import gate as decide

    with open_store(options) as (settings, records):
        overview = Overview(records)
        new, base = (study_called(name, records, overview) for name in (options["new"], options["against"]))
    with progress(quiet=True) as reporter:
        decided = decide(settings, new, base, reporter, margin=options["margin"], looks=options["looks"])
    if options["json"]:
        print_json(decided.to_json(numbers=options["numbers"]))
    else:
        echo("\n".join(decided.lines(numbers=options["numbers"])))
    raise typer.Exit(decided.exit_code)


class ReportOptions(TrackingOptions, SilenceOptions, total=False):
    """The options of ``report``."""

    names: Annotated[
        list[str] | None,
        Option("Studies, methods or run ids; default: all that is recorded.", metavar="NAME", positional=True),
    ]
    suite: Annotated[str | None, Option("Only what was carried out for this suite.")]
    dataset: Annotated[str | None, Option("Only what was done on this data set.", short="-d", complete="datasets")]
    task: Annotated[str | None, Option("Only what was done for this task.", short="-t", complete="tasks")]
    out: Annotated[Path | None, Option("HTML file; default: reports/ in the store, named by what it is of.")]
    json: Json


def report(options: ReportOptions) -> None:
    """Write one HTML file of what is recorded: words, tables, charts.

    The file needs no network, can be read on a phone and on paper, and holds the numbers that ``compare`` gives. An
    earlier report is replaced; any other file is left alone.
    """
    import shlex

    from zslplat.cli.invocation import print_json
    from zslplat.cli.output import place_options, stdout_console, warn
    from zslplat.front.requests import settings_of
    from zslplat.listeners import catch_up
    from zslplat.reports.contents import ReportRequest
    from zslplat.reports.page import write_report

    settings = settings_of(options)
    catch_up(settings, warn)
    selection = ReportRequest(tuple(options["names"] or ()), options["suite"], options["dataset"], options["task"])
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
