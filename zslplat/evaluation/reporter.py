"""How a long command reports what happens, and the exception with which it stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

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


class Interrupted(ZslplatError):
    """The user stopped a command; the message says how to continue."""

    exit_code = 130
