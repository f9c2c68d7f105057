"""The process that holds the truth: it opens problems, drives methods that run in a process of their own, and scores.

    leader ── nursery ── scorer ── method process

One scorer per worker, one method process per scorer. Both have one BLAS thread, serve one job after another and are
gone when their parent is gone. On Linux scorers are forked off a nursery (:mod:`zslplat.evaluation.nursery`), so that a
second worker, or one that replaces a killed one, starts at once. The method process is forked off a scorer that has
imported what jobs need and has not seen a job yet (elsewhere than on Linux it is started afresh), so that it costs no
second import and holds no label. When it ends, its scorer ends after it, and the worker starts both anew: forked now,
it would hold what has been scored.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zslplat.evaluation.processes import ask_for_death_signal, die_with_parent
from zslplat.evaluation.wanted import Place

READY = "ready"
# What jobs need of the platform. No module that asks which plugins there are as it is imported: they may change.
NEEDED = tuple(
    f"zslplat.evaluation.{name}" for name in ("child", "code", "components", "jobs", "stand_ins", "method_process")
)


def child_main(connection: Connection, place: Place, environment: Mapping[str, str]) -> None:
    """Score jobs from the connection until it closes; a job's exception is an answer, not an end.

    ``environment`` is the leader's as it is now; that of the nursery may be older.
    The first message says that both processes are ready, so that nobody counts their start as part of a job, and gives
    the number of the method process and the bytes that it shares with this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask_for_death_signal()
    if sys.platform == "linux":
        from zslplat.evaluation import nursery

        nursery.let_go()
    os.environ.clear()
    os.environ.update(environment)
    _write_to(place.log)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        # Everything that a job needs of the platform is imported before the first one begins.
        for name in NEEDED:
            importlib.import_module(name)
        from zslplat.evaluation import jobs, stand_ins

        methods = _start_methods(connection, place.log)
        die_with_parent()
        connection.send((READY, {"methods": methods.process.pid, "shared": methods.shared_bytes}))
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            kind, content = _serve(jobs, stand_ins, job, place, methods)
            connection.send((kind, content))
            if content.get("over"):
                return


def _start_methods(connection: Connection, log: Path | None) -> Any:
    import multiprocessing

    import psutil

    from zslplat.evaluation.memory import own_bytes
    from zslplat.evaluation.stand_ins import MethodProcess

    forked = sys.platform == "linux"
    context: Any = multiprocessing.get_context("fork" if forked else "spawn")
    ours, theirs = context.Pipe()
    closed = (ours, connection) if forked else ()
    process = context.Process(target=_run_methods, args=(theirs, log, closed), daemon=True)
    process.start()
    theirs.close()
    return MethodProcess(process, ours, own_bytes(psutil.Process()) if forked else 0)


def _run_methods(connection: Connection, log: Path | None, closed: tuple[Connection, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(by_signal=True)
    for other in closed:
        other.close()
    if not closed:
        _write_to(log)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        from zslplat.evaluation.method_process import serve

        serve(connection)


def _write_to(path: Path | None) -> None:
    """Send what is printed, and the last words of a crash, to the log; into nothing where that cannot be written."""
    import faulthandler

    if path is not None:
        try:
            log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError:
            log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        faulthandler.enable()


def _serve(jobs: Any, stand_ins: Any, job: Any, place: Place, methods: Any) -> tuple[str, dict[str, Any]]:
    from zslplat.evaluation.code import require_unchanged
    from zslplat.evaluation.method_process import failure

    try:
        require_unchanged(job.sources, place.code)
        result = (jobs.prepare if isinstance(job, jobs.PrepareJob) else jobs.evaluate)(job, place.cache, methods)
        # What the job has let go is let go there now, and not held against it.
        methods.clear()
        return "done", result
    except stand_ins.Ended as error:
        return "failed", {"reason": str(error), "killed": error.killed, "over": True}
    except stand_ins.Failed as error:
        return "failed", {"reason": str(error), "fatal": error.fatal}
    except BaseException as error:
        return "failed", failure(error)
