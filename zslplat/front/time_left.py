"""How far the pieces of a long command are, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.progress import MofNCompleteColumn
from rich.text import Text


class TimeLeft:
    """How long the rest takes if it goes on as since the first call; said only when enough has been seen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._first: tuple[float, float] | None = None

    def __call__(self, completed: float, total: int) -> str:
        """Return the rest in words; empty where it is not known or nothing is left."""
        now = self.clock()
        if self._first is None or completed < self._first[1]:
            self._first = (now, completed)
        began, before = self._first
        # What was there before this call took none of its time.
        if completed - before < 0.5 or now - began < 2 or completed >= total:
            return ""
        seconds = (now - began) / (completed - before) * (total - completed)
        return f"about {duration(seconds)} left"


class Pieces:
    """How many pieces of a stage are done: those that are recorded, and shares of those at work."""

    def __init__(self) -> None:
        self.recorded, self.total, self.completed = 0, 0, 0.0
        self.left = ""
        self._before = 0
        self._time_left = TimeLeft()

    def working(self, done: float, total: int | None) -> None:
        """Take how much is done; see :class:`~zslplat.evaluation.reporter.ProgressReporter`."""
        if total is not None:
            self.recorded, self.total = int(done), total
            self._move(done)
            return
        if not done:
            self._before = self.recorded
        self._move(max(float(self.recorded), self._before + done))

    def record(self, done: int, total: int) -> None:
        """Take how many pieces are recorded."""
        self.recorded, self.total = done, total
        self._move(max(float(done), self.completed))

    def _move(self, completed: float) -> None:
        self.completed = completed
        self.left = self._time_left(completed, self.total)


class WholeCounts(MofNCompleteColumn):
    """Pieces that are done of all, the begun ones not counted; empty where nobody knows how many there are."""

    def render(self, task: Any) -> Text:
        """Return the counts."""
        return Text("") if task.total is None else Text(f"{int(task.completed)}/{int(task.total)}")


def duration(seconds: float) -> str:
    """Return a time as people say it: 42 s, 3:10 min, 2:05 h."""
    whole = max(1, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02d} min" if minutes < 120 else f"{minutes // 60}:{minutes % 60:02d} h"
