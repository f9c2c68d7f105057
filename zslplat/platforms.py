"""What differs between operating systems: locks of files, processes and their ends, Ctrl-C, memory and cores.

Linux has all of it. Elsewhere each function does what the system can, and says here what is lost; ``docs/systems.md``
is the summary. No other module imports ``fcntl``, ``msvcrt`` or ``resource``, or forks.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

# Whether a process forks others off itself. On macOS one that has imported much is not safe to fork.
FORKS = sys.platform == "linux" and hasattr(os, "fork")
# No folder can be opened, and no open file renamed or removed.
WINDOWS = fcntl is None

# Windows locks ranges of bytes, and for one process alone: a shared lock is one byte of a range beyond the end of any
# file, an exclusive one all of the range. Ranges: (first byte, bytes).
_WHOLE = ((1 << 30, 64),)
_SINGLE = tuple((place, 1) for place in range(1 << 30, (1 << 30) + 64))
_PAUSE_SECONDS = 0.05


def lock_file(descriptor: int, *, shared: bool = False, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed or the process ends, however that happens.

    Raises BlockingIOError where another holds it and ``wait`` is False, and another OSError where the file system has
    no locks, as Windows has none for folders.
    """
    if fcntl is None:
        while not _apply_to_first("LK_NBLCK", descriptor, _SINGLE if shared else _WHOLE):
            if not wait:
                raise BlockingIOError(errno.EWOULDBLOCK, "another process has locked it")
            time.sleep(_PAUSE_SECONDS)
        return
    fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


def unlock_file(descriptor: int) -> None:
    """Unlock a file or folder, which is closed next.

    To close it is not enough: a process that was forked meanwhile has it open, too, and Windows unlocks late.
    """
    with contextlib.suppress(OSError):
        if fcntl is None:
            _apply_to_first("LK_UNLCK", descriptor, _WHOLE + _SINGLE)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _apply_to_first(action: str, descriptor: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    """Lock or unlock the first of the ranges that Windows allows; return False where it allows none."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.ENOTSUP, "no locks for what is no file")
    msvcrt: Any = importlib.import_module("msvcrt")
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        for first, count in ranges:
            os.lseek(descriptor, first, os.SEEK_SET)
            with contextlib.suppress(PermissionError):
                msvcrt.locking(descriptor, getattr(msvcrt, action), count)
                return True
        return False
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)


def fork() -> int:
    """Fork this process, where :data:`FORKS`: zero in the new one, its number in this one."""
    return os.fork()


def ask_for_death_signal(number: int = 9) -> None:
    """Ask for a signal (SIGKILL) as soon as the thread that forked this process has ended: Linux alone can.

    Each process between fork server and method process does so, so that none outlives the one above it.
    """
    _prctl(1, number)  # PR_SET_PDEATHSIG


def adopt_orphans() -> None:
    """Ask to be the parent of orphans below this process: Linux alone can."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _prctl(option: int, value: int) -> None:
    if FORKS:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def exit_like(code: int) -> None:
    """Exit with the exit code, or by the signal, that a child ended with; never returns.

    A guardian ends like its scorer, and a host like its method process: whoever waits for it sees how that ended.
    """
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the scorer has dumped its core, if that is enabled
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(abs(code))


def has_children(group: int | None = None) -> bool:
    """Tell whether this process has children or adopted orphans; on Linux, in a process group if one is named.

    A host asks for what a method left behind, and a scorer for its own group, which its host is not in.
    """
    if not FORKS:
        import psutil

        return bool(psutil.Process().children())
    try:
        kind, number = (os.P_ALL, 0) if group is None else (os.P_PGID, group)
        os.waitid(kind, number, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def kill_tree(root: Any) -> None:
    """Kill a running process of multiprocessing or subprocess, and then what was below it; orphans are not found.

    The root is killed by its own object: on Windows another exit code would look as if it had crashed.
    """
    import psutil

    below = []
    with contextlib.suppress(psutil.Error):
        below = psutil.Process(root.pid).children(recursive=True)
    root.kill()
    for process in below:
        with contextlib.suppress(psutil.Error):
            process.kill()


def end_session(leader: subprocess.Popen[bytes], seconds: float) -> None:
    """End a session by its leader's process: by SIGTERM, and after so many seconds by force what is left of it.

    Windows has no sessions: the process and what is below it are killed at once.
    """
    if not hasattr(os, "killpg"):
        kill_tree(leader)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader.pid, signal.SIGTERM)
            last = time.monotonic() + seconds
            while time.monotonic() < last:
                leader.poll()
                os.killpg(leader.pid, 0)  # raises once no process is left
                time.sleep(_PAUSE_SECONDS)
            os.killpg(leader.pid, signal.SIGKILL)
    leader.poll()


@contextlib.contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Start processes that never see Ctrl-C, not even while they start; a Ctrl-C meanwhile is handled afterwards.

    A terminal sends Ctrl-C to the leader and to everything that it has started, but it is meant for the leader alone.
    Windows blocks no signals: one that is just starting may end with a traceback, and its leader ends anyway.
    """
    before = block_ctrl_c()
    try:
        yield
    finally:
        _mask("SIG_SETMASK", before)


def block_ctrl_c() -> Any:
    """Let Ctrl-C pass by this thread and the processes that it starts; return what was blocked before."""
    return _mask("SIG_BLOCK", {signal.SIGINT})


def _mask(how: str, signals: Any) -> Any:
    return signal.pthread_sigmask(getattr(signal, how), signals) if hasattr(signal, "pthread_sigmask") else None


def start_resource_tracker() -> None:
    """Start multiprocessing's tracker, which unblocks Ctrl-C for the next process of this thread: no worker yet."""
    if not WINDOWS:
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


def listen_for_interrupts() -> None:
    """Let this process alone, in a group of its own, hear SIGINT, one that came while it started included."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _mask("SIG_UNBLOCK", {signal.SIGINT})


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reset_peak() -> None:
    """Let :func:`peak_bytes` count from here, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the most resident memory since :func:`reset_peak`, or since the process began where it cannot reset."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        import psutil

        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
