"""Reading files that may be damaged or too large: errors that name the file, and the memory that is free."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from zslplat.errors import DataError

_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


@contextlib.contextmanager
def reading(path: Path, form: str, mend: str = "copy or write it again") -> Iterator[None]:
    """Let an error of a library that reads a file say which file it is, what it was taken for, and what mends it."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        strerror = error.strerror if isinstance(error, OSError) else None
        reason = strerror or " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path}: cannot be read as {form} ({reason}); {mend}") from error


def free_bytes() -> int:
    """Return the memory that this process may still take: what is free here, in its container or its batch job."""
    import psutil

    amounts = [int(psutil.virtual_memory().available)]
    for limit_file, usage in control_groups():
        with contextlib.suppress(OSError, ValueError):
            limit = int(limit_file.read_text())
            # What the page cache holds is counted there, and let go when memory is asked for.
            cached = sum(_statistic(name, limit_file) for name in ("inactive_file", "active_file"))
            amounts.append(limit - int(usage.read_text()) + cached)
    return max(0, min(amounts))


def control_groups() -> Iterator[tuple[Path, Path]]:
    """Yield the files that say how much memory a control group may take and takes, of all that hold this process.

    A container looks from inside like the group of all; a batch system bounds the group of a job, in which those of its
    steps lie. Not all files that are named need be there.
    """
    group_names = {"": "/", "memory": "/"}
    with contextlib.suppress(OSError):
        lines = [line.split(":", 2) for line in _OWN.read_text().splitlines()]
        group_names |= {kinds: name for _, kinds, name in lines if kinds in group_names}
    for root, kinds, most, usage in (
        (_GROUPS, "", "memory.max", "memory.current"),
        (_GROUPS / "memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        inside = PurePosixPath(group_names[kinds].strip("/"))
        # Where the name is that of another view of the groups, a container's say, there is no such folder.
        for group in (inside, *inside.parents) if ".." not in inside.parts else (PurePosixPath(),):
            yield root / group / most, root / group / usage


def _statistic(name: str, beside: Path) -> int:
    lines = beside.with_name("memory.stat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)


def array_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return how many bytes an array takes."""
    return math.prod(int(length) for length in shape) * max(1, dtype.itemsize)


def require_memory(needed: int, where: str) -> None:
    """Raise :class:`DataError` where something says that it takes more bytes than are free."""
    free = free_bytes() if needed > 1 << 24 else needed
    if needed > free:
        raise DataError(
            f"{where}: says that it holds {needed / 1e9:.4g} GB, and {free / 1e9:.3g} GB of memory are free; nothing "
            "of it was read; if the file is what it should be, give it in parts, or use a larger machine"
        )
