"""What is shown of a grid while it is carried out: every cell, and the time that is left."""

import io

import numpy as np
from rich.console import Console

from zslplat.cli.grid_view import print_grid, print_plan
from zslplat.evidence.scores import Scored
from zslplat.front.benches import Grid
from zslplat.front.grid_progress import GridTerminal, ended_text, grid_table, progress_text
from zslplat.settings import resolve_settings
from zslplat.suites.cells import DONE, FAILED, RUNNING, SKIPPED, WAITING, Cell
from zslplat.suites.entries import Entry
from zslplat.suites.plan import Estimate, Plan
from zslplat.suites.result import GridResult
from zslplat.suites.suite import suite_from


def grid(*statuses):
    """Two rows on two data sets, one task each."""
    places = [("one", "a"), ("one", "b"), ("two", "a"), ("two", "b")]
    return [Cell(data, row, "zsl", status=s) for (data, row), s in zip(places, statuses, strict=True)]


def shown(renderable):
    console = Console(file=io.StringIO(), width=100)
    console.print(renderable)
    return console.file.getvalue()


def test_the_table_has_a_mark_for_every_cell():
    text = shown(grid_table(grid(DONE, FAILED, SKIPPED, RUNNING)))
    lines = [line.replace("│", " ").split() for line in text.splitlines()]
    assert ["a", "+", "-"] in lines
    assert ["b", "x", ">"] in lines
    assert progress_text(grid(DONE, FAILED, SKIPPED, RUNNING), 125.0) == "3 of 4 cells; about 2.08 min left"


def test_a_line_says_how_a_cell_ended():
    cells = grid(DONE, WAITING, WAITING, WAITING)
    failed = Cell("one", "a", "zsl", status=FAILED, reason="no memory")
    assert ended_text(cells, failed, None).startswith("one / a / zsl  failed: no memory  (1 of 4 cells; time left not")
    done = Cell("one", "a", "zsl", draw=3, status=DONE, value=0.5, seconds=2.0, new=True)
    assert ended_text(cells, done, 30.0) == "one #3 / a / zsl  0.5000  2.0 s  (1 of 4 cells; about 30 s left)"


def test_a_terminal_shows_the_grid_above_the_bar_and_puts_it_away():
    reporter = GridTerminal()
    reporter.console = reporter.live.console
    reporter.cells(grid(RUNNING, WAITING, WAITING, WAITING), None, 12.0)
    reporter.stage("tuning a")
    text = shown(reporter.live.get_renderable())
    reporter.close()
    assert text.index("0 of 4 cells; about 12 s left") < text.index("tuning a") < text.index("waiting")


def test_brackets_in_names_are_no_markup(capsys):
    data, row = "digits [red]", "linear [/x]"
    content = {"tasks": ["zsl"], "data": [{"name": data, "dataset": "digit-pairs"}]}
    suite = suite_from("made", {**content, "row": [{"name": row, "method": "eszsl"}]})
    cell = Cell(data, row, "zsl", status=DONE, value=0.5)
    values = {"per_class_accuracy": [0.5]}
    scored = Scored(row, row, row, values, {"per_class_accuracy": np.full((1, 9), 0.5)}, {}, "same")
    entry = Entry("study", {}, (0.5,), "per_class_accuracy", trials=1)
    result = GridResult(suite, (cell,), entries={cell.key: entry}, scores={cell.key: scored})
    print_grid(Grid(result, resolve_settings({})), as_json=False, quiet=False)
    told = capsys.readouterr().out
    assert told.count(data) == told.count(row) == 2  # scores and budgets
    print_grid(Grid(result, resolve_settings({})), as_json=False, quiet=True)
    assert capsys.readouterr().out == "suite made: 1 done; 0 s\n"
    live = shown(grid_table([cell]))
    assert data in live
    assert row in live
    estimate = Estimate(cell, None, "unknown")
    print_plan(Plan(suite, (estimate,), 1), as_json=False)
    told = capsys.readouterr().out
    assert data in told
    assert row in told
