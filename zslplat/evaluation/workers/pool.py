"""Workers behind ``concurrent.futures``: threads of the leader that watch over local processes, or a cluster."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import entry_points
from typing import Protocol

from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.jobs import Answer, Job, Limits, WorkerSettings
from zslplat.evaluation.workers.worker import Worker, warm_up
from zslplat.platforms import block_ctrl_c, ctrl_c_blocked, start_resource_tracker


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
    ) -> list[Answer]:
        """Run the jobs; ``on_answer(position, answer)`` is called as each ends, ``while_waiting`` once after the start.

        Raises :class:`DeadlineReached` at ``deadline``, after stopping the jobs that still run, and :class:`StoreError`
        where the platform failed and not the job.
        """
        answers: dict[int, Answer] = {}
        self._start()
        # Submitting starts workers.
        with ctrl_c_blocked():
            futures = {self._submit(job, limits): i for i, job in enumerate(jobs)}
        if while_waiting is not None:
            while_waiting()
        pending = set(futures)
        while pending:
            pause = None if deadline is None else deadline.left
            finished, pending = wait(pending, timeout=pause, return_when=FIRST_COMPLETED)
            if not finished:
                self.stop()
                raise DeadlineReached
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
            start_resource_tracker()
            self._workers, self._stopped = [], threading.Event()
            self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="worker", initializer=self._begin_thread)
        # An answer that cannot be recorded ends the program, and the processes must not keep it alive.
        atexit.register(self.stop)

    def _submit(self, job: Job, limits: Limits) -> Future[Answer]:
        if self._cluster is not None:
            return self._cluster.submit(job, limits)
        assert self._threads is not None
        return self._threads.submit(self._run_here, job, limits)

    def _begin_thread(self) -> None:
        # Ctrl-C is for the main thread, not for the processes that this thread starts.
        block_ctrl_c()
        self._thread.worker = Worker(self.settings)
        stopped = self._stopped
        self._workers.append(self._thread.worker)
        if stopped.is_set():
            self._thread.worker.stop()

    def _run_here(self, job: Job, limits: Limits) -> Answer:
        answer: Answer = self._thread.worker.run(job, limits)
        return answer


class Deadline:
    """When a search must end: ``seconds`` from now, by default never."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        # A monotonic clock: the wall clock may be set meanwhile.
        self.seconds, self.clock = seconds, clock
        self.began = clock()

    @property
    def left(self) -> float | None:
        """The seconds that are left, None where there is no end."""
        return None if self.seconds is None else max(0.0, self.began + self.seconds - self.clock())

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.left == 0
