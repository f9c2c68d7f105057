"""What happens in the process that files are read in; :mod:`zslplat.data.reader_process` is the other side."""

from __future__ import annotations

import contextlib
import importlib
import json
import mmap
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

PIECE_BYTES = 1 << 23
IDLE_SECONDS = 10


def serve(shared: int) -> None:
    """Answer requests until nobody is there or nothing was asked for a while; ``shared`` is where arrays go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # What a library prints is no answer.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    requests = os.fdopen(0, "rb", buffering=0)
    side = _Side(requests, answers, mmap.mmap(shared, PIECE_BYTES))
    with contextlib.suppress(BrokenPipeError):
        while select.select([requests], [], [], IDLE_SECONDS)[0] and (line := side.line()):
            answers.write(b"taken\n")
            side.answer(json.loads(line))


class _Side:
    """The pipes and the shared memory of this process."""

    def __init__(self, requests: Any, answers: Any, shared: mmap.mmap) -> None:
        self._requests, self._answers, self._shared = requests, answers, shared

    def line(self) -> bytes:
        """Return a request, nothing where nobody asks any more."""
        found = bytearray()
        while not found.endswith(b"\n"):
            byte = self._requests.read(1 << 16)
            if not byte:
                return b""
            found += byte
        return bytes(found)

    def answer(self, wanted: dict[str, Any]) -> None:
        """Call what is wanted, and send what it returns or yields, or what it raises."""
        from pathlib import Path

        try:
            function = getattr(importlib.import_module(wanted["module"]), wanted["function"])
            bound_memory(int(wanted["memory"]))
            bound_time(int(wanted["seconds"]))
            found = function(Path(wanted["path"]), *wanted["arguments"])
            for one in found if isinstance(found, Iterator) else [found]:
                self._send_one(one)
                bound_time(int(wanted["seconds"]))
            self._say({"end": True})
        except BrokenPipeError:
            raise
        except BaseException as error:
            bound_memory(0)
            self._say({"error": type(error).__name__, "text": str(error)})
        finally:
            bound_memory(0)

    def _send_one(self, one: Any) -> None:
        if not isinstance(one, np.ndarray):
            self._say({"value": one})
            return
        one = np.ascontiguousarray(one) if one.ndim else one.copy()
        self._say({"array": [one.dtype.str, list(one.shape)]})
        content = one.reshape(-1).view(np.uint8).data if one.nbytes else memoryview(b"")
        for start in range(0, len(content), PIECE_BYTES):
            piece = content[start : start + PIECE_BYTES]
            self._shared[: len(piece)] = piece
            self._say({"piece": len(piece)})
            # Until the piece was taken the memory is not written to again.
            if not self._requests.read(1):
                raise BrokenPipeError

    def _say(self, message: dict[str, Any]) -> None:
        content = memoryview(json.dumps(message).encode() + b"\n")
        while content:
            content = content[self._answers.write(content) :]


def bound_memory(more: int) -> None:
    """Let this process take so many bytes more than it has now; 0 takes the bound away. Nothing beyond Linux."""
    if not sys.platform.startswith("linux"):
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = hard
    if more:
        with open("/proc/self/statm") as file:
            wanted = int(file.read().split()[0]) * mmap.PAGESIZE + more
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def bound_time(seconds: int) -> None:
    """Let the system end this process after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
