"""Fetching the files of one data set, apart from loading them: from the addresses that are known, and no others."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from zslplat.data.download import ARCHIVE_SETS, ARCHIVE_URL, Progress, check_digest, prepare_archive
from zslplat.errors import DataError, UnknownNameError


@dataclass(frozen=True)
class Fetched:
    """Where the files of a data set lie, whether they came just now, and from where; empty where that is not recorded.

    ``also``: further data sets that came with it.
    """

    name: str
    folder: Path
    new: bool
    url: str = ""
    sha256: str = ""
    also: tuple[str, ...] = ()


def fetch_set(
    name: str,
    root: Path,
    registered: Collection[str] = (),
    *,
    url: str | None = None,
    sha256: str = "",
    progress: Progress | None = None,
    keep_archive: bool = False,
) -> Fetched:
    """Bring the files of a data set under the data root, where they are not there yet.

    ``registered``: names of data sets that are no files of the root. Raises :class:`UnknownNameError` for a name that
    nothing answers to, :class:`UsageError` for a ``sha256`` that is none, and :class:`DataError` for a data set whose
    files no address is known of, and where the download fails (:func:`zslplat.data.download.prepare_archive`).
    """
    check_digest(sha256)
    folder = root / name
    if name not in ARCHIVE_SETS:
        if folder.exists():
            return Fetched(name, folder, new=False)
        if name in registered:
            raise DataError(
                f"{name}: nothing is fetched for it: it is built in or reads files of your own (`zslplat show {name}` "
                f"says which); addresses are known of {', '.join(ARCHIVE_SETS)}"
            )
        raise UnknownNameError("data set to fetch", name, ARCHIVE_SETS)
    if folder.is_dir():
        return _there(name, folder)
    new = prepare_archive(root, url=url or ARCHIVE_URL, sha256=sha256, progress=progress, keep_archive=keep_archive)
    if folder not in new:
        only = (
            f", only {', '.join(path.name for path in new)}" if new else ", nor another set that is not there already"
        )
        raise DataError(f"{url or ARCHIVE_URL}: the archive holds no {name}{only}; give another --url")
    found_here = _there(name, folder)
    also = tuple(path.name for path in new if path != folder)
    return Fetched(name, folder, True, found_here.url, found_here.sha256, also)


def _there(name: str, folder: Path) -> Fetched:
    """Return a data set that is there, with what its folder says of its origin."""
    try:
        origin = json.loads((folder / "origin.json").read_text())
        return Fetched(name, folder, False, str(origin["url"]), str(origin["sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Fetched(name, folder, False)
