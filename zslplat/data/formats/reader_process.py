"""Files are read in a process of their own, so that a crash of a C library on a damaged file ends that process alone.

The readers of SciPy, HDF5 and Arrow trust what a file says of itself; a flipped bit can end in a segmentation fault,
in a loop without end, or in a request for all memory. :class:`Form` calls a function in a second
process, which is kept for the next calls, ends by itself when nothing is asked for a while, and is bounded in memory
and, for every answer, in processor time. Arrays come back in pieces through shared memory, so that a stream of blocks
holds no more here than one of them; everything else comes back as JSON, never as Python objects. :func:`serve` is the
loop of the second process.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import mmap
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from zslplat.data.formats.bounds import free_bytes
from zslplat.errors import DataError, MissingDataError

PIECE_BYTES = 1 << 23

IDLE_SECONDS = 10


def serve(shared: int) -> None:
    """Answer requests until the other process ends or sends none for a while; ``shared`` is where arrays go."""
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
        """Return a request, nothing where the other process has ended."""
        received = bytearray()
        while not received.endswith(b"\n"):
            byte = self._requests.read(1 << 16)
            if not byte:
                return b""
            received += byte
        return bytes(received)

    def answer(self, request: dict[str, Any]) -> None:
        """Call what is wanted, and send what it returns or yields, or what it raises."""
        from pathlib import Path

        try:
            function = getattr(importlib.import_module(request["module"]), request["function"])
            bound_memory(int(request["memory"]))
            bound_time(int(request["seconds"]))
            result = function(Path(request["path"]), *request["arguments"])
            for one in result if isinstance(result, Iterator) else [result]:
                self._send_one(one)
                bound_time(int(request["seconds"]))
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
    limit = hard
    if more:
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * mmap.PAGESIZE + more
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def bound_time(seconds: int) -> None:
    """Let the system end this process after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


SECONDS = 20  # of processor time for an answer, and another one for every megabyte of the file

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from zslplat.data.formats.reader_process import serve; "
    "serve(int(sys.argv[2]))"
)


T = TypeVar("T")


@dataclass(frozen=True)
class Form:
    """A form of files that is read in the reading process.

    ``name`` is what messages call a file of it, ``repair`` what is to be done about one that cannot be read.
    """

    name: str
    repair: str

    def read(self, function: Callable[..., T], path: Path, *arguments: Any) -> T:
        """Return ``function(path, *arguments)``, called in the reading process: an array, or what JSON can hold.

        ``function`` stands at the top of a module; the arguments are what JSON can hold. Errors of the package that it
        raises are raised here as they are. Raises :meth:`unreadable` for all others, and where the process died, took
        more processor time than any honest file of this size does, or needed more memory than is free.
        """
        (answer,) = _answers(function, path, arguments, self)
        result: T = answer
        return result

    def stream(
        self, function: Callable[..., Iterator[np.ndarray]], path: Path, *arguments: Any
    ) -> Iterator[np.ndarray]:
        """Yield what the generator ``function(path, *arguments)`` yields in the reading process: arrays.

        The next one is made there while the last one is looked at here. Raises what :meth:`read` does.
        """
        return _answers(function, path, arguments, self)

    def unreadable(self, path: Path, reason: str) -> DataError:
        """Return the error about a file that cannot be read."""
        return DataError(f"{path}: cannot be read as {self.name} ({reason}); {self.repair}")


def _answers(function: Callable[..., Any], path: Path, arguments: tuple[Any, ...], form: Form) -> Iterator[Any]:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise form.unreadable(path, error.strerror or str(error)) from error
    seconds, memory = SECONDS + size // 10**6, free_bytes()
    request = {
        "module": function.__module__,
        "function": function.__qualname__,
        "path": str(path.absolute()),  # the other process may have begun elsewhere
        "arguments": arguments,
        "seconds": seconds,
        "memory": memory,
    }
    reader = _POOL.take()
    if not reader.ask(request):
        # It had waited long enough and was about to end.
        reader.close()
        reader = _Reader()
        reader.ask(request)
    whole = False
    try:
        while (message := reader.next_message()) is not None:
            whole = "error" in message or "end" in message
            if "error" in message:
                raise _raised(message, path, form, memory)
            if "end" in message:
                return
            result = reader.array(*message["array"]) if "array" in message else message["value"]
            if result is _ENDED:
                break
            yield result
        raise form.unreadable(path, _death(reader.exit_code(), seconds))
    finally:
        # One that was left in the middle of an answer is of no more use.
        if whole:
            _POOL.give_back(reader)
        else:
            reader.close()


