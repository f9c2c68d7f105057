"""A control group of its own for what a scorer starts, where the system lets this user make one.

Version 2 of Linux' control groups can kill a whole group at once (``cgroup.kill``, Linux 5.14), processes that are
being forked at that moment, too: no program can multiply faster than it is ended. A group can be made where the group
of this process is delegated to its user: in the user's own services under systemd, in many containers, as root.
Elsewhere :meth:`ControlGroup.made` returns None.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_PREFIX = "zslplat-"
_PAUSE_SECONDS = 0.002


class ControlGroup:
    """A folder of the file system of control groups; processes that join it, and all that they start, end with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def made(cls, parent: Path | None = None) -> ControlGroup | None:
        """Return a new group below ``parent``, by default below that of this process; None where none can be made."""
        parent = parent or _own_group()
        if parent is None or not (parent / "cgroup.procs").exists():
            return None
        _clear_up(parent)
        folder = parent / f"{_PREFIX}{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            return None
        group = cls(folder)
        if not (folder / "cgroup.kill").exists():
            group.remove()
            return None
        return group

    def join(self) -> None:
        """Move this process into the group; where that is not allowed it stays where it is."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.procs").write_text("0")

    def end(self, seconds: float) -> None:
        """Kill all that is in the group, wait so long for its end at most, and remove the group."""
        end = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")
            while "populated 1" in (self.folder / "cgroup.events").read_text() and time.monotonic() < end:
                time.sleep(_PAUSE_SECONDS)
        self.remove()

    def remove(self) -> None:
        """Remove the group; the system refuses that while a process is in it."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _own_group() -> Path | None:
    """Return the folder of the control group that this process is in."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    mounted = next((fields[1] for fields in mounts if len(fields) > 2 and fields[2] == "cgroup2"), None)
    name = next((line.removeprefix("0::/") for line in groups if line.startswith("0::/")), None)
    return None if mounted is None or name is None else Path(mounted) / name


def _clear_up(parent: Path) -> None:
    """Remove empty groups of processes that were killed before they could do so."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{_PREFIX}*"):
            if not Path("/proc", folder.name.removeprefix(_PREFIX)).exists():
                ControlGroup(folder).remove()
