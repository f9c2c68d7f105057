"""The leader's side of a worker: it owns one persistent scorer, and replaces it when it must be stopped or has died."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from zslplat.evaluation.child import READY, child_main
from zslplat.evaluation.memory import own_bytes
from zslplat.evaluation.processes import ctrl_c_blocked, ending, one_thread_variables

# How often the memory of a job is looked at, where it is bounded.
_POLL_SECONDS = 0.05
_MOST_ATTEMPTS = 3
# How multiprocessing starts a scorer: as a new interpreter, which has seen nothing of the leader.
START_METHOD: Final = "spawn"
# The environment is one for all threads, and so is the list of children that multiprocessing keeps.
_starting = threading.Lock()


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds from its start, and bytes of its processes' own memory (mapped files not counted).

    The bytes are those of the scorer and of the method process together; what both share counts once.
    """

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job: a record, or the reason why there is none.

    ``killed``: somebody else ended one of its processes. ``fatal``: the platform failed (a full disk, say) and not the
    job, so nothing may be recorded of it.
    """

    result: dict[str, Any] | None
    reason: str = ""
    killed: bool = False
    fatal: bool = False


class Child:
    """A scorer with its method process, and the pipe to it."""

    def __init__(self, log_path: str | None, *, by_signal: bool) -> None:
        import multiprocessing

        context = multiprocessing.get_context(START_METHOD)
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.ready = False
        self.log_path = log_path
        self.methods: Any = None
        self.shared_bytes = 0
        # No daemon: multiprocessing lets those start no process. It is killed before the leader waits for it.
        self.process = context.Process(target=child_main, args=(theirs, log_path, by_signal))
        with _starting, one_thread_variables(), ctrl_c_blocked():
            self.process.start()
        theirs.close()

    def run(self, job: bytes, limits: Limits) -> Answer:
        """Send a pickled job and wait for its answer within the limits; afterwards :attr:`alive` tells if it goes on.

        The time that new processes take to start is nobody's, and comes before the clock.
        """
        import psutil

        try:
            watched = psutil.Process(self.process.pid)
            if not self.ready:
                self._begin(psutil)
            self.connection.send_bytes(job)
            answered = self._wait(watched, limits, psutil)
            if answered is not None:
                return answered
            kind, content = self.connection.recv()
        except (EOFError, OSError, psutil.Error):
            return self._ended()
        if content.get("over") or (limits.bytes is not None and self._held(watched, psutil) > limits.bytes / 2):
            # Its method process is gone, or one job would be charged for what another one left behind.
            self.kill()
        if kind == "done":
            return Answer(content)
        return Answer(None, content["reason"], content.get("killed", False), content.get("fatal", False))

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.is_alive()

    def kill(self) -> None:
        """End the scorer and its method process now."""
        self.signal_end()
        self.process.join()
        with contextlib.suppress(OSError):
            self.connection.close()

    def signal_end(self) -> None:
        """Tell the processes to end now, and do not wait for it."""
        self.process.kill()
        if self.methods is not None:
            # Linux does so by itself. A method in compiled code would go on elsewhere.
            with contextlib.suppress(Exception):
                self.methods.kill()

    def _begin(self, psutil: Any) -> None:
        kind, content = self.connection.recv()
        self.ready = kind == READY
        self.shared_bytes = content["shared"]
        # Gone already where somebody kills it at once; the scorer will say so.
        with contextlib.suppress(psutil.Error):
            self.methods = psutil.Process(content["methods"])

    def _wait(self, watched: Any, limits: Limits, psutil: Any) -> Answer | None:
        """Wait until there is an answer to be read; one is made where the job goes beyond its limits."""
        deadline = time.monotonic() + limits.seconds if limits.seconds else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            # Without a bound of memory there is nothing to look at before the deadline.
            pause = left if limits.bytes is None else _POLL_SECONDS if left is None else min(left, _POLL_SECONDS)
            if self.connection.poll(pause):
                return None
            if deadline is not None and time.monotonic() >= deadline:
                self.kill()
                return Answer(None, f"stopped at its deadline of {limits.seconds:g} s")
            if limits.bytes is not None and (held := self._held(watched, psutil)) > limits.bytes:
                self.kill()
                return Answer(None, f"stopped at {held / 2**30:.2f} GiB, above its {limits.bytes / 2**30:.2f} GiB")

    def _held(self, watched: Any, psutil: Any) -> int:
        """Return the bytes that scorer and method process hold for themselves."""
        held = 0
        with contextlib.suppress(psutil.Error):
            held = own_bytes(watched)
            held += max(0, own_bytes(self.methods) - self.shared_bytes) if self.methods is not None else 0
        return held

    def _ended(self) -> Answer:
        self.process.join(5)
        code = self.process.exitcode
        self.kill()
        reason, killed = ending(code)
        if not self.ready and not killed and (code is None or code >= 0):
            log = f"; its last words are in {self.log_path}" if self.log_path else ""
            return Answer(None, f"a worker's process ended with exit code {code} before its first job{log}", fatal=True)
        return Answer(None, reason, killed=killed)


class Worker:
    """Runs one job after another in its scorer, starting or replacing it where needed; belongs to one thread.

    ``by_signal``: the thread lives as long as its program, so that the kernel may end the scorer with it.
    """

    def __init__(self, *, by_signal: bool) -> None:
        self.by_signal = by_signal
        self._child: Child | None = None
        self._stopped = False

    def run(self, job: bytes, limits: Limits, log_path: str | None = None) -> Answer:
        """Run a pickled job, which the worker never reads.

        A process that crashes is its job's doing, and the job's failure. One that is killed from outside may be
        anybody's: the job runs again, with the same result, and fails when that happens three times.
        """
        answer = Answer(None, "stopped", killed=True)
        for _ in range(_MOST_ATTEMPTS):
            if self._stopped:
                break
            if self._child is None or not self._child.alive:
                self._child = Child(log_path, by_signal=self.by_signal)
            if self._stopped:
                break
            answer = self._child.run(job, limits)
            if not self._child.alive:
                self._child = None
            if not answer.killed:
                break
        if self._stopped:
            self.stop()
        return answer

    def stop(self) -> None:
        """End the processes at once, from whatever thread; a job that runs ends with them, and none begins."""
        self._stopped = True
        child = self._child
        if child is not None:
            # Whoever reads from its pipe finds it closed.
            child.signal_end()


_own = threading.local()


def run_job(job: bytes, limits: Limits, log_path: str | None = None) -> Answer:
    """Run a pickled job in the worker of this thread, as the workers of a cluster do."""
    if not hasattr(_own, "worker"):
        main = threading.current_thread() is threading.main_thread()
        _own.worker = Worker(by_signal=main)
        atexit.register(_own.worker.stop)
    worker: Worker = _own.worker
    return worker.run(job, limits, log_path)
