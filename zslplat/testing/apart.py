"""The checks of a distribution in a process of their own: a component that ends it fails, and hides no other.

One process carries out check after check and says which one it begins. Where it ends before the last one, or has not
done with one in time, that one has failed, and another process goes on behind it.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from zslplat.errors import PluginError, UsageError
from zslplat.evaluation.workers.processes import (
    ask_for_death_signal,
    ctrl_c_blocked,
    describe_exit,
    without_main_module,
)
from zslplat.registry import registry
from zslplat.testing.distribution import BUILT, Subject, subjects_of
from zslplat.testing.running import FAILED, CheckResult

_LOOK_SECONDS, _END_SECONDS = 0.2, 2.0
LEFT = "what cannot go on raises an error, and leaves the process to others"
SLOW = "the problems of the checks are small: it waits for something, or needs a longer --timeout"
_BUILDING = -1  # in place of the number of a check
_BEGINS, _ENDED, _REFUSED, _OVER = "begins", "ended", "refused", "over"


def checked_apart(
    distribution: str, beginning: Callable[[Subject], None], limit: float
) -> list[tuple[Subject, CheckResult]]:
    """Return how every check of a distribution ended; ``beginning`` is told each subject before its first check.

    A check that takes longer than ``limit`` seconds is ended, and has failed.

    Raises what :func:`zslplat.testing.distribution.subjects_of` does, :class:`UsageError` under ``python -O``, and
    :class:`PluginError` where the processes end before their first check.
    """
    subjects = subjects_of(registry(), distribution)
    results: list[tuple[Subject, CheckResult]] = []
    announced = -1  # the last subject that ``beginning`` was told
    number, check, over = 0, _BUILDING, False
    while not over:
        process = _Process(distribution, number, check)
        begun = None
        try:
            while not over and (message := process.next_message(limit)) is not None:
                kind, *content = message
                if kind == _BEGINS:
                    number, check, *begun = content
                    if number > announced:
                        beginning(subjects[number])
                        announced = number
                elif kind == _ENDED:
                    results.append((subjects[number], content[0]))
                elif kind == _REFUSED:
                    raise UsageError(content[0])
                else:
                    over = True
        finally:
            code = process.end()
        if not over:
            how = f"not done after {limit:g} s, and ended" if process.is_late else describe_exit(code)[0]
            if begun is None:
                raise PluginError(f"{distribution} cannot be checked: {how} before the first check")
            name, promise = begun
            remedy = SLOW if process.is_late else LEFT
            cause = f"{how}; {remedy}"
            results.append((subjects[number], CheckResult(name, FAILED, cause, promise)))
            # One that cannot be built has no other checks.
            number, check = (number + 1, _BUILDING) if check == _BUILDING else (number, check + 1)
    return results


class _Process:
    """A process that carries out the checks from one on, and what it tells."""

    def __init__(self, distribution: str, number: int, check: int) -> None:
        # As trials have it: forked where that is safe, with the plugins imported already.
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._messages, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_carry_out, args=(theirs, distribution, number, check))
        self.is_late = False
        with ctrl_c_blocked(), without_main_module():
            self._process.start()
        theirs.close()

    def next_message(self, limit: float) -> tuple[Any, ...] | None:
        """Return the next message, None where none comes any more, or none within ``limit`` seconds.

        What a component started may hold the pipe open.
        """
        last = time.monotonic() + limit
        while not self._messages.poll(_LOOK_SECONDS):
            if time.monotonic() > last:
                self.is_late = True
                return None
            if not self._process.is_alive() and not self._messages.poll():
                return None
        try:
            message: tuple[Any, ...] = self._messages.recv()
        except (EOFError, OSError):
            return None
        return message

    def end(self) -> int | None:
        """End the process, and return how it ended where it had done so by itself."""
        if not self.is_late:
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        self._messages.close()
        code: int | None = self._process.exitcode
        return code


def _carry_out(connection: Connection, distribution: str, first: int, check: int) -> None:
    """Carry out the checks of a distribution from one on: number ``check`` of subject number ``first``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask_for_death_signal()
    for number, subject in enumerate(subjects_of(registry(), distribution)):
        if number < first:
            continue
        begins = check if number == first else _BUILDING
        connection.send((_BEGINS, number, begins, BUILT, ""))
        for place, pending in enumerate(subject.pending()):
            if place < begins:
                continue
            connection.send((_BEGINS, number, place, pending.check, pending.promise))
            try:
                result = pending.run()
            except UsageError as error:
                connection.send((_REFUSED, str(error)))
                return
            connection.send((_ENDED, result))
    connection.send((_OVER,))
