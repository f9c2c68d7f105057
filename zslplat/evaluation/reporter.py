"""Where a long command tells what happens, and how it ends when it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from zslplat.errors import ZslplatError


class Reporter(Protocol):
    """Where a long command is told what happens; the command line shows it."""

    def stage(self, text: str) -> None:
        """A new piece of work begins."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def warn(self, text: str) -> None:
        """Something that the user must see, however quiet the command was asked to be."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """A trial has been recorded."""


@runtime_checkable
class ProgressReporter(Protocol):
    """A reporter that shows, too, how far the jobs at work are."""

    def working(self, done: float, total: int | None) -> None:
        """So much of ``total`` pieces of this stage is done; of the trials since the last call with 0, for None.

        It may be called from threads of the workers.
        """


class SilentReporter:
    """Says nothing."""

    def stage(self, text: str) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def warn(self, text: str) -> None:
        """Ignore."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Ignore."""


class StageProgress:
    """How far some jobs are together, told to a reporter that shows it; ``total``: see :class:`ProgressReporter`."""

    def __init__(self, reporter: Reporter, total: int | None = None) -> None:
        self._reporter = reporter if isinstance(reporter, ProgressReporter) else None
        self._total = total
        self._done: dict[int, float] = {}
        self._lock = threading.Lock()
        if self._reporter is not None:
            self._reporter.working(0.0, total)

    def __call__(self, position: int, done: float) -> None:
        """Take how far a job is, from 0 to 1."""
        if self._reporter is not None:
            with self._lock:
                self._done[position] = max(done, self._done.get(position, 0.0))
                self._reporter.working(sum(self._done.values()), self._total)


class Interrupted(ZslplatError):
    """The user stopped a command; the message says how to continue."""

    exit_code = 130
