"""The process that ends everything a job has started when the job's scorer ends. Linux only.

    leader ── fork server ── guardian ── scorer ── host ── method process ── what a method starts

A process that a method starts may leave its group and session and outlive its parent, so neither the group nor a walk
down from the method process finds all of them. The kernel hands orphans to their nearest ancestor that asks for them
(``PR_SET_CHILD_SUBREAPER``). The guardian asks, so everything that comes from its scorer stays below it. It runs no
other code, and ends, with everything below it, on SIGTERM or when its scorer, the fork server or the leader has ended.
It has a session of its own, so a signal to the leader's group does not end it.

What the processes print passes through the guardian into a log of bounded size.
"""

from __future__ import annotations

import contextlib
import gc
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
from pathlib import Path
from typing import Any

from zslplat.evaluation.jobs import WorkerSettings
from zslplat.platforms import adopt_orphans, ask_for_death_signal, exit_like, fork

# How long it tries to end processes that the kernel holds or that belong to another user.
_END_SECONDS = 10.0
_PAUSE_SECONDS = 0.002

Scorer = Callable[[Connection, WorkerSettings, Mapping[str, str]], None]


def guard(connection: Connection, settings: WorkerSettings, environment: Mapping[str, str]) -> None:
    """Fork the scorer, wait until it ends, end everything that is left of it, and exit as it did."""
    from zslplat.evaluation.workers import fork_server
    from zslplat.evaluation.workers.scorer import score_jobs

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the server has imported stays, and its pages unwritten; the server itself collects no garbage.
    gc.freeze()
    gc.enable()
    fork_server.release_server()
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
    printed, output = os.pipe() if settings.log else (None, None)
    scorer = fork()
    if scorer == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for descriptor in (woken, wake, printed):
            if descriptor is not None:
                os.close(descriptor)
        _run_scorer(score_jobs, connection, settings, environment, output)
    connection.close()
    log = None
    if output is not None and printed is not None and settings.log is not None:
        os.close(output)
        os.set_blocking(printed, False)
        log = WorkerLog(settings.log, printed)
    code = _watch(scorer, leader.sentinel, woken, log)
    end_descendants()
    if log is not None:
        log.copy()
    _clear_up_after(leader.pid)
    exit_like(code)


def _run_scorer(
    scorer: Scorer, connection: Connection, settings: WorkerSettings, environment: Any, output: int | None
) -> None:
    """Run the scorer in a session of its own until it ends."""
    code = 1
    try:
        os.setsid()
        if output is not None:
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
        scorer(connection, settings, environment)
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
    """Wait until the scorer or the leader has ended; return the exit code, negative for a signal."""
    watched = [leader, woken, *([log.source] if log is not None else [])]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if log is not None and log.source in ready and not log.copy():
            watched.remove(log.source)
        if leader in ready:
            return -signal.SIGTERM
        if woken in ready:
            signals = os.read(woken, 4096)
            for pid, code in _collect_ended():
                if pid == scorer:
                    return code
            if signal.SIGTERM in signals:
                return -signal.SIGTERM


def _collect_ended() -> list[tuple[int, int]]:
    """Collect the children and orphans that have ended; return their process numbers and exit codes."""
    exits = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            exits.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return exits


def end_descendants() -> None:
    """End all processes below this one, which adopts orphans.

    They are stopped before they are killed, so that none starts another meanwhile. A process that escaped one round has
    become a child of this process by the next.
    """
    import psutil

    guardian, end = psutil.Process(), time.monotonic() + _END_SECONDS
    while time.monotonic() < end:
        descendants = guardian.children(recursive=True)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in descendants:
                with contextlib.suppress(psutil.Error, OSError):
                    process.send_signal(number)
        _collect_ended()
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        time.sleep(_PAUSE_SECONDS)


def _clear_up_after(leader: int | None) -> None:
    """Remove the socket of the fork server if its leader was killed."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        if leader is None or psutil.Process(leader).status() != psutil.STATUS_ZOMBIE:
            return
    remove_address()


def remove_address() -> None:
    """In a process of the fork server: remove its socket, and the folder of the socket if it is empty then."""
    address = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_address", None)
    with contextlib.suppress(OSError):
        if isinstance(address, str) and address.startswith("/"):
            os.unlink(address)
            os.rmdir(os.path.dirname(address))


# A log that grows beyond this is renamed to ``NAME.1``, replacing the one before, and a new one begins.
MOST_BYTES = 8 * 2**20
_AT_ONCE = 2**16


class WorkerLog:
    """Appends what comes out of a pipe (``source``, non-blocking) to a file that other workers write as well.

    What cannot be written, to a full disk for example, is lost: no job waits for its log.
    """

    def __init__(self, path: Path, source: int) -> None:
        self.path, self.source = path, source
        self._file: int | None = None

    def copy(self) -> bool:
        """Copy what has come, at most :data:`MOST_BYTES`; return False when the pipe is closed."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(MOST_BYTES // _AT_ONCE):
                text = os.read(self.source, _AT_ONCE)
                if not text:
                    return False
                self._write(text)
        return True

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):
            if self._file is None:
                self._open()
            elif os.fstat(self._file).st_size >= MOST_BYTES:
                self._rotate()
            assert self._file is not None
            os.write(self._file, text)

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def _rotate(self) -> None:
        """Move the full log aside, unless another worker has already done so."""
        assert self._file is not None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._file)):
                os.replace(self.path, self.path.with_name(f"{self.path.name}.1"))
        os.close(self._file)
        self._file = None
        self._open()
