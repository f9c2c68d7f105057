"""A store's database as a file of sqlite: its write-ahead journal, how it is read, and where it lies.

By default every transaction waits several times for the disk, some 25 ms on a slow one, and a run in MLflow takes up to
nine transactions. With the write-ahead journal, records wait once (nothing that was recorded is lost, even when the
power fails), and MLflow's file, which can be made anew from the records, not at all; neither can be damaged.

The journal needs memory that is shared between the processes that use the file, so it serves on local disks only;
elsewhere sqlite's default stays. At the end the file is left as one that any program reads, from any disk.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import psutil
import sqlalchemy as sa

_LOCAL = {
    *("apfs", "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "hfs", "jfs"),
    *("overlay", "ramfs", "reiserfs", "tmpfs", "ufs", "xfs", "zfs"),
}
# MLflow hands out one engine per file, so several projections meet the same one.
_DONE: weakref.WeakSet[sa.Engine] = weakref.WeakSet()


def write_ahead(engine: sa.Engine, path: Path, *, durable: bool) -> None:
    """Let an engine use the write-ahead journal on its file; ``durable`` transactions survive a loss of power."""
    if engine in _DONE or not on_local_disk(path):
        return

    def prepare(connection: Any, _: Any) -> None:
        # Another process may be writing just now: then the journal stays as it is, which is slower and as safe.
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA journal_mode=WAL").close()
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}").close()

    _DONE.add(engine)
    sa.event.listen(engine, "connect", prepare)
    engine.dispose()


def may_not_be_written(path: Path) -> bool:
    """Tell whether a database is there and can only be read: another user's, or one in an archive."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def address_for_reading(path: Path) -> str:
    """Return the URL by which SQLAlchemy reads a database of sqlite without writing anything beside it."""
    name, _, options = uri_for_reading(path).partition("?")
    query = {**dict(parse_qsl(options)), "uri": "true"}
    return sa.engine.URL.create("sqlite", database=name, query=query).render_as_string()


def uri_for_reading(path: Path) -> str:
    """Return what sqlite itself takes for that."""
    with open(path, "rb") as file:
        journalled = file.read(20)[18:20] == b"\x02\x02"
    # A closed file with the write-ahead journal needs a file beside it to be read, unless it cannot be written.
    finished = journalled and not path.with_name(f"{path.name}-wal").exists()
    return f"file:{quote(str(path))}?mode=ro{'&immutable=1' if finished else ''}"


def settle(engine: sa.Engine, path: Path) -> None:
    """Close the engine's connections and put the file in one piece again, unless another process uses it."""
    engine.dispose()
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")


def on_local_disk(path: Path) -> bool:
    """Tell whether a file is, or would be, on a disk of this machine; False where that is not known."""
    real = os.path.realpath(path)
    longest, kind = "", ""
    with suppress(OSError):
        for part in psutil.disk_partitions(all=True):
            mount = part.mountpoint.rstrip("/") + "/"
            if real.startswith(mount) and len(mount) >= len(longest):
                longest, kind = mount, part.fstype
    return kind.lower() in _LOCAL
