"""The executor side: each worker owns one persistent child, and replaces it when it must be stopped or has died."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from zslplat.evaluation.child import READY, THREAD_VARIABLES, child_main, die_with_parent
from zslplat.evaluation.memory import own_bytes

_POLL_SECONDS = 0.05
_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds from its start, and bytes of its child's own memory (mapped files not counted)."""

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job: a record, or the reason why there is none.

    ``killed``: somebody else ended its child. ``fatal``: the platform failed (a full disk, say) and not the job, so
    nothing may be recorded of it.
    """

    result: dict[str, Any] | None
    reason: str = ""
    killed: bool = False
    fatal: bool = False


@contextlib.contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Start processes that never see Ctrl-C, not even while they start; one that comes meanwhile is handled after.

    A terminal sends Ctrl-C to leader, workers and children alike, but it is for the leader alone.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Child:
    """A spawned process with one BLAS thread, and the pipe to it."""

    def __init__(self, log_path: str | None) -> None:
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.ready = False
        self.log_path = log_path
        by_signal = threading.current_thread() is threading.main_thread()
        saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        try:
            self.process = context.Process(target=child_main, args=(theirs, log_path, by_signal), daemon=True)
            with ctrl_c_blocked():
                self.process.start()
        finally:
            for name, value in saved.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        theirs.close()

    def run(self, job: bytes, limits: Limits) -> Answer:
        """Send a pickled job and wait for its answer within the limits; afterwards :attr:`alive` tells if it goes on.

        The time that a new child takes to start is nobody's, and comes before the clock.
        """
        import psutil

        try:
            watched = psutil.Process(self.process.pid)
            if not self.ready:
                self.ready = self.connection.recv()[0] == READY
            self.connection.send_bytes(job)
        except (OSError, EOFError, psutil.Error):
            return self._ended()
        deadline = time.monotonic() + limits.seconds if limits.seconds else None
        while not self.connection.poll(_POLL_SECONDS):
            if deadline is not None and time.monotonic() > deadline:
                self.kill()
                return Answer(None, f"stopped at its deadline of {limits.seconds:g} s")
            if limits.bytes is not None:
                try:
                    held = own_bytes(watched)
                except psutil.Error:
                    continue
                if held > limits.bytes:
                    self.kill()
                    return Answer(None, f"stopped at {held / 2**30:.2f} GiB, above its {limits.bytes / 2**30:.2f} GiB")
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            return self._ended()
        if limits.bytes is not None:
            # What one job left behind must not be held against the next.
            with contextlib.suppress(psutil.Error):
                if own_bytes(watched) > limits.bytes / 2:
                    self.kill()
        if kind == "done":
            return Answer(content)
        return Answer(None, content["reason"], fatal=content.get("fatal", False))

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
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            hint = " (is the machine out of memory?)" if name == "SIGKILL" else ""
            return Answer(None, f"its process was ended by {name}{hint}", killed=name in ("SIGKILL", "SIGTERM"))
        if not self.ready:
            log = f"; its last words are in {self.log_path}" if self.log_path else ""
            return Answer(None, f"a worker's process ended with exit code {code} before its first job{log}", fatal=True)
        return Answer(None, f"its process ended with exit code {code}")


_child: Child | None = None


def initialise_worker() -> None:
    """Prepare a local executor process: Ctrl-C is the leader's, and no worker outlives its leader."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(by_signal=True)


def run_job(job: bytes, limits: Limits, log_path: str | None = None) -> Answer:
    """Run a pickled job in this worker's child, starting or replacing the child where needed.

    The worker never reads the job, so it imports nothing that jobs are made of.
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
