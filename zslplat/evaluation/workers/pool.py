"""Workers behind ``concurrent.futures``: threads of the leader that watch over local processes, or a cluster.

Also the deadline of a search. What must happen before the first trial is complete (statistics, then the trial itself)
is counted in parts. At most one part per worker is in progress, so a lower bound on the whole time is known before the
first part ends: the time spent so far, times all parts, divided by those that are done or in progress.
"""

from __future__ import annotations

import atexit
import math
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from importlib.metadata import entry_points
from typing import Protocol

from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.jobs import Answer, Job, Limits, WorkerSettings
from zslplat.evaluation.workers.processes import ctrl_c_blocked
from zslplat.evaluation.workers.worker import Worker, warm_up

_LOOK_SECONDS = 1.0  # between two forecasts


class DeadlineReached(Exception):
    """The deadline of the whole call has passed; jobs that were still running were stopped and left no trace."""


class Cluster(Protocol):
    """Runs jobs on other machines. A package names its class in the entry-point group ``zslplat.clusters``.

    ``address``: what follows ``--cluster``. ``settings``: those of the leader. ``say`` is called with what a user has
    to wait for.
    """

    def __init__(self, address: str, settings: WorkerSettings, say: Callable[[str], None]) -> None: ...

    def submit(self, job: Job, limits: Limits) -> Future[Answer]:
        """Have a job run; a lost machine is no error, and its jobs run elsewhere."""

    def close(self) -> None:
        """Cancel all jobs."""

    @staticmethod
    def threads(address: str) -> int:
        """Return how many jobs run at once; raises :class:`~zslplat.errors.OutageError` if nothing answers there."""


def cluster_class() -> type[Cluster]:
    """Return the class that runs jobs on a cluster; raises :class:`UsageError` if no installed package has one."""
    for point in entry_points(group="zslplat.clusters"):
        loaded: type[Cluster] = point.load()
        return loaded
    raise UsageError("--cluster needs a package that runs jobs on a cluster: pip install zslplat-dask")


class Workers:
    """Runs jobs and returns their answers in the order of the jobs; a context manager.

    ``count``: how many local workers there are, each a thread with a scorer and a method process; or ``cluster``: the
    address of a cluster (:class:`Cluster`). ``settings``: where the workers work and where
    the leader has its cache. The leader runs no job itself. Processes that were killed from outside are replaced, and
    their jobs run again. ``say`` is called with what a user has to wait for.
    """

    def __init__(
        self,
        count: int,
        settings: WorkerSettings,
        cluster: str | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        if count < 1:
            raise UsageError(f"--workers {count}: at least one worker is needed")
        self.count, self.settings, self.cluster, self.say = count, settings, cluster, say
        self._threads: ThreadPoolExecutor | None = None
        self._thread = threading.local()
        self._workers: list[Worker] = []
        self._stopped = threading.Event()
        self._cluster: Cluster | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        on_answer: Callable[[int, Answer], None] | None = None,
        while_waiting: Callable[[], None] | None = None,
        deadline: Deadline | None = None,
        on_progress: Callable[[int, float], None] | None = None,
    ) -> list[Answer]:
        """Run the jobs; ``on_answer(position, answer)`` is called as each ends, ``while_waiting`` once after the start.

        ``on_progress(position, done)`` is called now and then by the threads of local workers with how far a job is,
        from 0 to 1.

        Raises :class:`DeadlineReached` at ``deadline``, after stopping the jobs that still run, and :class:`StoreError`
        where the platform failed and not the job.
        """
        answers: dict[int, Answer] = {}
        self._start()
        # Submitting starts workers.
        with ctrl_c_blocked():
            futures = {self._submit(job, limits, i, on_progress): i for i, job in enumerate(jobs)}
        if while_waiting is not None:
            while_waiting()
        pending = set(futures)
        while pending:
            pause = None if deadline is None else min(deadline.left, _LOOK_SECONDS)
            finished, pending = wait(pending, timeout=pause, return_when=FIRST_COMPLETED)
            if deadline is not None:
                if not finished and not deadline.left:
                    self.stop()
                    raise DeadlineReached
                deadline.warn_if_late()
            # Answers that can be recorded come before one that ends the call.
            for future in sorted(finished, key=lambda future: (future.result().fatal, futures[future])):
                answer = future.result()
                if answer.fatal:
                    raise StoreError(answer.reason)
                answers[futures[future]] = answer
                if on_answer is not None:
                    on_answer(futures[future], answer)
        return [answers[i] for i in range(len(jobs))]

    def warm_up(self) -> None:
        """Connect to the cluster, or start the fork server of local workers while the leader does other things."""
        self._start()
        if not self.cluster:
            warm_up()

    def stop(self) -> None:
        """End all workers and their processes at once."""
        threads, self._threads = self._threads, None
        # A thread that has just begun sees this flag, or its worker is in the list.
        self._stopped.set()
        for worker in self._workers:
            worker.stop()
        if threads is not None:
            # Threads end as soon as their processes have.
            threads.shutdown(wait=True, cancel_futures=True)
        atexit.unregister(self.stop)
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _start(self) -> None:
        if self._threads is not None or self._cluster is not None:
            return
        if self.cluster:
            # Ctrl-C must not interrupt the threads of the connection.
            with ctrl_c_blocked():
                self._cluster = cluster_class()(self.cluster, self.settings, self.say)
        else:
            from multiprocessing import resource_tracker

            # Starting it unblocks Ctrl-C for the next process that this thread starts, which must not be a worker.
            resource_tracker.ensure_running()
            self._workers, self._stopped = [], threading.Event()
            self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="worker", initializer=self._begin_thread)
        # An answer that cannot be recorded ends the program, and the processes must not keep it alive.
        atexit.register(self.stop)

    def _submit(
        self, job: Job, limits: Limits, position: int = 0, on_progress: Callable[[int, float], None] | None = None
    ) -> Future[Answer]:
        if self._cluster is not None:
            return self._cluster.submit(job, limits)
        assert self._threads is not None
        tell = None if on_progress is None else partial(on_progress, position)
        return self._threads.submit(self._run_here, job, limits, tell)

    def _begin_thread(self) -> None:
        # Ctrl-C is for the main thread, not for the processes that this thread starts.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._thread.worker = Worker(self.settings)
        stopped = self._stopped
        self._workers.append(self._thread.worker)
        if stopped.is_set():
            self._thread.worker.stop()

    def _run_here(self, job: Job, limits: Limits, tell: Callable[[float], None] | None) -> Answer:
        answer: Answer = self._thread.worker.run(job, limits, tell)
        return answer


