"""Unpack a downloaded archive of data sets; nothing in it may write outside the data root."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from zslplat.data.feature_card import CARD_FILE
from zslplat.data.store.atomic_files import draft
from zslplat.errors import DataError, quoted
from zslplat.names import unfit

MAX_BYTES = 20 * 10**9  # of everything unpacked; the public archive has less than a tenth

MAX_FILES = 10_000

_CHUNK = 1 << 20


class ArchiveError(DataError):
    """An archive is to blame itself: it is damaged, or holds what is refused. Nothing of it was unpacked.

    ``cause``: the message without the file of the archive.
    """

    def __init__(self, archive: Path, cause: str, *, damaged: bool = False) -> None:
        super().__init__(f"{archive}: {cause}")
        self.cause, self.damaged = cause, damaged


def vacant(folder: Path) -> bool:
    """Tell whether a folder can come to this place: nothing is there, or a folder in which nothing is."""
    if folder.is_dir() and not folder.is_symlink():
        return not os.listdir(folder)
    return not os.path.lexists(folder)


def unpack_datasets(
    archive: Path,
    root: Path,
    *,
    named: Mapping[str, str] | None = None,
    card: Callable[[str], str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> list[Path]:
    """Unpack every folder of a zip archive that holds a ``*_splits.mat``, each as ``root/<folder name>``.

    ``named`` are further folders of the archive, by the name that each gets; an empty one is the only folder with
    files. What is there already stays as it is, but for empty folders. A folder appears whole or not at all, with
    what ``card`` returns for its name as its card, where it brings none. Raises :class:`ArchiveError`, before anything
    is written, for absolute paths, ``..``, links, encrypted or repeated members, names that no file can have
    everywhere, and sizes beyond ``max_bytes``, and for a damaged archive; :class:`DataError` where the disk has no
    room, or another fault.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            members = _checked_members(archive, file, max_bytes)
            folders = _dataset_folders(archive, members, named or {})
            folder_names = {folder: name for folder, name in folders.items() if vacant(root / name)}
            chosen = {path: info for path, info in members.items() if path.parent in folder_names}
            needed, free = sum(info.file_size for info in chosen.values()), shutil.disk_usage(root).free
            if needed > free:
                raise DataError(f"{archive}: needs {needed / 1e9:.1f} GB in {root}, where {free / 1e9:.1f} GB are free")
            with draft(root, ".unpack-") as temporary:
                _extract(archive, file, chosen, folder_names, temporary)
                return [_place(temporary / name, root / name, card) for name in folder_names.values()]
    except (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, struct.error) as error:
        raise ArchiveError(archive, f"cannot be read as a zip archive ({error})", damaged=True) from error
    except OSError as error:
        # Decoders say so of damaged streams, and so does a seek to an impossible place that the archive names.
        if error.errno in (None, errno.EINVAL):
            raise ArchiveError(archive, f"cannot be read as a zip archive ({error})", damaged=True) from error
        why = error.strerror or error
        raise DataError(f"{archive}: cannot be unpacked into {root}: {why}; repair that and try it again") from error


def _checked_members(archive: Path, file: zipfile.ZipFile, max_bytes: int) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """Return the files of the archive by path; directories are left out."""
    members: dict[PurePosixPath, zipfile.ZipInfo] = {}
    total = 0
    for info in file.infolist():
        name = info.filename
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
            raise ArchiveError(archive, f"refused, it would write outside its folder: {name!r}")
        mode = info.external_attr >> 16
        if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_IFMT(mode) == 0):
            raise ArchiveError(archive, f"refused, it holds a link or special file: {name!r}")
        if info.flag_bits & 0x1:
            raise ArchiveError(archive, f"refused, it holds an encrypted file: {name!r}")
        if info.is_dir():
            continue
        if path in members:
            raise ArchiveError(archive, f"refused, it holds a file twice: {name!r}")
        members[path] = info
        total += info.file_size
        if total > max_bytes or len(members) > MAX_FILES:
            raise ArchiveError(archive, f"refused, it unpacks to more than {max_bytes / 1e9:g} GB or {MAX_FILES} files")
    return members


def _dataset_folders(
    archive: Path, members: Mapping[PurePosixPath, zipfile.ZipInfo], named: Mapping[str, str]
) -> dict[PurePosixPath, str]:
    folders = {
        path.parent: path.parent.name
        for path in members
        if path.name.endswith("_splits.mat") and path.parent.name and not path.name.startswith(".")
    }
    # macOS archives repeat every folder with resource forks.
    folders = {
        path: name for path, name in folders.items() if "__MACOSX" not in path.parts and not name.startswith(".")
    }
    with_files = {path.parent for path in members if "__MACOSX" not in path.parts}
    for name, stated in named.items():
        chosen = {path for path in with_files if path == PurePosixPath(stated)} if stated else with_files - {*folders}
        if len(chosen) == 1:
            folders[chosen.pop()] = name
        elif stated and not folders:
            raise ArchiveError(archive, f"holds no folder {quoted(stated)}, which the card names")
    if not folders:
        raise ArchiveError(archive, "holds no folder with a *_splits.mat; it is no archive of zero-shot data sets")
    for path, name in folders.items():
        files = [member.name for member in members if member.parent == path]
        odd = next((one for one in (name, *files) if unfit(one.lstrip("."))), None)
        if odd is not None:
            raise ArchiveError(archive, f"refused, {quoted(odd)} is no name of a file everywhere: {unfit(odd)}")
    if len(set(folders.values())) < len(folders):
        raise ArchiveError(archive, f"two folders of one name hold data sets: {', '.join(map(str, folders))}")
    return folders


def _extract(
    archive: Path,
    file: zipfile.ZipFile,
    chosen: Mapping[PurePosixPath, zipfile.ZipInfo],
    folders: Mapping[PurePosixPath, str],
    temporary: Path,
) -> None:
    for path, info in chosen.items():
        folder = temporary / folders[path.parent]
        folder.mkdir(exist_ok=True)
        written = 0
        with file.open(info) as source, (folder / path.name).open("xb") as target:
            while chunk := source.read(_CHUNK):
                written += len(chunk)
                if written > info.file_size:
                    raise ArchiveError(archive, f"{info.filename!r} is larger than the archive says", damaged=True)
                target.write(chunk)
        if written != info.file_size:
            raise ArchiveError(archive, f"{info.filename!r} is shorter than the archive says", damaged=True)


def _place(unpacked: Path, folder: Path, card: Callable[[str], str] | None) -> Path:
    if card is not None and not (unpacked / CARD_FILE).exists():
        (unpacked / CARD_FILE).write_text(card(folder.name), encoding="utf-8")
    os.rename(unpacked, folder)
    return folder