_ENDED = object()


class _Reader:
    """A reading process, its pipes, and the memory that arrays come through."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._file = _shared_file()
        os.ftruncate(self._file, PIECE_BYTES)
        self._shared = mmap.mmap(self._file, PIECE_BYTES)
        # What is no text in the search path Python ignores, too.
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        command = [sys.executable, "-P", "-c", _START, path, str(self._file)]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            # Ctrl-C is for this process, which ends the other one; libraries in C write what they die of.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(self._file,),
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        except OSError as error:
            os.close(self._file)
            raise DataError(f"no process can be started to read files in: {error.strerror or error}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def ask(self, request: dict[str, Any]) -> bool:
        """Send a request; False where the process has ended already."""
        return self._send(json.dumps(request).encode() + b"\n") and bool(self._answers.readline())

    def _send(self, content: bytes) -> bool:
        try:
            self._requests.write(content)
            self._requests.flush()
        except BrokenPipeError:
            return False
        return True

    def next_message(self) -> dict[str, Any] | None:
        """Return the next message, None where none comes any more."""
        line = self._answers.readline()
        message: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return message

    def exit_code(self) -> int:
        """Return how the process ended."""
        return self._process.wait()

    def array(self, dtype: str, shape: list[int]) -> Any:
        """Return an array that comes in pieces."""
        filled: np.ndarray = np.empty(shape, dtype=dtype)
        content = filled.reshape(-1).view(np.uint8).data if filled.nbytes else memoryview(b"")
        start = 0
        while start < len(content):
            message = self.next_message()
            if message is None:
                return _ENDED
            length = int(message["piece"])
            content[start : start + length] = memoryview(self._shared)[:length]
            start += length
            self._send(b"n")
        return filled

    def close(self) -> None:
        """End the process, whatever it does."""
        if os.getpid() != self.owner:
            return
        self._process.kill()
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        self._process.wait()
        self._shared.close()
        os.close(self._file)


class _Pool:
    """Reading processes that have nothing to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []

    def take(self) -> _Reader:
        """Return one of them, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _Reader()

    def give_back(self, reader: _Reader) -> None:
        """Keep one for the next request; more are not kept."""
        with self._lock:
            if reader.owner == os.getpid() and not self._idle:
                self._idle.append(reader)
                return
        reader.close()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def forget(self) -> None:
        """Leave those of the parent alone, in a process that was forked off it."""
        self._lock, self._idle = threading.Lock(), []


_POOL = _Pool()

atexit.register(_POOL.close)

os.register_at_fork(after_in_child=_POOL.forget)


def _shared_file() -> int:
    """Return the descriptor of a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("zslplat")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _death(code: int, seconds: int) -> str:
    if code == -signal.SIGXCPU:
        return f"it took more than {seconds} s of processor time, as no sound file of this size does"
    if code == -signal.SIGKILL:
        return "the process that read it was killed: is the machine out of memory?"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"exit code {code}"
    return f"it ended the process that read it: {name}"


def _raised(message: dict[str, Any], path: Path, form: Form, memory: int) -> DataError:
    """Return the error for what was raised there: one of the package by its name."""
    if message["error"] == "MemoryError":
        return form.unreadable(path, f"reading it takes more than the {memory / 1e9:.3g} GB of memory that are free")
    kind = next((kind for kind in (DataError, MissingDataError) if kind.__name__ == message["error"]), None)
    if kind is not None:
        return kind(message["text"])
    return form.unreadable(path, " ".join(message["text"].split()) or message["error"])
