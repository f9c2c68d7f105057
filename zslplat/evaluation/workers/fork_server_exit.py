"""Imported by the fork server alone, first: it ends after its program, and removes what a killed program has left.

It collects no garbage: what it imports stays. The processes that are forked off it do (:mod:`.guardian`).
"""

import atexit
import gc
import os
import time

from zslplat.evaluation.workers.guardian import remove_address

_LEADER = int(os.environ.pop("ZSLPLAT_LEADER"))
gc.disable()


@atexit.register
def _clear_up() -> None:
    gc.freeze()  # Python collects once more as it ends
    # The pipes of a process that is killed close a moment before it is gone; one that runs on clears up by itself.
    for _ in range(50):
        if os.getppid() != _LEADER:
            remove_address()
            return
        time.sleep(0.01)
