"""Fetch the files of one data set from its known address; loading it is another step."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from zslplat.data.catalogue import EXPECTED, find_data_set
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.names import unfit
from zslplat.settings import masked_url
from zslplat_papers.public_archive.archives import vacant
from zslplat_papers.public_archive.download import (
    ARCHIVE_SETS,
    ARCHIVE_URL,
    Progress,
    check_digest,
    checked_address,
    prepare_archive,
)


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

    It is there where the root has a folder or file of its name in a known layout. ``registered``: names of data sets
    that are no files of the root. Raises :class:`UnknownNameError` for a name that nothing answers to,
    :class:`UsageError` for a name that no folder of the root can have, a malformed ``sha256`` or address, and
    :class:`DataError` for a data set whose files no address is known of, where something else is in the way, and where
    the download fails (:func:`zslplat_papers.public_archive.download.prepare_archive`).
    """
    check_digest(sha256)
    url = checked_address(ARCHIVE_URL if url is None else url)
    wrong = unfit(name) or ("it is a path" if "/" in name else "")
    if wrong:
        *others, last = ARCHIVE_SETS
        raise UsageError(
            f"data set {quoted(name, 80)}: {wrong}; expected {', '.join(others)} or {last}, or the name of a data set "
            "of the data root"
        )
    place, layout = find_data_set(root, name) or (root / name, None)
    if layout is not None:
        return _as_asked(_there(name, place), sha256)
    if name not in ARCHIVE_SETS and name in registered:
        raise DataError(
            f"{name}: nothing is fetched for it: it is built in or reads files of your own (`zslplat show {name}` "
            f"says which); addresses are known of {', '.join(ARCHIVE_SETS)}"
        )
    folder = root / name
    if not vacant(folder):
        what = f"holds no data set in a layout that is known (expected {EXPECTED})"
        if not folder.is_dir() or folder.is_symlink():
            what = f"is a {'link' if folder.is_symlink() else 'file'}, and a data set of this name would be a folder"
        raise DataError(f"{folder} {what}; move it away, or give another --data-root")
    if name not in ARCHIVE_SETS:
        raise UnknownNameError("data set to fetch", name, ARCHIVE_SETS)
    new = prepare_archive(root, url=url, sha256=sha256, progress=progress, keep_archive=keep_archive)
    if folder not in new:
        only = (
            f", only {', '.join(path.name for path in new)}" if new else ", nor another set that is not there already"
        )
        raise DataError(f"{masked_url(url)}: the archive holds no {name}{only}; give another --url")
    found_here = _there(name, folder)
    also = tuple(path.name for path in new if path != folder)
    return Fetched(name, folder, True, found_here.url, found_here.sha256, also)


def _as_asked(fetched: Fetched, sha256: str) -> Fetched:
    """Return what is there; raises :class:`DataError` where it is not known to be of an archive with a checksum."""
    if sha256 and fetched.sha256.lower() != sha256.lower():
        origin = (
            f"from an archive of checksum {fetched.sha256}" if fetched.sha256 else "and does not say of which archive"
        )
        raise DataError(
            f"{fetched.folder} is there already, {origin}; expected {sha256}: leave --sha256 out, or move the folder "
            "away to fetch it again"
        )
    return fetched


def _there(name: str, folder: Path) -> Fetched:
    """Return a data set that is there, with what its folder says of its origin."""
    try:
        origin = json.loads((folder / "origin.json").read_text())
        return Fetched(name, folder, False, str(origin["url"]), str(origin["sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Fetched(name, folder, False)
