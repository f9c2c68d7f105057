"""The memory of a process: what it holds now, and the most that it held since a moment of one's choice."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path
from typing import Any

_SELF = Path("/proc/self")


def reset_peak() -> None:
    """Let :func:`peak_bytes` count from here, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        (_SELF / "clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the most resident memory since :func:`reset_peak`, or since the process began where it cannot reset."""
    try:
        for line in (_SELF / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def own_bytes(process: Any) -> int:
    """Return the resident memory of a :class:`psutil.Process` without mapped files, which all workers share."""
    memory = process.memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


def machine_bytes() -> int:
    """Return the memory that there is for this process: the machine's, or what its container may take."""
    import psutil

    amounts = [int(psutil.virtual_memory().total)]
    for path in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        with contextlib.suppress(OSError, ValueError):
            amounts.append(int(path.read_text()))
    return min(amounts)
