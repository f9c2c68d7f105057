"""The process that scorers are forked off: it has imported what jobs need, and does nothing else. Linux only.

It is a ``forkserver`` as multiprocessing has it, but a separate one: a program that uses zslplat and multiprocessing's
own fork server keeps that as it is, with its imports, its environment and its signals.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from multiprocessing import forkserver, popen_forkserver, reduction, spawn, util
from multiprocessing.context import set_spawning_popen
from multiprocessing.process import BaseProcess, current_process
from typing import Any

from zslplat.evaluation.workers.processes import environment_variables

_util: Any = util
_MOST_ADDRESS = 104  # bytes of a socket's address on macOS, 108 on Linux


class _Server(forkserver.ForkServer):
    """A fork server that knows whether it has forked a process yet; before that it may still be importing."""

    _forkserver_pid: int | None
    forked: int | None = None  # the number of the server that has forked a process

    def ensure_running(self) -> None:
        """Start the server unless it runs; multiprocessing calls this too, where a server has been killed."""
        # The server must not import from its working folder, where files may have the names of installed modules.
        # Processes that it forks get the search path and the environment of the program.
        settings = {"PYTHONSAFEPATH": "1", "ZSLPLAT_LEADER": str(os.getpid())}
        with _short_address(), _plain_path(), environment_variables(settings):
            super().ensure_running()

    def launched(self, status: int) -> int:
        """Return the number of the process that was requested; raises EOFError where the server ends before."""
        pid: int = forkserver.read_signed(status)
        self.forked = self._forkserver_pid
        return pid

    def give_up(self) -> None:
        """End the server if it has not forked a process yet."""
        pid = self._forkserver_pid
        if pid is not None and self.forked != pid:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


_server = _Server()


class _ForkServerPopen(popen_forkserver.Popen):
    """multiprocessing's Popen, with our server; raises EOFError or OSError where the server ends meanwhile."""

    def _launch(self, process_obj: Any) -> None:
        content = io.BytesIO()
        # Leave out the main module: a script would run again.
        preparation = spawn.get_preparation_data(process_obj.name)
        prepared = {key: value for key, value in preparation.items() if not key.startswith("init_main")}
        set_spawning_popen(self)
        try:
            reduction.dump(prepared, content)
            reduction.dump(process_obj, content)
        finally:
            set_spawning_popen(None)
        write_end: int
        self.sentinel, write_end = _server.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        # The process notices the end of its parent by this pipe.
        watched = os.dup(write_end)
        self.finalizer = util.Finalize(self, _util.close_fds, (watched, self.sentinel))
        with open(write_end, "wb", closefd=True) as file:
            file.write(content.getbuffer())
        self.pid = _server.launched(self.sentinel)

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        code: int | None = super().poll(flag)
        # The fork server has ended, and with it everything that it forked.
        return -signal.SIGKILL if code == 255 else code


class ForkedProcess(BaseProcess):
    """A process forked off the fork server; it is no daemon, even where the process that starts it is one.

    Worker processes of a Dask nanny are daemons, and multiprocessing forbids daemons to start processes because it
    could not end these. A process of the fork server ends with its parent by itself.
    """

    _start_method = "forkserver"

    def __init__(self, *, target: Any, args: tuple[Any, ...]) -> None:
        super().__init__(target=target, args=args, daemon=False)

    def start(self) -> None:
        """Have the fork server fork it; not safe from several threads at once."""
        config: dict[str, Any] = current_process()._config  # type: ignore[attr-defined]
        daemon = config.pop("daemon", None)
        try:
            super().start()
        finally:
            if daemon is not None:
                config["daemon"] = daemon

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # the name is multiprocessing's
        return _ForkServerPopen(process_obj)


def begin(modules: Sequence[str]) -> None:
    """Start the fork server with these modules to import, unless it runs already; does not wait for it."""
    global _server
    if _server._forkserver_pid is None:
        atexit.register(give_up)
    _server.set_forkserver_preload(["zslplat.evaluation.workers.fork_server_exit", *modules])
    try:
        _server.ensure_running()
    except ChildProcessError:  # it has ended, and other code has collected its exit status
        _server = _Server()
        begin(modules)


@contextlib.contextmanager
def _short_address() -> Iterator[None]:
    """Put the server's socket elsewhere if the name of the temporary folder is too long for a socket address."""
    config: dict[str, Any] = current_process()._config  # type: ignore[attr-defined]
    usual = config.get("tempdir")
    folder = usual or os.path.join(tempfile.gettempdir(), "pymp-12345678")
    short = None
    if len(os.fsencode(os.path.join(folder, "listener-12345678"))) >= _MOST_ADDRESS:
        short = _short_folder(os.getpid())
    if short is None:
        yield
        return
    config["tempdir"] = short
    try:
        yield
    finally:
        config["tempdir"] = usual


@contextlib.contextmanager
def _plain_path() -> Iterator[None]:
    """Leave entries that are no text out of the search path: Python ignores them, multiprocessing cannot send them."""
    before = sys.path
    sys.path = [entry for entry in before if isinstance(entry, str)]
    try:
        yield
    finally:
        sys.path = before


@cache
def _short_folder(process: int) -> str | None:
    """Make a folder with a short name for this process, removed when it ends; None where none can be made."""
    for parent in ("/tmp", "/var/tmp", "/dev/shm"):
        with contextlib.suppress(OSError):
            folder = tempfile.mkdtemp(prefix="pymp-", dir=parent)
            util.Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=-100)
            return folder
    return None


def give_up() -> None:
    """End the fork server if it is still importing; a thread that waits for one of its processes gets EOFError."""
    _server.give_up()


def release_server() -> None:
    """In a process of the fork server: let the server end with the program that started it, and this process with it.

    The server lives while a process holds the pipe that each of its processes inherits, which is internal to
    multiprocessing. Where the attribute has another name, the watch over the parent does the same, unless compiled code
    delays it.
    """
    with contextlib.suppress(AttributeError, TypeError, OSError):
        server: Any = forkserver._forkserver
        pipe, server._forkserver_alive_fd = server._forkserver_alive_fd, None
        os.close(pipe)
