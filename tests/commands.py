"""Commands that run in processes of their own, forked from one that has the heavy imports behind it."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import sys
import time
from multiprocessing import forkserver, resource_tracker, util

import psutil
from support import Done

from zslplat.evaluation.workers.scorer import FORKED_WITH

HEAVY = (
    *("zslplat.cli.app", "zslplat.tuning.study", "zslplat.tuning.sweep", "zslplat.comparison.compare"),
    *("mlflow.tracking", "mlflow.store.tracking.sqlalchemy_store", "mlflow.store.db_migrations"),
    *("optuna.storages", "optuna.samplers", "alembic.command", *FORKED_WITH),
)


def process_with_imports():
    """Return the context of multiprocessing whose processes begin with the imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(HEAVY))
    forkserver.ensure_running()
    return context


class Leader:
    """A running command: its process, what it has printed, and the processes that it has started."""

    def __init__(self, process, out, err):
        self.process, self.out, self.err = process, out, err

    def wait_for(self, text, timeout=800):
        """Wait until the text has been printed on standard error."""
        end = time.monotonic() + timeout
        while not self.err.exists() or text not in self.err.read_text():
            printed = self.err.read_text() if self.err.exists() else ""
            assert self.process.is_alive(), printed
            assert time.monotonic() < end, printed
            time.sleep(0.02)

    def wait_for_lines(self, count, timeout=800):
        """Wait until so many lines have been printed on standard error, or the end."""
        end = time.monotonic() + timeout
        while self.process.is_alive() and time.monotonic() < end:
            if self.err.exists() and self.err.read_text().count("\n") >= count:
                return
            time.sleep(0.02)

    def interrupt(self):
        """Press Ctrl-C: the signal goes to the command and all that it has started. Return how long it took to end."""
        return self._end(lambda: os.killpg(self.process.pid, signal.SIGINT))

    def kill(self):
        """Kill the command itself, and nothing that it has started."""
        return self._end(self.process.kill)

    def _end(self, how):
        tree = psutil.Process(self.process.pid).children(recursive=True) if self.process.is_alive() else []
        start = time.monotonic()
        how()
        self.process.join(800)
        took = time.monotonic() - start
        end = time.monotonic() + 800
        while (left := [process for process in tree if runs(process)]) and time.monotonic() < end:
            time.sleep(0.02)
        assert not left, left
        return took

    def wait(self, timeout=800):
        """Wait for the end and return the :class:`Done`."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, f"still running after {timeout} s: {self.err.read_text()}"
        return Done(self.process.exitcode, self.out.read_text(), self.err.read_text())

    def fork_servers(self):
        """Return the process that workers are forked off, where it is there."""
        return _started_by(self.process.pid)

    def all_started(self):
        """Return all processes that the command has started, and they."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def guardians(self):
        """Return the processes that keep together what workers start."""
        return [guardian for server in self.fork_servers() for guardian in _started_by(server.pid)]

    def workers(self):
        """Return the worker processes."""
        return [worker for guardian in self.guardians() for worker in _started_by(guardian.pid)]

    def hosts(self):
        """Return the processes that those are forked off in which methods run."""
        return [host for worker in self.workers() for host in _started_by(worker.pid)]

    def children(self):
        """Return the processes in which methods run."""
        return [child for host in self.hosts() for child in _started_by(host.pid)]


def runs(process):
    """Tell whether a process has not ended; one that has may wait for long to be taken note of."""
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def _started_by(pid):
    try:
        return [p for p in psutil.Process(pid).children() if "forkserver" in " ".join(p.cmdline())]
    except psutil.Error:
        return []


class _Spare:
    """A process that becomes the command's fork server when that is started: it has the imports of a fresh one behind
    it.

    It is forked before the command begins, holds nothing of it, and ends with it.
    """

    def __init__(self):
        self.channel, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self.channel.close()
            self._wait(theirs)
        theirs.close()

    def stand_in(self):
        """Be what is started in place of the first fresh interpreter that is to serve as a fork server."""
        start = util.spawnv_passfds

        def started(path, arguments, passed):
            if self.channel is None or "forkserver import main" not in str(arguments[-1]):
                return start(path, arguments, passed)
            channel, self.channel = self.channel, None
            with channel:
                try:
                    socket.send_fds(channel, [arguments[-1].encode()], list(passed))
                except OSError:  # it was killed before the command could want it
                    return start(path, arguments, passed)
            return self.pid

        util.spawnv_passfds = started

    @staticmethod
    def _wait(channel):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.set_wakeup_fd(-1)
        try:
            code, passed, *_ = socket.recv_fds(channel, 1 << 20, 2)
            channel.close()
            if code:
                listener, alive = passed
                exec(re.sub(r"main\(\d+, \d+", f"main({listener}, {alive}", code.decode()), {})
        except SystemExit:
            pass
        finally:
            os._exit(0)


def lead(arguments, cwd, environment, out, err, prepare=None):
    """Be the command, in a session of its own; ``prepare`` is called before anything of it runs."""
    # Ctrl-C before it begins is none of its own: a program of its own ends in the interpreter's start then.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    sys.argv = ["zslplat", *arguments]
    if prepare is not None:
        prepare()
    # A tracker of its own, as a program that was started by itself has.
    resource_tracker._resource_tracker.__init__()
    _Spare().stand_in()
    from zslplat.cli import main

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        main()
    finally:
        sys.stdout.flush()
