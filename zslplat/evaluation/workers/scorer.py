"""The process that holds the labels: it opens problems, drives methods that run in another process, and scores.

    leader ── fork server ── guardian ── scorer ── host ── method process

Each worker has one scorer, which runs one job after another; each job gets a new method process
(:mod:`zslplat.evaluation.workers.method_host`). The host is forked off the scorer before its first job (elsewhere than
on Linux it is started afresh), so it costs no second import and holds no label. When the host ends, its scorer ends
too, and the worker starts both anew: a host forked now would hold labels. A scorer whose job leaves processes behind
takes no other job. ``docs/processes.md`` shows the whole picture.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zslplat.evaluation.jobs import PrepareJob, WorkerSettings
from zslplat.evaluation.workers.processes import die_with_parent
from zslplat.platforms import FORKS, ask_for_death_signal, has_children

READY = "ready"
# The modules that jobs need. None lists the plugins when it is imported: they may change.
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
    """Score jobs from the connection until it closes; a job's exception is an answer and does not end the scorer.

    ``environment`` is the leader's current one; that of the fork server may be older.

    The first message says that all processes are ready, so that their start counts for no job, and gives their process
    numbers. An answer is ``(kind, content, next)``; ``next`` is the number of the next method process with the bytes
    that it shares with others. Without it, this scorer must not be used again.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask_for_death_signal()
    os.environ.clear()
    os.environ.update(environment)
    if not FORKS:  # else its guardian writes the log
        _write_to(settings.log)
    _print_crashes()
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        # Everything that jobs need is imported before the first one begins.
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
            kind, content, ended = _serve(evaluation, proxies, job, settings, host.methods)
            ended = ended or _renew_host(proxies, host)
            connection.send((kind, content, None if ended else host.method_process))
            if ended:
                return


def _start_host(connection: Connection, settings: WorkerSettings) -> Any:
    import multiprocessing

    from zslplat.evaluation.workers.method_host import MethodHost

    context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
    ours, theirs = context.Pipe()
    closed = (ours, connection) if FORKS else ()
    # A daemon may start no processes by multiprocessing; where processes are forked the guardian ends the host instead.
    process = context.Process(target=_run_host, args=(theirs, settings, closed), daemon=not FORKS)
    process.start()
    theirs.close()
    return MethodHost(process, ours)


def _run_host(connection: Connection, settings: WorkerSettings, closed: tuple[Connection, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in closed:
        other.close()
    if closed:
        # No thread may watch the parent: processes are forked off this one.
        ask_for_death_signal()
        os.setsid()
    else:
        die_with_parent()
        _write_to(settings.log)
        _print_crashes()
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        from zslplat.evaluation.workers.method_host import host

        host(connection, settings.modules)


def _write_to(path: Path | None) -> None:
    """Send what is printed to the log, or to nowhere if the log cannot be written."""
    if path is not None:
        try:
            log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError:
            log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)


def _print_crashes() -> None:
    """Print a traceback when compiled code crashes."""
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
        # Tasks run in this process.
        seed_generators(getattr(job, "seed", 0))
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


def _renew_host(proxies: Any, host: Any) -> bool:
    """Have the method process of the next job made; tell whether the last one left processes behind."""
    try:
        left = host.renew()
    except proxies.MethodFailed:
        return True
    return left or (FORKS and has_children(os.getpgrp()))
