"""The executor side: each worker owns one persistent child, and replaces it when it must be stopped or has died."""

from __future__ import annotations

import atexit
import os
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from zslplat.tuning.child import THREAD_VARIABLES, child_main, die_with_parent

_POLL_SECONDS = 0.05
_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds from its start, and bytes of resident memory of its child."""

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job: a record, or the reason why there is none; ``killed`` when somebody else ended its child."""

    result: dict[str, Any] | None
    reason: str = ""
    traceback: str = ""
    exit_code: int = 1
    killed: bool = False


class Child:
    """A spawned process with one BLAS thread, and the pipe to it."""

    def __init__(self, log_path: str | None) -> None:
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        try:
            self.process = context.Process(target=child_main, args=(theirs, log_path), daemon=True)
            self.process.start()
        finally:
            for name, value in saved.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        theirs.close()

    def run(self, job: Any, limits: Limits) -> Answer:
        """Send a job and wait for its answer within the limits; afterwards :attr:`alive` tells if it can go on."""
        import psutil

        try:
            watched = psutil.Process(self.process.pid)
            self.connection.send(job)
        except (OSError, psutil.Error):
            return self._ended()
        deadline = time.monotonic() + limits.seconds if limits.seconds else None
        while not self.connection.poll(_POLL_SECONDS):
            if deadline is not None and time.monotonic() > deadline:
                self.kill()
                return Answer(None, f"stopped at its deadline of {limits.seconds:g} s")
            if limits.bytes is not None:
                try:
                    resident = watched.memory_info().rss
                except psutil.Error:
                    continue
                if resident > limits.bytes:
                    self.kill()
                    return Answer(
                        None, f"stopped at {resident / 2**30:.2f} GiB, above its {limits.bytes / 2**30:.2f} GiB"
                    )
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            return self._ended()
        if kind == "done":
            return Answer(content)
        return Answer(None, content["reason"], content.get("traceback", ""), content.get("exit_code", 1))

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.is_alive()

    def kill(self) -> None:
        """End the process now."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _ended(self) -> Answer:
        self.process.join(5)
        code = self.process.exitcode
        self.kill()
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return Answer(None, f"its process was ended by {name}", killed=name in ("SIGKILL", "SIGTERM"))
        return Answer(None, f"its process ended with exit code {code}")


_child: Child | None = None


def initialise_worker() -> None:
    """Prepare a local executor process: Ctrl-C is the leader's, and no worker outlives its leader."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()


def run_job(job: Any, limits: Limits, log_path: str | None = None) -> Answer:
    """Run a job in this worker's child, starting or replacing the child where needed.

    A child that crashes is its job's doing, and the job's failure. One that is killed from outside may be anybody's:
    the job runs again, with the same result, and fails when that happens three times.
    """
    global _child
    answer = Answer(None)
    for _ in range(_MOST_ATTEMPTS):
        if _child is None or not _child.alive:
            if _child is None:
                atexit.register(_stop_child)
            _child = Child(log_path)
        answer = _child.run(job, limits)
        if not _child.alive:
            _child = None
        if not answer.killed:
            break
    return answer


def _stop_child() -> None:
    if _child is not None and _child.alive:
        _child.kill()
