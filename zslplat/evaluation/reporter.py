"""How a long command reports what happens, and the exception with which it stops."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from zslplat.errors import ZslplatError


class Reporter(Protocol):
    """Receives what happens in a long command; the command line shows it."""

    def stage(self, text: str) -> None:
        """A new piece of work begins."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def warn(self, text: str) -> None:
        """Something that the user must see, even if the command is quiet."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """A trial has been recorded."""


@runtime_checkable
class ProgressReporter(Protocol):
    """A reporter that also shows how far the running jobs are."""

    def working(self, done: float, total: int | None) -> None:
        """Show that ``done`` of ``total`` parts of this stage are done.

        Where ``total`` is None, the parts are trials since the last call with 0. Threads of the workers may call it.
        """


class SilentReporter:
    """Reports nothing."""

    def stage(self, text: str) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def warn(self, text: str) -> None:
        """Ignore."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Ignore."""


class StageProgress:
    """How far several jobs are together, passed on to a reporter; ``total``: see :class:`ProgressReporter`."""

    def __init__(self, reporter: Reporter, total: int | None = None) -> None:
        self._reporter = reporter if isinstance(reporter, ProgressReporter) else None
        self._total = total
        self._done: dict[int, float] = {}
        self._lock = threading.Lock()
        if self._reporter is not None:
            self._reporter.working(0.0, total)

    def __call__(self, position: int, done: float) -> None:
        """Note how far a job is, from 0 to 1."""
        if self._reporter is not None:
            with self._lock:
                self._done[position] = max(done, self._done.get(position, 0.0))
                self._reporter.working(sum(self._done.values()), self._total)


class Interrupted(ZslplatError):
    """The user stopped a command; the message says how to continue."""

    exit_code = 130
