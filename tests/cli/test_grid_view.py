"""What is shown of a grid while it is carried out: every cell, and the time that is left."""

import io
import time
from dataclasses import replace

import numpy as np
from rich.console import Console

from zslplat.cli.grid_view import print_grid, print_plan
from zslplat.evidence.scores import Scored
from zslplat.front.grid_progress import GridTerminal, ended_text, grid_table, progress_text
from zslplat.suites.cells import DONE, FAILED, RUNNING, SKIPPED, WAITING, Cell
from zslplat.suites.clock import Clock, duration
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
    assert progress_text(grid(DONE, FAILED, SKIPPED, RUNNING), 125.0) == "3 of 4 cells; 2 min 05 s left"


def test_a_line_says_how_a_cell_ended():
    cells = grid(DONE, WAITING, WAITING, WAITING)
    failed = Cell("one", "a", "zsl", status=FAILED, reason="no memory")
    assert ended_text(cells, failed, None).startswith("one / a / zsl  failed: no memory  (1 of 4 cells; time left not")
    done = Cell("one", "a", "zsl", split=3, status=DONE, value=0.5, seconds=2.0, new=True)
    assert ended_text(cells, done, 30.0) == "one #3 / a / zsl  0.5000  2.0 s  (1 of 4 cells; 30 s left)"


def test_a_terminal_shows_the_grid_above_the_bar_and_puts_it_away():
    reporter = GridTerminal()
    reporter.console = reporter.live.console
    reporter.cells(grid(RUNNING, WAITING, WAITING, WAITING), None, 12.0)
    reporter.stage("tuning a")
    text = shown(reporter.live.get_renderable())
    reporter.close()
    assert text.index("0 of 4 cells; 12 s left") < text.index("tuning a") < text.index("waiting")


def test_the_time_left_follows_what_cells_took(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    cells = grid(WAITING, WAITING, WAITING, WAITING)
    assert Clock({}).remaining(cells) is None
    clock = Clock({cells[0].key: 10.0, cells[1].key: 20.0})
    assert clock.remaining(cells[:2]) == 30.0
    # Ten seconds more than expected: so much more will the others take, and unknown ones the mean of what ended.
    clock.note_change(Cell("one", "a", "zsl", status=RUNNING))
    now[0] += 20.0
    clock.note_change(Cell("one", "a", "zsl", status=DONE, new=True))
    left = grid(DONE, WAITING, WAITING, WAITING)
    assert clock.remaining(left) == 30.0 + 20.0 + 20.0
    clock.note_change(Cell("one", "b", "zsl", status=RUNNING))
    now[0] += 15.0
    assert clock.remaining(grid(DONE, RUNNING, WAITING, WAITING)) == 15.0 + 20.0 + 20.0
    # Found in the records: that it was there at once says nothing of what is left.
    clock.note_change(Cell("one", "b", "zsl", status=DONE, new=False))
    assert clock.remaining(grid(DONE, DONE, WAITING, WAITING)) == 20.0 + 20.0
    # Half as long as expected: so will the others.
    fast = Clock({cells[0].key: 10.0, cells[1].key: 20.0})
    fast.note_change(Cell("one", "a", "zsl", status=RUNNING))
    now[0] += 5.0
    fast.note_change(Cell("one", "a", "zsl", status=DONE, new=True))
    assert fast.remaining(grid(DONE, WAITING, DONE, DONE)) == 10.0
    assert [duration(s) for s in (5, 65, 3725)] == ["5 s", "1 min 05 s", "1 h 02 min"]


def test_cells_that_were_underrated_by_far_do_not_make_hours_of_all_others(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    waiting = [Cell("one", f"m{number}", "zsl") for number in range(41)]
    clock = Clock({cell.key: 60.0 if number else 2.0 for number, cell in enumerate(waiting)})
    clock.note_change(replace(waiting[0], status=RUNNING))
    now[0] += 100.0  # fifty times as long, as something was prepared of which no record told
    clock.note_change(replace(waiting[0], status=DONE, new=True))
    assert clock.remaining(waiting[1:]) == 40 * (60.0 + 98.0)


def test_brackets_in_names_are_no_markup(capsys):
    data, row = "digits [red]", "linear [/x]"
    content = {"tasks": ["zsl"], "data": [{"name": data, "dataset": "digit-pairs"}]}
    suite = suite_from("made", {**content, "row": [{"name": row, "method": "eszsl"}]})
    cell = Cell(data, row, "zsl", status=DONE, value=0.5)
    values = {"per_class_accuracy": [0.5]}
    scored = Scored(row, row, row, values, {"per_class_accuracy": np.full((1, 9), 0.5)}, {}, "same")
    entry = Entry("study", {}, (0.5,), "per_class_accuracy", trials=1)
    result = GridResult(suite, (cell,), entries={cell.key: entry}, scores={cell.key: scored})
    print_grid(result, (), as_json=False)
    told = capsys.readouterr().out
    assert told.count(data) == told.count(row) == 2  # scores and budgets
    live = shown(grid_table([cell]))
    assert data in live
    assert row in live
    estimate = Estimate(cell, None, "unknown")
    print_plan(Plan(suite, (estimate,), 1), as_json=False)
    told = capsys.readouterr().out
    assert data in told
    assert row in told
