"""How the processes of an evaluation begin and end: one thread of BLAS, deaf to Ctrl-C, gone with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import wait

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def die_with_parent(*, by_signal: bool = False) -> None:
    """End this process as soon as its parent has ended, however that came about.

    A thread watches the parent. Compiled code that never lets threads run would hold it up, so ``by_signal`` asks the
    kernel (Linux) as well; see :func:`ask_for_death_signal`.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    if by_signal:
        ask_for_death_signal()
    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


def ask_for_death_signal() -> None:
    """Ask the kernel (Linux) to kill this process as soon as the thread that forked it has ended."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal = 1
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


@contextlib.contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Start processes that never see Ctrl-C, not even while they start; one that comes meanwhile is handled after.

    A terminal sends Ctrl-C to the leader and all that it has started alike, but it is for the leader alone.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def one_thread_variables() -> Iterator[None]:
    """Let processes that are started inside use one thread in BLAS, OpenMP and numba."""
    saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def ending(code: int | None) -> tuple[str, bool]:
    """Return how a process with this exit code ended, in words, and whether somebody else may have killed it."""
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (is the machine out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}", name in ("SIGKILL", "SIGTERM")
    return f"its process ended with exit code {code}", False
