"""The process that evaluates trials: one BLAS thread, one job after another, gone when its parent is gone."""

from __future__ import annotations

import os
import signal
import sys
import threading
from multiprocessing.connection import Connection, wait
from typing import Any

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def die_with_parent() -> None:
    """Start a thread that ends this process as soon as its parent has ended, however that came about."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


def child_main(connection: Connection, log_path: str | None) -> None:
    """Serve jobs from the connection until it closes; a job's exception is an answer, not an end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    if log_path:
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        from zslplat.tuning import jobs

        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            connection.send(_serve(jobs, job))


def _serve(jobs: Any, job: Any) -> tuple[str, Any]:
    import traceback

    from zslplat.errors import ZslplatError

    try:
        return "done", (jobs.prepare if isinstance(job, jobs.PrepareJob) else jobs.evaluate)(job)
    except ZslplatError as error:
        return "failed", {"reason": str(error), "exit_code": error.exit_code}
    except MemoryError as error:
        return "failed", {"reason": f"out of memory: {error}"}
    except BaseException as error:
        traceback.print_exc(file=sys.stderr)
        text = " ".join(str(error).split())
        return "failed", {"reason": f"{type(error).__name__}: {text}", "traceback": traceback.format_exc()}
