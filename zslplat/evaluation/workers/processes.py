"""How the processes of an evaluation start and end: one thread of BLAS, deaf to Ctrl-C, ended with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from multiprocessing.connection import wait

# The iteration order of sets of texts can change results.
_HASHING = {"PYTHONHASHSEED": "0"}
# Torch's initial seed, so that importing it before or during a run makes no difference.
_TORCH_SEED = 67280421310721
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def die_with_parent() -> None:
    """End this process as soon as its parent has ended, however that happens: a thread watches the parent.

    Compiled code that does not release the interpreter delays it; see :func:`zslplat.platforms.ask_for_death_signal`.
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
