"""The log of a worker's processes: what they print, bounded however much that is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

# A log that grows beyond this becomes ``NAME.1``, in place of the one before, and a new one begins.
MOST_BYTES = 8 * 2**20
_AT_ONCE = 2**16


class WorkerLog:
    """Copies what comes out of a pipe (``source``, which does not block) to the end of a file that others write, too.

    What cannot be written, on a full disk say, is lost: no job waits for its log.
    """

    def __init__(self, path: Path, source: int) -> None:
        self.path, self.source = path, source
        self._file: int | None = None

    def copy(self) -> bool:
        """Copy what there is now, no more than :data:`MOST_BYTES`; False where nothing can come any more."""
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
                self._begin_anew()
            assert self._file is not None
            os.write(self._file, text)

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def _begin_anew(self) -> None:
        """Put the full log aside, unless another worker has done so already."""
        assert self._file is not None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._file)):
                os.replace(self.path, self.path.with_name(f"{self.path.name}.1"))
        os.close(self._file)
        self._file = None
        self._open()
