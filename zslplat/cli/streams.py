"""Standard streams that are closed: a command without them ends as it does with them on ``/dev/null``."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any


def open_streams() -> None:
    """Open the streams that the program was started without (``>&-``), and keep on where nobody reads its messages.

    A result that cannot be written is an error; a message that cannot be is none, and a study goes on without it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free, which is the stream's own
            os.set_inheritable(number, True)
            stream = os.fdopen(number, mode, encoding="utf-8")
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    stderr = sys.stderr
    with contextlib.suppress(OSError):  # one that is no file
        buffer = io.BufferedWriter(_Messages(stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(buffer, stderr.encoding, "backslashreplace", line_buffering=True)


class _Messages(io.FileIO):
    """Standard error; from the first message on that cannot be written it leads to nothing."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return len(content)
