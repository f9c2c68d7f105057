"""A process that sees nothing but what it is asked for: what a method gives there, it must give here.

One process serves all checks; it imports the class, fits a new instance and returns the outputs. Each class meets one
problem only there, so that what a cache kept of another problem cannot get into the result.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from functools import lru_cache
from typing import Any, BinaryIO, cast

from zslplat.evaluation.workers.processes import THREAD_VARIABLES
from zslplat.methods.base import Arrays


def outputs_elsewhere(method: Any, arrays: Arrays) -> Arrays:
    """Return the outputs of a new instance with the method's parameters, fitted on the arrays in the other process.

    Raises AssertionError where the class is not importable there, or fails.
    """
    process = _process()
    request, answer = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    # The class by its name: an error to import it there is told apart from one of the process.
    content = pickle.dumps((pickle.dumps((type(method), method.get_params(deep=False))), arrays, sys.path))
    request.write(len(content).to_bytes(8, "big") + content)
    request.flush()
    size = answer.read(8)
    if len(size) < 8:
        _process.cache_clear()
        raise AssertionError(f"the process that fitted {type(method).__name__} ended, exit code {process.wait()}")
    actual = pickle.loads(answer.read(int.from_bytes(size, "big")))
    if isinstance(actual, str):
        raise AssertionError(f"in a process of its own: {actual}")
    return cast(Arrays, actual)


@lru_cache(maxsize=1)
def _process() -> subprocess.Popen[bytes]:
    # One thread, as methods have in trials: those of two processes would wait for each other.
    threads = dict.fromkeys(THREAD_VARIABLES, "1")
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", "from zslplat.testing.fresh_process import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )

    def end() -> None:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()

    atexit.register(end)
    return process


def serve() -> None:
    """Answer requests until the other side closes; what components print goes to standard error."""
    from zslplat.testing.kits import kit_of

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    while len(size := requests.read(8)) == 8:
        actual: Any
        try:
            request, arrays, path = pickle.loads(requests.read(int.from_bytes(size, "big")))
            sys.path[:] = path
            cls, parameters = pickle.loads(request)
            method = cls(**parameters)
            actual = kit_of(method.kind).apply(method, arrays)
        except BaseException as error:
            actual = f"{type(error).__name__}: {' '.join(str(error).split())}"
        content = pickle.dumps(actual)
        answers.write(len(content).to_bytes(8, "big") + content)
        answers.flush()
