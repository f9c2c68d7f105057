"""The process that keeps together whatever a job starts, and ends all of it with the job's scorer. For Linux.

    leader ── nursery ── guardian ── scorer ── method process ── what a method starts

A process that a method starts may leave its group and its session and outlive its parent, so neither a group nor a walk
down from the method process finds all of them. The kernel hands orphans to their nearest ancestor that asks for them
(``PR_SET_CHILD_SUBREAPER``): that is the guardian, so all that ever comes from its scorer stays below it. It runs no
code but its own, and ends, with all below it, when its scorer, its nursery or the leader has ended, or on SIGTERM. It
has a session of its own, so that a signal to the leader's group leaves it to do so. Where the system lets it make a
control group, all below it is killed at once; a program that multiplies faster than one look at it takes can be
ended in no other way.

What the processes print goes through it, too, into a log that is bounded while they run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from zslplat.evaluation.control_group import ControlGroup
from zslplat.evaluation.processes import adopt_orphans, ask_for_death_signal, end_like
from zslplat.evaluation.wanted import Place
from zslplat.evaluation.worker_log import WorkerLog

# So long it tries to end what the kernel does not let go, or what belongs to another user.
_SWEEP_SECONDS = 10.0
_PAUSE_SECONDS = 0.002

Scorer = Callable[[Connection, Place, Mapping[str, str]], None]


def guard(connection: Connection, place: Place, environment: Mapping[str, str]) -> None:
    """Fork the scorer, wait for its end, end all that is left of it, and end as it did."""
    from zslplat.evaluation import nursery
    from zslplat.evaluation.child import child_main

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nursery.let_go()
    os.setsid()
    adopt_orphans()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ask_for_death_signal(signal.SIGTERM)
    os.environ.clear()
    os.environ.update(environment)
    leader = multiprocessing.parent_process()
    assert leader is not None
    printed, output = os.pipe() if place.log else (None, None)
    group = ControlGroup.made()
    scorer = os.fork()
    if scorer == 0:
        if group is not None:
            group.join()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for descriptor in (woken, wake, printed):
            if descriptor is not None:
                os.close(descriptor)
        _become(child_main, connection, place, environment, output)
    connection.close()
    log = None
    if output is not None and printed is not None and place.log is not None:
        os.close(output)
        os.set_blocking(printed, False)
        log = WorkerLog(place.log, printed)
    code = _watch(scorer, leader.sentinel, woken, log)
    if group is not None:
        group.end(_SWEEP_SECONDS)
    end_descendants()
    if log is not None:
        log.copy()
    _clear_up_after(leader.pid)
    end_like(code)


def _become(scorer: Scorer, connection: Connection, place: Place, environment: Any, output: int | None) -> None:
    """Be the scorer, in a session of its own, until it ends."""
    code = 1
    try:
        os.setsid()
        if output is not None:
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
        scorer(connection, place, environment)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _watch(scorer: int, leader: int, woken: int, log: WorkerLog | None) -> int:
    """Wait until the scorer, or whoever needs it, has ended; return the exit code, negative for a signal."""
    watched = [leader, woken, *([log.source] if log is not None else [])]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if log is not None and log.source in ready and not log.copy():
            watched.remove(log.source)
        if leader in ready:
            return -signal.SIGTERM
        if woken in ready:
            told = os.read(woken, 4096)
            for pid, code in _reaped():
                if pid == scorer:
                    return code
            if signal.SIGTERM in told:
                return -signal.SIGTERM


def _reaped() -> list[tuple[int, int]]:
    """Take note of children and orphans that have ended; return their numbers and exit codes."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return found


def end_descendants() -> None:
    """End all processes below this one, which adopts orphans.

    They are stopped before they are killed, so that none starts another meanwhile; whatever escaped the first look has
    become a child of this process by the next.
    """
    import psutil

    own, end = psutil.Process(), time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < end:
        found = own.children(recursive=True)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                with contextlib.suppress(psutil.Error, OSError):
                    process.send_signal(number)
        _reaped()
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        time.sleep(_PAUSE_SECONDS)


def _clear_up_after(leader: int | None) -> None:
    """Remove the address of the nursery of a leader that was killed."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        if leader is None or psutil.Process(leader).status() != psutil.STATUS_ZOMBIE:
            return
    remove_address()


def remove_address() -> None:
    """In a process of the nursery: remove its address, and the folder of that if nothing else is in it."""
    address = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_address", None)
    with contextlib.suppress(OSError):
        if isinstance(address, str) and address.startswith("/"):
            os.unlink(address)
            os.rmdir(os.path.dirname(address))
