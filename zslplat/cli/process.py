"""The program as a process: Ctrl-C, and standard streams that are closed.

Ctrl-C and SIGTERM end it in good order where that is quick, and at once where it is not. Python handles a signal
between two steps of its own; compiled code that takes long (reading a large file, a matrix product) delays it, and so
may a server that does not answer. A thread therefore counts the time from the signal on and ends the program when it is
over. That is safe at any moment: what is recorded is recorded in transactions, and workers end with their leader. So it
ends after a Ctrl-C that meets a callback which cannot pass it on, of a weak reference, say.

A command without a standard stream ends as it does with that stream on ``/dev/null``.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from zslplat.platforms import WINDOWS

GRACE_SECONDS = 1.5
EXIT_CODE = 130
CONTINUE = "stopped; what was recorded is kept; give the same command again to continue"


def limit_interrupts() -> None:
    """From now on the program ends within ``GRACE_SECONDS`` of the first Ctrl-C or SIGTERM, with exit code 130."""
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):
        os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_watch, args=(read,), daemon=True, name="watch-ctrl-c").start()
    sys.unraisablehook = _without_interrupts


def _watch(read: int) -> None:
    while not {signal.SIGINT, signal.SIGTERM} & set(os.read(read, 64)):
        continue
    time.sleep(GRACE_SECONDS)
    os.write(2, f"{CONTINUE}\n".encode())
    os._exit(EXIT_CODE)


def _without_interrupts(unraisable: sys.UnraisableHookArgs) -> None:
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        atexit.register(leave)  # a command that ends before the time is over was stopped all the same
    else:
        sys.__unraisablehook__(unraisable)


def leave() -> NoReturn:
    """End the program after a Ctrl-C that was handled, with exit code 130.

    Under ``python -m`` Python would end itself by the signal, without an exit code, where the interrupt passed through
    code made from text at run time, as every dataclass has it, even though it was handled afterwards.
    """
    atexit.unregister(leave)
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(EXIT_CODE)


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
    if WINDOWS:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        return  # a console of Windows is no file of bytes
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
