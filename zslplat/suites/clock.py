"""How long a grid will take yet, by what its cells took."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from zslplat.suites.cells import DONE, FAILED, RUNNING, WAITING, Cell, Key


class Clock:
    """The seconds that are left of a grid; ``expected``: those of each cell, where something is known of it.

    Cells of which nothing is known count with the mean of those that ended, or of those that are known. What is
    expected is corrected by the cells that ended: where they took longer, by the mean of what they took beyond (a few
    cells that were underrated by far do not make hours of all others), where they took less, in proportion.
    """

    def __init__(self, expected: Mapping[Key, float]) -> None:
        self.expected = dict(expected)
        self.took: dict[Key, float] = {}
        self._began: dict[Key, float] = {}

    def note_change(self, cell: Cell) -> None:
        """Note the change of a cell."""
        if cell.status == RUNNING:
            self._began[cell.key] = time.monotonic()
        elif cell.status in (DONE, FAILED) and cell.key in self._began:
            seconds = time.monotonic() - self._began.pop(cell.key)
            if cell.new or cell.status == FAILED:  # what was found in the records says nothing of the others
                self.took[cell.key] = seconds

    def remaining(self, cells: Sequence[Cell]) -> float | None:
        """Return the seconds until the last cell ends, None while nothing is known."""
        timed = [key for key in self.took if key in self.expected]
        predicted = sum(self.expected[key] for key in timed)
        needed = sum(self.took[key] for key in timed)
        factor = needed / predicted if 0 < needed < predicted else 1.0
        beyond = max(0.0, needed - predicted) / max(1, len(timed))
        means = list(self.took.values()) or list(self.expected.values())
        if not means:
            return None
        usual, left = sum(means) / len(means), 0.0
        for cell in cells:
            if cell.status in (WAITING, RUNNING):
                expected = self.expected[cell.key] * factor + beyond if cell.key in self.expected else usual
                spent = time.monotonic() - self._began[cell.key] if cell.key in self._began else 0.0
                left += max(0.0, expected - spent)
        return left


def remaining_text(seconds: float | None) -> str:
    """Return the time that is left in words."""
    return "time left not known yet" if seconds is None else f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """Return a duration as hours and minutes, or as minutes and seconds."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
