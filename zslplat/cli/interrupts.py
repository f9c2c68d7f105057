"""Ctrl-C: in good order where that is quick, at once where it is not.

Python handles a signal between two steps of its own; compiled code that takes long (reading a large file, a matrix
product) holds it up, and so may a server that does not answer. A thread therefore counts the time from the signal on
and ends the program when it is over. That is safe at any moment: what is recorded is recorded in transactions, and
workers end with their leader.
"""

from __future__ import annotations

import os
import signal
import threading
import time

GRACE_SECONDS = 1.5
CONTINUE = "stopped; what was recorded is kept; give the same command again to continue"


def limit_interrupts() -> None:
    """From now on the program ends within ``GRACE_SECONDS`` of the first Ctrl-C, with exit code 130."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(read,), daemon=True, name="watch-ctrl-c").start()


def _watch(read: int) -> None:
    while signal.SIGINT not in os.read(read, 64):
        continue
    time.sleep(GRACE_SECONDS)
    os.write(2, f"{CONTINUE}\n".encode())
    os._exit(130)
