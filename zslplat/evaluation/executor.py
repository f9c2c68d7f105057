"""Workers behind ``concurrent.futures``: threads of the leader that watch over local processes, or a Dask cluster."""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.processes import ctrl_c_blocked
from zslplat.evaluation.wanted import Place
from zslplat.evaluation.worker import Answer, Limits, Worker, run_job, warm_up


class DeadlineReached(Exception):
    """The time for the whole call is over; unfinished jobs were stopped and left no trace."""


class Workers:
    """Runs jobs and gives their answers in the order of the jobs; a context manager.

    ``count`` local workers, each a thread with a scorer and a method process of its own, or ``cluster`` the address of
    a Dask scheduler whose workers share the store's file system; ``place`` is where they work. The leader itself runs
    no job and opens no answer but for recording it. Processes that are killed from outside are replaced, and their jobs
    run again.
    """

    def __init__(self, count: int, place: Place, cluster: str | None = None) -> None:
        if count < 1:
            raise UsageError(f"--workers {count}: at least one worker is needed")
        self.count, self.place, self.cluster = count, place, cluster
        self._executor: Executor | None = None
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._stopped = threading.Event()
        self._client: Any = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(
        self,
        jobs: Sequence[Any],
        limits: Limits,
        on_answer: Callable[[int, Answer], None] | None = None,
        while_waiting: Callable[[], None] | None = None,
        deadline: float | None = None,
    ) -> list[Answer]:
        """Run the jobs; ``on_answer(position, answer)`` is called as each ends, ``while_waiting`` once at the start.

        Raises :class:`DeadlineReached` at ``deadline`` (seconds since the epoch), after stopping what still runs, and
        :class:`StoreError` where the platform failed and not the job.
        """
        pickled = [bytes(ForkingPickler.dumps(job)) for job in jobs]
        answers: dict[int, Answer] = {}
        executor = self._start()
        run_one = run_job if self.cluster else self._run_here
        # Submitting starts workers.
        with ctrl_c_blocked():
            futures: dict[Future[Answer], int] = {
                executor.submit(run_one, job, limits, self.place): i for i, job in enumerate(pickled)
            }
        if while_waiting is not None:
            while_waiting()
        pending = set(futures)
        while pending:
            left = None if deadline is None else max(0.0, deadline - time.time())
            done, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                self.stop()
                raise DeadlineReached
            for future in done:
                answer = future.result()
                if answer.fatal:
                    raise StoreError(answer.reason)
                answers[futures[future]] = answer
                if on_answer is not None:
                    on_answer(futures[future], answer)
        return [answers[i] for i in range(len(jobs))]

    def warm_up(self) -> None:
        """Prepare what starting local workers takes, beside what the leader does meanwhile."""
        if not self.cluster:
            self._start()
            warm_up()

    def stop(self) -> None:
        """End all workers and their processes at once."""
        executor, self._executor = self._executor, None
        # A thread that has just begun finds this, or is found in the list.
        self._stopped.set()
        for worker in self._workers:
            worker.stop()
        if executor is not None:
            # A thread ends as soon as its process has.
            executor.shutdown(wait=not self.cluster, cancel_futures=True)
        atexit.unregister(self.stop)
        if self._client is not None:
            self._client.close()
            self._client = None

    def _start(self) -> Executor:
        if self._executor is None:
            if self.cluster:
                self._executor = self._connect(self.cluster)
            else:
                from multiprocessing import resource_tracker

                # It lets Ctrl-C through to whatever the thread that starts it starts next, so that is not a worker.
                resource_tracker.ensure_running()
                self._workers, self._stopped = [], threading.Event()
                self._executor = ThreadPoolExecutor(
                    self.count, thread_name_prefix="worker", initializer=self._begin_thread
                )
                # An answer that cannot be recorded ends the program, and the processes must not keep it.
                atexit.register(self.stop)
        return self._executor

    def _begin_thread(self) -> None:
        # Ctrl-C is for the main thread, and for none of the processes that this thread starts.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._own.worker = Worker(self.place)
        stopped = self._stopped
        self._workers.append(self._own.worker)
        if stopped.is_set():
            self._own.worker.stop()

    def _run_here(self, job: bytes, limits: Limits, place: Place) -> Answer:
        answer: Answer = self._own.worker.run(job, limits)
        return answer

    def _connect(self, address: str) -> Executor:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--cluster needs Dask: pip install 'zslplat[dask]'") from None
        try:
            self._client = Client(address, timeout=10)
        except OSError as error:
            raise StoreError(f"no Dask scheduler answers at {address}: {error}") from error
        executor: Executor = self._client.get_executor(pure=False)
        return executor
