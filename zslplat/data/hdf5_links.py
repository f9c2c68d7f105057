"""What an HDF5 file says lies elsewhere: other files of the machine are never read because a file names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py

from zslplat.errors import DataError

MOST_LINKS, MOST_DEPTH, MOST_ITEMS = 16, 64, 100_000


def own_item(file: Path, group: h5py.Group, name: str, links: int = 0) -> h5py.Group | h5py.Dataset:
    """Return what a group holds under a name, a path inside the file.

    Soft links are followed. Raises :class:`DataError` for external links, data in external files and virtual data sets,
    whose content lies in other files, for links of unknown kinds, and for soft links that lead in circles.
    """
    where: h5py.Group | h5py.Dataset = group.file if name.startswith("/") else group
    for step in (part for part in name.split("/") if part not in ("", ".")):
        if not isinstance(where, h5py.Group):
            raise DataError(f"{file}: {name!r}: {where.name!r} is no group")
        try:
            link = where.get(step, getlink=True)
        except TypeError as error:
            raise DataError(f"{file}: {name!r} is a link of an unknown kind; copy its content into the file") from error
        if isinstance(link, h5py.ExternalLink):
            raise _elsewhere(file, name, f"is a link to the file {link.filename!r}")
        if isinstance(link, h5py.SoftLink):
            if links >= MOST_LINKS:
                raise DataError(f"{file}: {name!r} is a link that leads in a circle; mend the file")
            where = own_item(file, where, link.path, links + 1)
        else:
            where = where[step]
    require_own(file, where)
    return where


def require_own(file: Path, item: h5py.Group | h5py.Dataset) -> None:
    """Raise :class:`DataError` for a data set whose content lies in other files."""
    if not isinstance(item, h5py.Dataset):
        return
    if item.is_virtual:
        raise _elsewhere(file, str(item.name), "is a virtual data set, put together from others")
    if item.external:
        raise _elsewhere(file, str(item.name), f"keeps its content in the file {item.external[0][0]!r}")


def data_sets_of(file: Path, opened: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield (path, data set) in the order in which groups list them; each group is looked at once, however linked.

    Raises what :func:`own_item` does, and :class:`DataError` for more groups in each other, or more data sets, than any
    file of data has.
    """
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[str, h5py.Group, Iterator[str]]] = [("", opened, iter(opened))]
    found = 0
    while waiting:
        start, group, names = waiting[-1]
        name = next(names, None)
        if name is None:
            waiting.pop()
            continue
        found += 1
        if len(waiting) > MOST_DEPTH or found > MOST_ITEMS:
            raise DataError(
                f"{file}: holds more than {MOST_DEPTH} groups in each other or {MOST_ITEMS} links; give a file with "
                "the data alone"
            )
        item = own_item(file, group, name)
        if isinstance(item, h5py.Dataset):
            yield start + name, item
        elif isinstance(item, h5py.Group) and not name.startswith("#"):
            told = h5py.h5o.get_info(item.id)
            if (told.fileno, told.addr) not in seen:
                seen.add((told.fileno, told.addr))
                waiting.append((f"{start}{name}/", item, iter(item)))


def _elsewhere(file: Path, name: str, what: str) -> DataError:
    return DataError(f"{file}: {name!r} {what}; other files are never read through one; copy the content into it")
