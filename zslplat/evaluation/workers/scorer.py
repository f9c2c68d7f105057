"""The process that holds the truth: it opens problems, drives methods that run in a process of their own, and scores.

    leader ── fork server ── guardian ── scorer ── host ── method process

Each worker has one scorer, which serves one job after another, and each job a method process of its own
(:mod:`zslplat.evaluation.workers.method_host`). All have one BLAS thread and are gone when their parent is gone. On
Linux they are forked off a fork server (:mod:`zslplat.evaluation.workers.fork_server`), so that a second worker, or one
that replaces a killed one, starts at once, and a guardian (:mod:`zslplat.evaluation.workers.guardian`) ends with them
whatever they have started. A scorer whose job leaves processes behind serves no other: its worker starts anew. The host
is forked off a scorer that has imported what jobs need and has not seen a job yet (elsewhere than on Linux it is
started afresh), so that it costs no second import and holds no label. When it ends, its scorer ends after it, and the
worker starts both anew: forked now, it would hold what has been scored.
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

from zslplat.evaluation.jobs import PrepareJob, WorkerSettings
from zslplat.evaluation.workers.processes import ask_for_death_signal, die_with_parent, has_children

READY, PROGRESS = "ready", "progress"
# What jobs need of the platform. No module that asks which plugins there are as it is imported: they may change.
NEEDED = (
    "psutil",
    "zslplat.evaluation.code",
    "zslplat.evaluation.components",
    "zslplat.evaluation.scoring.artifacts",
    "zslplat.evaluation.scoring.evaluation",
    "zslplat.evaluation.workers.guardian",
    "zslplat.evaluation.workers.method_host",
    "zslplat.evaluation.workers.proxies",
    "zslplat.evaluation.workers.scorer",
)
# What the fork server has besides: matplotlib is imported once there, and not by every scorer whose outcome has
# figures.
FORKED_WITH = (*NEEDED, "zslplat.pictures", "matplotlib.backends.backend_agg")


def score_jobs(connection: Connection, settings: WorkerSettings, environment: Mapping[str, str]) -> None:
    """Score jobs from the connection until it closes; a job's exception is an answer, not an end.

    ``environment`` is the leader's as it is now; that of the fork server may be older.
    The first message says that all processes are ready, so that nobody counts their start as part of a job, and gives
    their numbers. An answer is ``(kind, content, next)``, with the number of the next method process and the bytes that
    it shares with others; after one without it this scorer must not be used again. Before it there may be some of kind
    ``progress``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask_for_death_signal()
    os.environ.clear()
    os.environ.update(environment)
    if sys.platform != "linux":  # there its guardian writes the log
        _write_to(settings.log)
    _show_last_words()
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        # Everything that a job needs of the platform is imported before the first one begins.
        for name in NEEDED:
            importlib.import_module(name)
        from zslplat.evaluation.scoring import evaluation
        from zslplat.evaluation.workers import proxies

        host = _start_host(connection, settings)
        die_with_parent()
        connection.send((READY, {"scorer": os.getpid(), "host": host.number}, host.method_process))
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            kind, content, over = _serve(evaluation, proxies, job, settings, host.methods)
            over = over or _left_behind(proxies, host)
            connection.send((kind, content, None if over else host.method_process))
            if over:
                return


def _start_host(connection: Connection, settings: WorkerSettings) -> Any:
    import multiprocessing

    from zslplat.evaluation.workers.method_host import MethodHost
    from zslplat.evaluation.workers.scorer import PROGRESS

    forked = sys.platform == "linux"
    context: Any = multiprocessing.get_context("fork" if forked else "spawn")
    ours, theirs = context.Pipe()
    closed = (ours, connection) if forked else ()
    # A daemon may start no process with multiprocessing; where there is a guardian, it does what that is for.
    process = context.Process(target=_run_host, args=(theirs, settings, closed), daemon=not forked)
    process.start()
    theirs.close()
    return MethodHost(process, ours, lambda done: connection.send((PROGRESS, done, None)))


def _run_host(connection: Connection, settings: WorkerSettings, closed: tuple[Connection, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in closed:
        other.close()
    if closed:
        # No thread watches the parent: processes are forked off this one.
        ask_for_death_signal()
        os.setsid()
    else:
        die_with_parent()
        _write_to(settings.log)
        _show_last_words()
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        from zslplat.evaluation.workers.method_host import host

        host(connection, settings.modules)


def _write_to(path: Path | None) -> None:
    """Send what is printed to the log; into nothing where that cannot be written."""
    if path is not None:
        try:
            log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError:
            log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)


def _show_last_words() -> None:
    """Let a crash print where it came about."""
    import faulthandler

    with contextlib.suppress(OSError, ValueError, AttributeError):
        faulthandler.enable()


def _serve(
    evaluation: Any, proxies: Any, job: Any, settings: WorkerSettings, methods: Any
) -> tuple[str, dict[str, Any], bool]:
    from zslplat.evaluation.code import require_unchanged
    from zslplat.evaluation.workers.method_process import failure
    from zslplat.evaluation.workers.processes import seed_generators

    try:
        require_unchanged(job.sources, settings.code, settings.cluster_worker)
        # Tasks have no process of their own.
        seed_generators(getattr(job, "seed", 0))
        methods.follow(len(getattr(job, "problems", ())))
        result = (evaluation.prepare if isinstance(job, PrepareJob) else evaluation.evaluate)(
            job, settings.cache, methods
        )
        return "done", result, False
    except proxies.ProcessEnded as error:
        return "failed", {"reason": str(error), "killed": error.killed}, True
    except proxies.MethodFailed as error:
        return "failed", {"reason": str(error), "fatal": error.fatal}, False
    except BaseException as error:
        return "failed", failure(error), False


def _left_behind(proxies: Any, host: Any) -> bool:
    """Have the method process of the next job made; tell whether the last one left processes behind."""
    try:
        left = host.renew()
    except proxies.MethodFailed:
        return True
    return left or (sys.platform == "linux" and has_children(os.getpgrp()))
