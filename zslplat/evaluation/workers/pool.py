"""Workers behind ``concurrent.futures``: threads of the leader that watch over local processes, or a Dask cluster."""

from __future__ import annotations

import atexit
import math
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.jobs import Answer, Job, Limits, WorkerSettings
from zslplat.evaluation.workers.processes import ctrl_c_blocked
from zslplat.evaluation.workers.worker import Worker, warm_up

_LOOK_SECONDS = 1.0  # between two looks at what is foreseen of a deadline


class DeadlineReached(Exception):
    """The time for the whole call is over; unfinished jobs were stopped and left no trace."""


class Workers:
    """Runs jobs and gives their answers in the order of the jobs; a context manager.

    ``count`` local workers, each a thread with a scorer and a method process of its own, or ``cluster`` the address of
    a Dask scheduler (:mod:`zslplat.evaluation.workers.cluster`); ``place`` is where they work, and where the leader has
    its cache. The leader itself runs no job and opens no answer but for recording it. Processes that are killed from
    outside are replaced, and their jobs run again. ``say`` is told what a user waits for.
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
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._stopped = threading.Event()
        self._cluster: Any = None

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
        """Run the jobs; ``on_answer(position, answer)`` is called as each ends, ``while_waiting`` once at the start.

        ``on_progress(position, done)`` is told by threads of local workers how far a job is, from 0 to 1, now and then.

        Raises :class:`DeadlineReached` at ``deadline``, which is looked at until then, after stopping what still runs,
        and :class:`StoreError` where the platform failed and not the job.
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
            done, pending = wait(pending, timeout=pause, return_when=FIRST_COMPLETED)
            if deadline is not None:
                if not done and not deadline.left:
                    self.stop()
                    raise DeadlineReached
                deadline.look()
            # Those that can be recorded come before one that ends it all.
            for future in sorted(done, key=lambda future: (future.result().fatal, futures[future])):
                answer = future.result()
                if answer.fatal:
                    raise StoreError(answer.reason)
                answers[futures[future]] = answer
                if on_answer is not None:
                    on_answer(futures[future], answer)
        return [answers[i] for i in range(len(jobs))]

    def warm_up(self) -> None:
        """Reach the cluster, or prepare what starting local workers takes, beside what the leader does meanwhile."""
        self._start()
        if not self.cluster:
            warm_up()

    def stop(self) -> None:
        """End all workers and their processes at once."""
        threads, self._threads = self._threads, None
        # A thread that has just begun finds this, or is found in the list.
        self._stopped.set()
        for worker in self._workers:
            worker.stop()
        if threads is not None:
            # A thread ends as soon as its process has.
            threads.shutdown(wait=True, cancel_futures=True)
        atexit.unregister(self.stop)
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _start(self) -> None:
        if self._threads is not None or self._cluster is not None:
            return
        if self.cluster:
            from zslplat.evaluation.workers.cluster import Cluster

            # A terminal sends Ctrl-C to all threads; those of the connection must not be the ones to see it.
            with ctrl_c_blocked():
                self._cluster = Cluster(self.cluster, self.settings, self.say)
        else:
            from multiprocessing import resource_tracker

            # It lets Ctrl-C through to whatever the thread that starts it starts next, so that is not a worker.
            resource_tracker.ensure_running()
            self._workers, self._stopped = [], threading.Event()
            self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="worker", initializer=self._begin_thread)
        # An answer that cannot be recorded ends the program, and the processes must not keep it.
        atexit.register(self.stop)

    def _submit(
        self, job: Job, limits: Limits, position: int = 0, on_progress: Callable[[int, float], None] | None = None
    ) -> Future[Answer]:
        if self._cluster is not None:
            submitted: Future[Answer] = self._cluster.submit(job, limits)
            return submitted
        assert self._threads is not None
        tell = None if on_progress is None else partial(on_progress, position)
        return self._threads.submit(self._run_here, job, limits, tell)

    def _begin_thread(self) -> None:
        # Ctrl-C is for the main thread, and for none of the processes that this thread starts.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._own.worker = Worker(self.settings)
        stopped = self._stopped
        self._workers.append(self._own.worker)
        if stopped.is_set():
            self._own.worker.stop()

    def _run_here(self, job: Job, limits: Limits, tell: Callable[[float], None] | None) -> Answer:
        answer: Answer = self._own.worker.run(job, limits, tell)
        return answer


# Starting workers is no measure of anything.
_TOO_EARLY_SECONDS = 2.0


class Deadline:
    """The end of a search that may take ``seconds`` from now, by default as long as it likes.

    ``warn`` is told what is foreseen: by the bound, and better once a piece is done. ``awaited``: whether no trial is
    complete yet.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Its own time is what counts, not the wall clock, which may be set meanwhile.
        self.seconds, self.warn, self.clock = seconds, warn, clock
        self.began = clock()
        self.awaited, self._warned = True, set[bool]()
        self.begin("", 0, 1)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.began + self.seconds - self.clock())

    def begin(self, what: str, pieces: float, at_once: float) -> None:
        """Begin a work of so many pieces, of which so many may be at work at once."""
        self._what, self._pieces, self._at_once, self._done = what, pieces, at_once, 0.0
        self._start = self.clock()

    def moved(self, done: float) -> None:
        """Take how many pieces of the work are done, at the least."""
        self._done = max(self._done, done)

    def look(self) -> None:
        """Warn where no trial will be complete in time: once before a piece is done, and once after."""
        measured = self._done > 0
        if self.awaited and measured not in self._warned and self.needed > self.seconds:
            self._warned |= {False, measured}
            if measured:
                self.warn(f"{self.foreseen}; what is prepared is kept, and the same command goes on from there")
            else:
                self.warn(
                    f"{self._what} takes longer than --timeout {self.seconds:g} s: after {_words(self._worked)} none "
                    f"of its {self._pieces:g} parts is done; give much more, or none"
                )

    @property
    def needed(self) -> float:
        """The seconds from the beginning that this work takes at least; 0 where that is not known."""
        if self._worked < _TOO_EARLY_SECONDS or not self._pieces:
            return 0.0
        share = min(1.0, (self._done + self._at_once) / self._pieces)
        return self._start - self.began + self._worked / share if share else 0.0

    @property
    def _worked(self) -> float:
        return self.clock() - self._start

    @property
    def foreseen(self) -> str:
        """What is known of the time that the first complete trial takes, in words."""
        needed, text = self.needed, f"no trial is complete within --timeout {self.seconds:g} s"
        if not needed:
            return f"{text}; give more, or none"
        return (
            f"{text}: {self._what} takes until {_words(needed)} after the beginning, or longer; give --timeout "
            f"{_rounded(1.5 * needed)} or more, or none"
        )


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _rounded(seconds: float) -> int:
    """Return a number of seconds as people write them."""
    unit = 10 if seconds < 300 else 60 if seconds < 3600 else 600
    return int(-(-seconds // unit) * unit)
