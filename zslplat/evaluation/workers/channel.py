"""Messages between two processes, with their arrays in shared memory.

A message is pickled; the content of its arrays goes through memory that both processes have mapped. Arrays up to
``SEPARATE_BYTES`` share a region, out of which the receiver copies them, so that it is free again at once. A larger
array gets memory of its own, which the receiver uses without a copy. The memory has no name in the file system and is
freed when the processes end, however they end.

The receiver gets the elements of the arrays that were sent, and nothing of larger arrays that they are part of.
"""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import pickle
import select
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from zslplat.errors import StoreError
from zslplat.platforms import FORKS, WINDOWS

IN_BAND_BYTES = 2**14
SEPARATE_BYTES = 2**23
MOST_SEPARATE = 100
_TOGETHER = 200  # descriptors per message; the system takes about 250
# Longer than most answers take, and short enough not to delay other processes.
LOOK_SECONDS = 0.0003
_ALIGNED = 64
_yield_processor = getattr(os, "sched_yield", lambda: None)  # not on all systems

Reduce = Callable[[Any], Any]
FindClass = Callable[[str, str], Any]
File = Any  # the descriptor of an open file; on Windows a path


@dataclass(frozen=True)
class Packed:
    """A message that is ready to be sent: its pickled ``body`` and the buffers of its arrays."""

    body: bytes
    buffers: Sequence[memoryview]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, reduce: Reduce, keep: Callable[[pickle.PickleBuffer], bool]) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)
        self._reduce = reduce

    def reducer_override(self, value: Any) -> Any:
        reduced = self._reduce(value)
        if reduced is NotImplemented and type(value) is np.ndarray and not value.flags.forc:
            # Gaps between elements must not be sent, and pickle is slow for such an array.
            return np.ascontiguousarray(value).__reduce_ex__(5)
        return reduced


class _Unpickler(pickle.Unpickler):
    def __init__(self, body: bytes, buffers: Sequence[Any], find_class: FindClass | None) -> None:
        super().__init__(io.BytesIO(body), buffers=buffers)
        self._find_class = find_class

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(module, name) if self._find_class is None else self._find_class(module, name)


def pack(value: Any, reduce: Reduce = lambda value: NotImplemented) -> Packed:
    """Pickle a message; ``reduce`` may say how an object is reduced, as ``reducer_override`` of a pickler does."""
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < IN_BAND_BYTES:
            return True
        buffers.append(raw)
        return False

    file = io.BytesIO()
    _Pickler(file, reduce, keep).dump(value)
    return Packed(file.getvalue(), buffers)


def open_files(paths: Sequence[str]) -> Sequence[File]:
    """Return descriptors of files, or their paths on Windows; raises :class:`StoreError` where one cannot be opened."""
    if WINDOWS:
        return paths
    with contextlib.ExitStack() as opened, _faults_of_the_system():
        descriptors = []
        for path in paths:
            descriptors.append(os.open(path, os.O_RDONLY))
            opened.callback(os.close, descriptors[-1])
        opened.pop_all()
    return descriptors


@contextlib.contextmanager
def _end_of_connection() -> Iterator[None]:
    """Raise EOFError where the other end is closed."""
    try:
        yield
    except OSError as error:
        raise EOFError("the other end is closed") from error


@contextlib.contextmanager
def _faults_of_the_system() -> Iterator[None]:
    """Raise :class:`StoreError` where a file is gone, or memory or descriptors run out: no fault of a method."""
    try:
        yield
    except OSError as error:
        where = f" in {error.filename}" if error.filename else ""
        raise StoreError(
            f"the rows{where} cannot be read: {error.strerror or error}; give the same command again"
        ) from error


