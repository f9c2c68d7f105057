"""The memory of processes: what they use now, and what each of several workers may use."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from zslplat.errors import UsageError
from zslplat.names import counted
from zslplat.platforms import core_count

# The memory of the leader and the fork server; that of the scorer and method process of one worker without any data;
# and what a worker should have where the number of workers is chosen by memory.
LEADER_BYTES, LEAST_WORKER_BYTES, USUAL_WORKER_BYTES = 300 << 20, 200 << 20, 600 << 20


def own_bytes(process: Any = None) -> int:
    """Return the resident memory of a process (this one by default) without mapped files, which workers share."""
    import psutil

    memory = (process or psutil.Process()).memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


class MemoryWatch:
    """The memory of a scorer, its method process and everything that they have started.

    ``root`` is the number of the process below which all of them are, ``host`` that of the one off which method
    processes are forked. ``methods`` is the number of the method process, ``shared`` the bytes of memory that it shares
    with the host; both change with every evaluation. Finding other processes means listing all processes of the
    machine, so it is done only so often that it takes a fiftieth of the time.
    """

    def __init__(self, root: int, scorer: int, host: int) -> None:
        self._root, self._scorer, self._host = root, scorer, host
        self.methods, self.shared = host, 0
        self._with_others = 0
        self._next = 0.0

    def used_bytes(self) -> int:
        """Return the bytes; memory that several processes share counts once."""
        import psutil

        start = time.monotonic()
        if start >= self._next:
            self._with_others = self._look()
            self._next = time.monotonic() + _PAUSE_PER_LOOK * (time.monotonic() - start)
        sizes = [0, 0]
        for place, pid in enumerate((self._scorer, self.methods)):
            with contextlib.suppress(psutil.Error):
                sizes[place] = own_bytes(psutil.Process(pid))
        return max(sizes[0] + max(0, sizes[1] - self.shared), self._with_others)

    def _look(self) -> int:
        """Return the memory of all processes if there are others than the known ones, else zero."""
        import psutil

        with contextlib.suppress(psutil.Error):
            below = psutil.Process(self._root).children(recursive=True)
            if {process.pid for process in below} - {self._scorer, self._host, self.methods}:
                return sum(map(_share_of, below))
        return 0


_PAUSE_PER_LOOK = 50


def _share_of(process: Any) -> int:
    """Return the memory of a process; of what it shares with others, as forked processes do, its part."""
    import psutil

    size = 0
    try:
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            # Shared memory that is no file on disk counts, too.
            if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                size += int(line.split()[1]) * 1024
    except (OSError, ValueError):
        with contextlib.suppress(psutil.Error):
            size = own_bytes(process)
    return size


def machine_bytes() -> int:
    """Return the memory available to this process: the machine's, or the limit of its container or batch job."""
    import psutil

    from zslplat.data.formats.bounds import control_groups

    amounts = [int(psutil.virtual_memory().total)]
    for most, _ in control_groups():
        with contextlib.suppress(OSError, ValueError):
            amounts.append(int(most.read_text()))
    return min(amounts)


def worker_share(workers: int) -> int:
    """Return the bytes that each of so many workers may use of this machine by default."""
    return int(machine_bytes() * 0.8 / workers)


def worker_count(workers: int | None, gigabytes: float | None = None) -> int:
    """Return the number of workers: as requested, or the cores of this machine, at most 4, as far as memory allows.

    ``gigabytes``: the memory of all processes together, where that is bounded; then a requested number stands.
    """
    if workers and gigabytes is not None:
        return workers
    room = 0.8 * machine_bytes() if gigabytes is None else gigabytes * 2**30 - LEADER_BYTES
    return max(1, min(workers or min(core_count(), 4), int(room // USUAL_WORKER_BYTES)))


def memory_limit(gigabytes: float | None, workers: int, cluster: str | None = None) -> int | None:
    """Return the bytes that the processes of one worker may use, so that all processes stay within ``gigabytes``.

    On a cluster, ``gigabytes`` are those of one trial; None: each has its share of the machine that it runs on. Raises
    :class:`UsageError` where that leaves less than a worker needs before it holds any data.
    """
    if cluster:
        return None if gigabytes is None else int(gigabytes * 2**30)
    if gigabytes is None:
        return worker_share(workers)
    share = (gigabytes * 2**30 - LEADER_BYTES) / workers
    if share < LEAST_WORKER_BYTES:
        least = (LEADER_BYTES + workers * LEAST_WORKER_BYTES) / 2**30
        raise UsageError(
            f"--memory {gigabytes:g} is for all processes together, and {counted(workers, 'worker')} need {least:.2g} "
            "GiB before they hold any data; give more, or fewer --workers"
        )
    return int(share)
