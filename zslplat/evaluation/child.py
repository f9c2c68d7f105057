"""The process that evaluates trials: one BLAS thread, one job after another, gone when its parent is gone."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection, wait
from typing import Any

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
READY = "ready"


def die_with_parent(*, by_signal: bool = False) -> None:
    """End this process as soon as its parent has ended, however that came about.

    A thread watches the parent. Compiled code that never lets threads run would hold it up, so ``by_signal`` asks the
    kernel (Linux) as well; it looks at the thread that started this process, which must live as long as the parent.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    if by_signal and sys.platform == "linux":
        import ctypes

        set_death_signal = 1
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


def child_main(connection: Connection, log_path: str | None, by_signal: bool) -> None:
    """Serve jobs from the connection until it closes; a job's exception is an answer, not an end.

    The first message says that the process is ready, so that nobody counts its start as part of a job.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(by_signal=by_signal)
    _write_to(log_path)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        # Everything that a job needs of the platform is imported before the first one begins.
        importlib.import_module("zslplat.evaluation.components")
        from zslplat.evaluation import jobs

        connection.send((READY, None))
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            connection.send(_serve(jobs, job))


def _write_to(log_path: str | None) -> None:
    """Send what is printed, and the last words of a crash, to the log; into nothing where that cannot be written."""
    import faulthandler

    if log_path:
        try:
            log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError:
            log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        faulthandler.enable()


def _serve(jobs: Any, job: Any) -> tuple[str, Any]:
    import traceback

    from zslplat.errors import StoreError, ZslplatError

    try:
        return "done", (jobs.prepare if isinstance(job, jobs.PrepareJob) else jobs.evaluate)(job)
    except StoreError as error:
        # Not the method's doing: recording it as a failed trial would make the trials depend on the disk.
        return "failed", {"reason": str(error), "fatal": True}
    except ZslplatError as error:
        return "failed", {"reason": str(error)}
    except MemoryError as error:
        return "failed", {"reason": f"out of memory: {error}"}
    except BaseException as error:
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exc(file=sys.stderr)
        text = " ".join(str(error).split())
        return "failed", {"reason": f"{type(error).__name__}: {text}", "traceback": traceback.format_exc()}