class SharedChannel:
    """One end of a connection; the two ends take turns, so a message is read before the next one is written.

    Both methods raise EOFError where the other end is closed, and :class:`StoreError` where memory or descriptors run
    out or a file is gone.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        self._ours: mmap.mmap | None = None
        self._theirs: mmap.mmap | None = None

    def send(self, packed: Packed, files: Sequence[File] = ()) -> None:
        """Send a message and the descriptors of open files, which are closed here, also after an error."""
        memories: list[int] = []
        try:
            with _faults_of_the_system():
                places, region = self._place(packed.buffers, memories)
            content = packed.body, places, region, len(memories), len(files)
            descriptors = [*memories, *files]
            with _end_of_connection():
                self.connection.send_bytes(pickle.dumps(content, protocol=5))
                for start in range(0, len(descriptors), _TOGETHER):
                    socket.send_fds(self._socket, [b"f"], descriptors[start : start + _TOGETHER])
                    # macOS loses a file that is closed before it is received.
                    if not FORKS and not self._socket.recv(1):
                        raise EOFError("the other end is closed")
        finally:
            for descriptor in (*memories, *files):
                os.close(descriptor)

    def _place(self, buffers: Sequence[memoryview], memories: list[int]) -> tuple[list[tuple[int, int]], int]:
        """Write arrays to shared memory: return their places and the bytes of a new region, zero for the earlier one.

        A place is (offset in the region, or -1 for memory of its own; bytes). ``memories`` is filled with descriptors
        of new memory, that of the region first.
        """
        places: list[tuple[int, int]] = []
        used = 0
        for buffer in buffers:
            if (buffer.nbytes > SEPARATE_BYTES or used + buffer.nbytes > 2 * SEPARATE_BYTES) and len(
                memories
            ) < MOST_SEPARATE:
                places.append((-1, buffer.nbytes))
                memories.append(_memory())
                _write(memories[-1], buffer)
            else:
                places.append((used, buffer.nbytes))
                used += -(-buffer.nbytes // _ALIGNED) * _ALIGNED
        region = 0
        if used > (len(self._ours) if self._ours is not None else 0):
            region = max(2**20, 1 << (used - 1).bit_length())
            memories.insert(0, _memory())
            os.ftruncate(memories[0], region)
            self._ours = mmap.mmap(memories[0], region)
        for (offset, size), buffer in zip(places, buffers, strict=True):
            if offset >= 0:
                assert self._ours is not None
                _bytes_of(self._ours, offset, size)[:] = np.frombuffer(buffer, dtype=np.uint8)
        return places, region

    def receive(self, find_class: FindClass | None = None, files: list[File] | None = None) -> Any:
        """Return the next message; ``find_class`` looks up the names in it.

        ``files`` is filled with the descriptors of the files that came with it, before any name is looked up.
        """
        self._look_for_a_moment()
        descriptors: list[int] = []
        with _end_of_connection():
            body, places, region, count, count_of_files = pickle.loads(self.connection.recv_bytes())
            expected = count + count_of_files
            for start in range(0, expected, _TOGETHER):  # all of them, so that the next message begins where it should
                descriptors += self._receive_files(min(expected - start, _TOGETHER))
        if len(descriptors) < expected:
            for descriptor in descriptors:
                os.close(descriptor)
            with _faults_of_the_system():
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        if files is not None:
            files[:] = descriptors[count:]
        del descriptors[count:]
        with _faults_of_the_system():
            try:
                waiting = iter(descriptors)
                if region:
                    self._theirs = mmap.mmap(next(waiting), region)
                buffers = []
                for offset, size in places:
                    if offset < 0:
                        buffers.append(np.frombuffer(mmap.mmap(next(waiting), size), dtype=np.uint8))
                    else:
                        assert self._theirs is not None
                        buffers.append(np.array(_bytes_of(self._theirs, offset, size)))
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            return _Unpickler(body, buffers, find_class).load()

    def _receive_files(self, count: int) -> list[int]:
        content, descriptors, _, _ = socket.recv_fds(self._socket, 1, count)
        if not content:
            raise EOFError("the other end is closed")
        if not FORKS:
            self._socket.send(b"r")
        return descriptors

    def _look_for_a_moment(self) -> None:
        """Poll for a message for a moment, yielding the processor in between: most messages are there at once.

        Sleeping and being woken takes longer, a millisecond on virtual machines.
        """
        end = time.perf_counter() + LOOK_SECONDS
        while not self._poll.poll(0) and time.perf_counter() < end:
            _yield_processor()

    def detach(self) -> None:
        """Release the connection without closing it."""
        self._socket.close()


class CopyingChannel:
    """A channel between processes that cannot hand each other memory or open files, on Windows.

    Arrays are copied through the connection, at most 4 GB in one message, and files are named by their paths.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def send(self, packed: Packed, files: Sequence[File] = ()) -> None:
        """Send a message and the paths of files; raises EOFError where the other end is closed."""
        content = packed.body, [bytearray(buffer) for buffer in packed.buffers], list(files)
        with _end_of_connection():
            self.connection.send_bytes(pickle.dumps(content, protocol=5))

    def receive(self, find_class: FindClass | None = None, files: list[File] | None = None) -> Any:
        """Return the next message; raises as :class:`SharedChannel` does."""
        with _end_of_connection():
            body, buffers, paths = pickle.loads(self.connection.recv_bytes())
        if files is not None:
            files[:] = paths
        with _faults_of_the_system():
            return _Unpickler(body, buffers, find_class).load()

    def detach(self) -> None:
        """Do nothing: the connection is all that there is."""


Channel = CopyingChannel if WINDOWS else SharedChannel


def _bytes_of(region: mmap.mmap, offset: int, size: int) -> np.ndarray:
    return np.frombuffer(region, dtype=np.uint8, count=size, offset=offset)


def _memory() -> int:
    """Return the descriptor of memory without a name, which is empty."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("zslplat", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write(descriptor: int, buffer: memoryview) -> None:
    position = 0
    while position < buffer.nbytes:
        position += os.pwrite(descriptor, buffer[position : position + 2**30], position)
