"""How the processes of an evaluation start and end: one thread of BLAS, deaf to Ctrl-C, ended with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from functools import cache
from multiprocessing.connection import wait
from typing import Any

# The iteration order of sets of texts can change results.
_HASHING = {"PYTHONHASHSEED": "0"}
# Torch's initial seed, so that importing it before or during a run makes no difference.
_TORCH_SEED = 67280421310721
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def die_with_parent() -> None:
    """End this process as soon as its parent has ended, however that happens: a thread watches the parent.

    Compiled code that does not release the interpreter delays it; see :func:`ask_for_death_signal`.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


def seed_generators(seed: int) -> None:
    """Seed the global generators of ``random`` and NumPy; that of torch, where it is imported, as torch begins."""
    import random

    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(_TORCH_SEED)


def ask_for_death_signal(number: int = signal.SIGKILL) -> None:
    """Ask the kernel (Linux) for a signal to this process as soon as the thread that forked it has ended."""
    _prctl(1, number)  # PR_SET_PDEATHSIG


def adopt_orphans() -> None:
    """Ask the kernel (Linux) to make this process the parent of orphans below it."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            _c_library().prctl(option, value, 0, 0, 0)


@cache
def _c_library() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def exit_like(code: int) -> None:
    """Exit with the exit code, or by the signal, that another process ended with; never returns."""
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the scorer has dumped its core, if that is enabled
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(abs(code))


def has_children(group: int | None = None) -> bool:
    """Tell whether this process has children or adopted orphans, in a process group if one is named."""
    try:
        kind, number = (os.P_ALL, 0) if group is None else (os.P_PGID, group)
        os.waitid(kind, number, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


@contextlib.contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Start processes that never see Ctrl-C, not even while they start; a Ctrl-C meanwhile is handled afterwards.

    A terminal sends Ctrl-C to the leader and to everything that it has started, but it is meant for the leader alone.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def one_thread_variables() -> Iterator[None]:
    """Let processes that are started inside use one thread in BLAS, OpenMP and numba, and hash texts alike."""
    with environment_variables({**dict.fromkeys(THREAD_VARIABLES, "1"), **_HASHING}):
        yield


@contextlib.contextmanager
def environment_variables(values: Mapping[str, str]) -> Iterator[None]:
    """Let processes that are started inside have these environment variables."""
    saved = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_main_lock = threading.Lock()


@contextlib.contextmanager
def without_main_module() -> Iterator[None]:
    """Start processes by multiprocessing that do not run the program's main module, as they otherwise would.

    They need nothing of it, and a script, or the cells of a notebook, would run again in each of them.
    """
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def describe_exit(code: int | None) -> tuple[str, bool]:
    """Return how a process with this exit code ended, in words, and whether it may have been killed from outside."""
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (is the machine out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}", name in ("SIGKILL", "SIGTERM")
    return f"its process ended with exit code {code}", False
