"""Progress of a grid: a line for every cell that ends, or a live table of all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from zslplat.front.progress import LineReporter, NotebookReporter, TerminalReporter, progress
from zslplat.names import duration
from zslplat.suites.cells import DONE, FAILED, RUNNING, WAITING, Cell

_MARKS = {WAITING: "[dim].[/dim]", RUNNING: "[cyan]>[/cyan]", DONE: "[green]+[/green]", FAILED: "[red]x[/red]"}


def grid_progress(*, quiet: bool) -> AbstractContextManager[Any]:
    """Give the reporter that fits where the output goes; its view is gone afterwards."""
    return progress(quiet=quiet, notebook=GridNotebook, terminal=GridTerminal, lines=GridLines)


class GridLines(LineReporter):
    """Plain lines: one for each cell that ends, with the time that is left."""

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """Print how a cell ended."""
        if changed is not None and changed.status in (DONE, FAILED):
            self.note(ended_text(cells, changed, remaining))


class GridNotebook(NotebookReporter):
    """A line in a notebook with how many cells have ended; those that failed leave a line."""

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """Show how many have ended, and the time that is left."""
        if changed is not None and changed.status == FAILED:
            self.warn(ended_text(cells, changed, remaining))
        self.stage(progress_text(cells, remaining))


class GridTerminal(TerminalReporter):
    """A live table of rows and data sets, a mark for each task, above the line of what is done just now."""

    def __init__(self) -> None:
        super().__init__()
        # One live display at a time: the bar is drawn in this one.
        self.progress.stop()
        self.live = Live(self.progress, console=self.console, transient=True, refresh_per_second=4)
        self.live.start()

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """Show all cells as they are now; those that failed leave a line."""
        if changed is not None and changed.status == FAILED:
            self.note(ended_text(cells, changed, remaining))
        # Where a terminal is too low for all rows, the last ones are cut.
        self.live.update(Group(progress_text(cells, remaining), self.progress, grid_table(cells)))

    def close(self) -> None:
        """Remove the view."""
        self.live.stop()


def progress_text(cells: Sequence[Cell], remaining: float | None) -> str:
    """Return how many cells have ended, and the time that is left."""
    ended = sum(cell.status not in (WAITING, RUNNING) for cell in cells)
    left = "time left not known yet" if remaining is None else f"about {duration(remaining)} left"
    return f"{ended} of {len(cells)} cells; {left}"


def grid_table(cells: Sequence[Cell]) -> Table:
    """Return the grid: a line for each row, a column for each data set (and draw), a mark for each task."""
    places = list(dict.fromkeys((cell.data, cell.draw) for cell in cells))
    rows = list(dict.fromkeys(cell.row for cell in cells))
    marks: dict[tuple[str, tuple[str, int | None]], str] = {}
    for cell in cells:
        at = (cell.row, (cell.data, cell.draw))
        marks[at] = marks.get(at, "") + _MARKS.get(cell.status, "[yellow]-[/yellow]")
    names = [name if draw is None else f"{name} #{draw}" for name, draw in places]
    table = Table("", *map(escape, names), caption="+ done  x failed  - left out  > now  . waiting")
    for row in rows:
        table.add_row(escape(row), *(marks.get((row, place), "") for place in places))
    return table


def ended_text(cells: Sequence[Cell], cell: Cell, remaining: float | None) -> str:
    """Return the line of a cell that has ended."""
    if cell.status == FAILED:
        outcome = f"failed: {cell.reason}"
    else:
        value = "" if cell.value is None else f"{cell.value:.4f}"
        outcome = f"{value}  {cell.seconds:.1f} s" if cell.new else f"{value}  recorded already"
    return f"{cell.title}  {outcome}  ({progress_text(cells, remaining)})"
