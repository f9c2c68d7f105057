"""The leader's side of a worker: it owns one persistent scorer, and replaces it when it was stopped or has died."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from zslplat.evaluation.jobs import Answer, Job, Limits, WorkerSettings
from zslplat.evaluation.workers.guardian import guard
from zslplat.evaluation.workers.memory import MemoryWatch
from zslplat.evaluation.workers.processes import describe_exit, one_thread_variables, without_main_module
from zslplat.evaluation.workers.scorer import FORKED_WITH, READY, score_jobs
from zslplat.platforms import FORKS, ctrl_c_blocked, kill_tree, start_resource_tracker

# How often the memory of a job is measured, where it is bounded.
_POLL_SECONDS = 0.05
# How long a guardian may take to end everything that a job has started.
_END_SECONDS = 15.0
_MOST_ATTEMPTS = 3
# A fork server that was killed may take a while to end on a busy machine, and be used meanwhile.
_START_PAUSES = (0.01, 0.05, 0.25, 1.0, 4.0)
_PAUSE_SECONDS = 0.01
# All threads share the environment, and the list of children that multiprocessing keeps.
_starting = threading.Lock()


def warm_up() -> None:
    """Start the fork server without waiting for its imports, so that the first worker is ready sooner.

    It ends with this process, also where no worker is needed after all.
    """
    start_resource_tracker()
    with _starting, one_thread_variables(), ctrl_c_blocked():
        _process_class()


def _process_class() -> Any:
    if not FORKS:
        return multiprocessing.get_context("spawn").Process
    from zslplat.evaluation.workers import fork_server

    fork_server.begin(FORKED_WITH)
    return fork_server.ForkedProcess


class Child:
    """A scorer with its method process and everything that they start, and the pipe to it.

    ``process`` is the scorer, or its guardian where processes are forked, which ends when the scorer does.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self.connection: Connection
        self.connection, theirs = multiprocessing.Pipe()
        self.ready = False
        self.settings = settings
        self.memory: MemoryWatch | None = None
        with theirs, _starting, one_thread_variables(), ctrl_c_blocked():
            # No daemon, since it starts processes. It is killed before the leader waits for it.
            target = guard if FORKS else score_jobs
            self.process = _process_class()(target=target, args=(theirs, settings, dict(os.environ)))
            with contextlib.nullcontext() if FORKS else without_main_module():
                self.process.start()

    def run(self, job: Job, limits: Limits) -> Answer:
        """Send a job and wait for its answer within the limits; :attr:`alive` tells whether it can take another.

        The clock of the job starts when its processes are ready.
        """
        try:
            if not self.ready:
                self._begin()
            self.connection.send(job)
            reply = self._wait(limits)
            if isinstance(reply, Answer):
                return reply
            kind, content, following = reply
        except (EOFError, OSError):
            return self._ended()
        if following is not None and self.memory is not None:
            self.memory.methods, self.memory.shared = following
        if following is None or (limits.bytes is not None and self._used_bytes() > limits.bytes / 2):
            # Its host has ended, processes are left, or the next job would be charged for memory of this one.
            self.kill()
        if kind == "done":
            return Answer(content)
        return Answer(None, content["reason"], content.get("killed", False), content.get("fatal", False))

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return bool(self.process.is_alive())

    def kill(self) -> None:
        """End the scorer, the method process and everything that they have started, and wait for that."""
        self.signal_end()
        self.process.join(_END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        with contextlib.suppress(OSError):
            self.connection.close()

    def signal_end(self) -> None:
        """Tell the processes to end, without waiting for them."""
        if not FORKS:
            if self.process.exitcode is None:  # else its number may be that of another process
                kill_tree(self.process)
            return
        self.process.terminate()  # its guardian ends everything below it
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, signal.SIGCONT)

    def _begin(self) -> None:
        kind, numbers, following = self.connection.recv()
        self.ready = kind == READY
        self.memory = MemoryWatch(self.process.pid, **numbers)
        self.memory.methods, self.memory.shared = following

    def _wait(self, limits: Limits) -> Answer | tuple[str, Any, Any]:
        """Wait for the scorer's answer; where the job goes beyond its limits, end it and say so in an answer."""
        deadline = time.monotonic() + limits.seconds if limits.seconds else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            # Without a bound on memory nothing needs to be checked before the deadline.
            pause = left if limits.bytes is None else _POLL_SECONDS if left is None else min(left, _POLL_SECONDS)
            if self.connection.poll(pause):
                kind, content, following = self.connection.recv()
                return kind, content, following
            if deadline is not None and time.monotonic() >= deadline:
                self.kill()
                return Answer(None, f"stopped at its deadline of {limits.seconds:g} s")
            if limits.bytes is not None and (size := self._used_bytes()) > limits.bytes:
                self.kill()
                text = f"stopped at {size / 2**30:.2f} GiB, above its {limits.bytes / 2**30:.2f} GiB"
                return Answer(None, f"{text}; more --memory, or fewer --workers, leave it more")

    def _used_bytes(self) -> int:
        """Return the memory that the processes do not share with others."""
        return self.memory.used_bytes() if self.memory is not None else 0

    def _ended(self) -> Answer:
        self.process.join(_END_SECONDS)
        code = self.process.exitcode
        self.kill()
        reason, killed = describe_exit(code)
        if not self.ready and not killed and (code is None or code >= 0):
            log = f"; its last output is in {self.settings.log}" if self.settings.log else ""
            return Answer(None, f"a worker's process ended with exit code {code} before its first job{log}", fatal=True)
        return Answer(None, reason, killed=killed)


class Worker:
    """Runs one job after another in its scorer, which it starts and replaces as needed; it belongs to one thread."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings
        self._child: Child | None = None
        self._stopped = self._starting = False

    def run(self, job: Job, limits: Limits) -> Answer:
        """Run a job.

        Processes that have imported the modules of another experiment are replaced. A process that crashes fails its
        job. One that was killed from outside says nothing about the job, which runs again, with the same result, up to
        three times.
        """
        answer = Answer(None, "stopped", killed=True)
        if self.settings.modules != job.modules:
            self.settings = replace(self.settings, modules=job.modules)
            if self._child is not None:
                self._child.kill()
                self._child = None
        for _ in range(_MOST_ATTEMPTS):
            if (self._child is None or not self._child.alive) and not self._start_with_retries():
                answer = Answer(None, "its process was ended as it started", killed=True)
                break
            if self._stopped or self._child is None:
                break
            answer = self._child.run(job, limits)
            if not self._child.alive:
                self._child = None
            if not answer.killed:
                break
        if self._stopped:
            self.stop()
        return answer

    def _start_with_retries(self) -> bool:
        """Start the processes, again where they were ended while they started; False when every attempt failed."""
        for pause in (*_START_PAUSES, None):
            if self._start():
                return True
            if pause is None or self._stopped:
                break
            time.sleep(pause)
        return False

    def _start(self) -> bool:
        """Start the processes, unless the worker was stopped; return False when they were ended while they started."""
        self._starting = True
        try:
            if not self._stopped:
                self._child = Child(self.settings)
        except (EOFError, ConnectionError):
            return False
        finally:
            self._starting = False
        return True

    def stop(self) -> None:
        """End the processes at once, from any thread: the current job ends with them, and no further job starts."""
        self._stopped = True
        while self._starting and FORKS:
            from zslplat.evaluation.workers import fork_server

            fork_server.give_up()
            time.sleep(_PAUSE_SECONDS)
        child = self._child
        if child is not None:
            # A thread that reads from its pipe finds it closed.
            child.signal_end()
