"""Workers behind ``concurrent.futures``: local processes, replaced when one dies, or a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.worker import Answer, Limits, ctrl_c_blocked, initialise_worker, run_job

_MOST_RESTARTS = 3


class DeadlineReached(Exception):
    """The time for the whole call is over; unfinished jobs were stopped and left no trace."""


class Workers:
    """Runs jobs and gives their answers in the order of the jobs; a context manager.

    ``count`` local worker processes, or ``cluster`` the address of a Dask scheduler whose workers share the store's
    file system. A worker that is killed breaks the local pool: the pool is made anew and unfinished jobs run again,
    with the same result. Jobs run in children of workers, so what ends a worker is never a job's doing.
    """

    def __init__(self, count: int, cluster: str | None = None, log_path: str | None = None) -> None:
        if count < 1:
            raise UsageError(f"--workers {count}: at least one worker is needed")
        self.count, self.cluster, self.log_path = count, cluster, log_path
        self._executor: Executor | None = None
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
        restarts = 0
        while len(answers) < len(jobs):
            waiting = [i for i in range(len(jobs)) if i not in answers]
            futures: dict[Future[Answer], int] = {}
            try:
                executor = self._start()
                # Submitting starts workers.
                with ctrl_c_blocked():
                    for i in waiting:
                        futures[executor.submit(run_job, pickled[i], limits, self.log_path)] = i
                if while_waiting is not None:
                    while_waiting()
                    while_waiting = None
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
            except BrokenProcessPool:
                self.stop()
                restarts += 1
                if restarts > _MOST_RESTARTS:
                    raise StoreError(
                        f"worker processes ended {restarts} times from outside (is the machine out of memory?); "
                        "what was recorded is kept; give the same command again, with fewer --workers if so"
                    ) from None
        return [answers[i] for i in range(len(jobs))]

    def stop(self) -> None:
        """End all workers and their children at once."""
        executor, self._executor = self._executor, None
        if isinstance(executor, ProcessPoolExecutor):
            processes = list((getattr(executor, "_processes", None) or {}).values())
            manager = getattr(executor, "_executor_manager_thread", None)
            for process in processes:
                with contextlib.suppress(Exception):
                    process.kill()
            executor.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                with contextlib.suppress(Exception):
                    process.join(2)
            # It gives semaphores back, which a program that ends in the middle of that would report as leaked.
            if manager is not None:
                manager.join(2)
        elif executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()
            self._client = None

    def _start(self) -> Executor:
        if self._executor is None:
            if self.cluster:
                self._executor = self._connect(self.cluster)
            else:
                self._executor = ProcessPoolExecutor(
                    self.count, mp_context=multiprocessing.get_context("spawn"), initializer=initialise_worker
                )
        return self._executor

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