# Earlier than this, the time is that of starting workers.
_TOO_EARLY_SECONDS = 2.0


class Deadline:
    """When a search must end: ``seconds`` from now, by default never.

    ``warn`` is called with the forecast when no trial will be complete in time: with the lower bound first, and with a
    better estimate once a part is done. ``awaited``: whether the first complete trial is still awaited.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # A monotonic clock: the wall clock may be set meanwhile.
        self.seconds, self.warn, self.clock = seconds, warn, clock
        self.began = clock()
        self.awaited, self._warned = True, set[bool]()
        self.begin("", 0, 1)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.began + self.seconds - self.clock())

    def begin(self, work: str, parts: float, at_once: float) -> None:
        """Begin a piece of work with this many parts, of which this many can be in progress at once."""
        self._work, self._parts, self._at_once, self._done = work, parts, at_once, 0.0
        self._start = self.clock()

    def advance_to(self, done: float) -> None:
        """Note how many parts are done, at least."""
        self._done = max(self._done, done)

    def warn_if_late(self) -> None:
        """Warn if no trial will be complete in time: once before a part is done, and once after."""
        measured = self._done > 0
        if self.awaited and measured not in self._warned and self.needed > self.seconds:
            self._warned |= {False, measured}
            if measured:
                self.warn(f"{self.forecast}; what is prepared is kept, and the same command goes on from there")
            else:
                self.warn(
                    f"{self._work} takes longer than --timeout {self.seconds:g} s: after {_words(self._elapsed)} none "
                    f"of its {self._parts:g} parts is done; give much more, or none"
                )

    @property
    def needed(self) -> float:
        """The seconds from the beginning that this work takes at least; 0 where that is not known."""
        if self._elapsed < _TOO_EARLY_SECONDS or not self._parts:
            return 0.0
        share = min(1.0, (self._done + self._at_once) / self._parts)
        return self._start - self.began + self._elapsed / share if share else 0.0

    @property
    def _elapsed(self) -> float:
        return self.clock() - self._start

    @property
    def forecast(self) -> str:
        """The forecast of the time until the first complete trial, in words."""
        needed, text = self.needed, f"no trial is complete within --timeout {self.seconds:g} s"
        if not needed:
            return f"{text}; give more, or none"
        return (
            f"{text}: {self._work} takes until {_words(needed)} after the beginning, or longer; give --timeout "
            f"{_rounded(1.5 * needed)} or more, or none"
        )


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _rounded(seconds: float) -> int:
    """Return a number of seconds rounded up to 10 s, to minutes or to 10 minutes, by its size."""
    unit = 10 if seconds < 300 else 60 if seconds < 3600 else 600
    return int(-(-seconds // unit) * unit)
