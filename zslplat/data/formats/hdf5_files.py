"""The data sets of HDF5 files as named fields; :mod:`zslplat.data.formats.hdf5` says what they mean.

The files are read in another process, as damaged ones keep the library busy for ever, or end it. Nothing is read that
lies in another file, whatever links say.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.bounds import array_bytes, require_memory, require_plausible
from zslplat.data.formats.feature_files import BLOCK_BYTES, Piece, rows_of_a_block, stream_of
from zslplat.data.formats.fields import TEXTS, Fields, texts
from zslplat.data.formats.reader_process import Form
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError
from zslplat.names import visible

HDF5 = Form("an HDF5 file", "copy or write it again")
MOST_LINKS, MOST_DEPTH, MOST_ITEMS = 16, 64, 100_000


def local_item(file: Path, group: h5py.Group, name: str, links: int = 0) -> h5py.Group | h5py.Dataset:
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
            where = local_item(file, where, link.path, links + 1)
        else:
            where = where[step]
    require_local(file, where)
    return where


def require_local(file: Path, item: h5py.Group | h5py.Dataset) -> None:
    """Raise :class:`DataError` for a data set whose content lies in other files."""
    if not isinstance(item, h5py.Dataset):
        return
    if item.is_virtual:
        raise _elsewhere(file, str(item.name), "is a virtual data set, put together from others")
    if item.external:
        raise _elsewhere(file, str(item.name), f"keeps its content in the file {item.external[0][0]!r}")


def data_sets_of(file: Path, opened: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield (path, data set) in the order in which groups list them; each group is looked at once, however linked.

    Raises what :func:`local_item` does, and :class:`DataError` for more groups in each other, or more data sets, than
    any file of data has.
    """
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[str, h5py.Group, Iterator[str]]] = [("", opened, iter(opened))]
    count = 0
    while waiting:
        start, group, names = waiting[-1]
        name = next(names, None)
        if name is None:
            waiting.pop()
            continue
        count += 1
        if len(waiting) > MOST_DEPTH or count > MOST_ITEMS:
            raise DataError(
                f"{file}: holds more than {MOST_DEPTH} groups in each other or {MOST_ITEMS} links; give a file with "
                "the data alone"
            )
        item = local_item(file, group, name)
        if isinstance(item, h5py.Dataset):
            yield start + name, item
        elif isinstance(item, h5py.Group) and not name.startswith("#"):
            info = h5py.h5o.get_info(item.id)
            if (info.fileno, info.addr) not in seen:
                seen.add((info.fileno, info.addr))
                waiting.append((f"{start}{name}/", item, iter(item)))


def _elsewhere(file: Path, name: str, what: str) -> DataError:
    return DataError(f"{file}: {name!r} {what}; other files are never read through one; copy the content into it")


MOST_BYTES = 8 * BLOCK_BYTES  # of a block, where chunks are tall; beyond it, they go through a file


def data_sets(file: Path) -> list[list[Any]]:
    """Return path, shape and type of each data set, in the order in which groups list them, and the type in words."""
    with h5py.File(file, "r") as opened:
        return [
            [name, [int(length) for length in item.shape or ()], item.dtype.str, _type_text(item.dtype)]
            for name, item in data_sets_of(file, opened)
        ]


def whole(file: Path, name: str) -> np.ndarray:
    """Return a data set of numbers or texts."""
    with h5py.File(file, "r") as opened:
        item = _data_set(file, opened, name)
        require_memory(array_bytes(item.shape or (), item.dtype), f"{file}, {name!r}")
        if h5py.check_string_dtype(item.dtype) is not None:
            strings = np.asarray(item.asstr()[()])
            return np.array(texts(strings), dtype=np.str_).reshape(strings.shape)
        if item.dtype.kind not in "biufS":
            raise DataError(f"{file}: {name!r} holds {_type_text(item.dtype)}; expected numbers or texts")
        return np.asarray(item[()])


def attribute(file: Path, name: str, keys: Sequence[str]) -> list[str] | None:
    """Return the first of some attributes that a data set has, or with ``/`` the file, as texts."""
    with h5py.File(file, "r") as opened:
        item = opened if name == "/" else _data_set(file, opened, name)
        key = next((key for key in keys if key in item.attrs), None)
        if key is None:
            return None
        return names_of(np.asarray(item.attrs[key]), f"{file}, attribute {key!r} of {name!r}")


def blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    """Yield the rows of a data set of numbers; every chunk is decompressed once."""
    with h5py.File(file, "r") as opened:
        item = _data_set(file, opened, name)
        row_bytes = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
        rows = rows_of_a_block(item.shape[1:], item.dtype.itemsize)
        if item.chunks is not None:
            tall = min(item.chunks[0], item.shape[0])
            if tall * row_bytes > MOST_BYTES and item.chunks[1:] != item.shape[1:]:
                yield from _through_a_file(file, item, rows)
                return
            rows = max(tall, rows // tall * tall)
        for start in range(0, item.shape[0], rows):
            yield item[start : start + rows]


def _through_a_file(file: Path, item: h5py.Dataset, rows: int) -> Iterator[np.ndarray]:
    """Yield rows of a data set whose chunks hold few columns of many rows: written to a file chunk by chunk first.

    The rows of a chunk stay side by side there. Plain writes and reads: a mapped file would count as memory that is
    bounded, and a full disk would end the process.
    """
    bands: dict[tuple[int, int], list[tuple[tuple[slice, ...], int]]] = {}
    with tempfile.TemporaryFile() as unpacked:
        for where in item.iter_chunks():
            bands.setdefault((where[0].start, where[0].stop), []).append((where[1:], unpacked.tell()))
            content = np.ascontiguousarray(item[where]).reshape(-1).view(np.uint8).data
            try:
                unpacked.write(content)
                unpacked.flush()
            except OSError as error:
                raise DataError(
                    f"{file}: chunks of few columns go through a temporary file in {tempfile.gettempdir()}: "
                    f"{error.strerror or error}; free space there, or let TMPDIR name another folder"
                ) from error
        for start in range(0, item.shape[0], rows):
            block = np.empty((min(rows, item.shape[0] - start), *item.shape[1:]), dtype=item.dtype)
            for (top, bottom), chunks in bands.items():
                first, last = max(start, top), min(start + len(block), bottom)
                for columns, offset in chunks if first < last else ():
                    shape = (last - first, *(one.stop - one.start for one in columns))
                    row = math.prod(shape[1:]) * item.dtype.itemsize
                    unpacked.seek(offset + (first - top) * row)
                    piece = np.frombuffer(unpacked.read(shape[0] * row), dtype=item.dtype).reshape(shape)
                    block[(slice(first - start, last - start), *columns)] = piece
            yield block


def _data_set(file: Path, opened: h5py.File, name: str) -> h5py.Dataset:
    item = local_item(file, opened, name)
    if not isinstance(item, h5py.Dataset):
        raise DataError(f"{file}: {name!r} is no data set")
    require_plausible(array_bytes(item.shape or (), item.dtype), file, name)
    _require_filters(file, name, item)
    return item


def _require_filters(file: Path, name: str, item: h5py.Dataset) -> None:
    """Refuse a data set that was compressed by a filter which is not installed here; the library blames the file."""
    made = item.id.get_create_plist()
    for position in range(made.get_nfilters()):
        code, _flags, _values, filter_name = made.get_filter(position)
        if not h5py.h5z.filter_avail(code):
            shown = filter_name.decode(errors="replace").strip("\0") if filter_name else "no name"
            raise DataError(
                f"{file}: {name!r} is compressed by HDF5's filter {code} ({visible(shown)}), which is not installed; "
                "pip install hdf5plugin and let HDF5_PLUGIN_PATH be what python -c 'import hdf5plugin; "
                "print(hdf5plugin.PLUGIN_PATH)' prints, or write the file with gzip or without compression"
            )


def _type_text(dtype: np.dtype[Any]) -> str:
    return "lists of different lengths or references" if dtype.kind == "O" else f"values of type {dtype}"


_NAMES = ("names", "columns", "attribute_names")


class Hdf5Fields(Fields):
    """The data sets of one or several HDF5 files, by their paths inside."""

    thing = "data set"

    def __init__(self, path: Path, files: list[Path], options: Mapping[str, Any]) -> None:
        self.path = path
        self._by_file = {file: _data_sets(file) for file in files}
        if not self._by_file:
            raise DataError(f"{path}: no HDF5 file; they are recognised by their suffixes, .h5 and .hdf5")
        self.names = tuple(dict.fromkeys(name for contents in self._by_file.values() for name in contents))
        keys = list(self.feature_keys(options).values())
        self._parts = [file for file, contents in self._by_file.items() if any(key in contents for key in keys)]
        label = self.key_of("y", options)
        for file, contents in self._by_file.items():
            if file not in self._parts and label in contents:
                raise DataError(f"{file}: no data set {keys[0]!r}, which {self._parts[0].name} has")
        self._rows = [self._shape(file, keys[0])[0] for file in self._parts]

    def read(self, name: str) -> np.ndarray:
        """Return a data set that describes the classes, the same in all files that have it."""
        files = [file for file, contents in self._by_file.items() if name in contents]
        first = HDF5.read(whole, files[0], name)
        for file in files[1:]:
            other = HDF5.read(whole, file, name)
            if other.shape != first.shape or not np.array_equal(other, first):
                raise DataError(f"{file}: {name!r} is not what it is in {files[0].name}; it must be the same in all")
        return first

    def column(self, name: str) -> np.ndarray:
        """Return a data set with an entry per row, of all parts; a matrix of folds by class is the same in all."""
        if name in ("fold", "folds") and self._is_matrix(name):
            return self.read(name)
        pieces = [self._part(file, name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return a mask, or row indices over all parts."""
        holders = [file for file, contents in self._by_file.items() if name in contents]
        pieces = [HDF5.read(whole, file, name).reshape(-1) for file in holders]
        if len(pieces) == 1 and (len(self._parts) == 1 or pieces[0].dtype != bool):
            return pieces[0]
        if holders != self._parts:
            absent = next(file for file in self._parts if file not in holders)
            raise DataError(
                f"{absent}: no data set {name!r}, which {len(holders)} of {len(self._parts)} files have; give it in "
                "one file, counting all rows, or in each, counting its own"
            )
        if all(piece.dtype == bool for piece in pieces):
            return np.concatenate(pieces)
        starts = np.concatenate([[0], np.cumsum(self._rows)[:-1]])
        for file, rows, piece in zip(holders, self._rows, pieces, strict=True):
            if len(piece) and piece.max() >= rows + base:
                raise DataError(
                    f"{file}: {name!r} runs to {piece.max()} but the {rows} rows of this file count from {base}"
                )
        return np.concatenate([piece.astype(np.int64) + start for piece, start in zip(pieces, starts, strict=True)])

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the names of the files with features, and the rows of each."""
        return [(file.name, rows) for file, rows in zip(self._parts, self._rows, strict=True)]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a data set of all parts as a stream."""
        pieces: list[Piece] = []
        first = self._parts[0]
        row, stored = self._shape(first, name)[1:], self._by_file[first][name].dtype
        if stored.kind not in "biuf":
            type_text = self._by_file[first][name].type_text
            raise DataError(f"{first}: {name!r} holds {type_text}; expected features, numbers of one shape")
        for file in self._parts:
            shape, dtype = self._shape(file, name), self._by_file[file][name].dtype
            if shape[1:] != row or dtype != stored:
                raise DataError(
                    f"{file}: {name!r} has rows of shape {shape[1:]} and type {dtype}, but {row} and {stored} in "
                    f"{first.name}; all files need the same"
                )
            pieces.append(Piece(shape[0], partial(HDF5.stream, blocks, file, name), f"{file}, {name!r}"))
        return stream_of(pieces, row, stored, f"{self.path}, {name!r}")

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures, with the names of their attributes where an attribute gives them."""
        return RawSignatures(self.read(name), names=self._attribute(name, _NAMES) or ())

    def class_names(self) -> Sequence[str] | None:
        """Return what the attribute class_names of the file or of the labels says."""
        labels = next((name for name in self.aliases["y"] if name in self.names), "")
        beside = self._attribute(labels, ("class_names", "names")) if labels else None
        return beside or self._attribute("/", ("class_names",))

    def texts(self) -> Mapping[str, str]:
        """Return the attributes of the file that are texts."""
        attributes = {key: self._attribute("/", (key,)) for key in TEXTS}
        return {key: text[0] for key, text in attributes.items() if text and len(text) == 1}

    def _attribute(self, name: str, keys: Sequence[str]) -> list[str] | None:
        """Return the first of some attributes that a data set has in any of the files, as texts."""
        for file, contents in self._by_file.items():
            if name == "/" or name in contents:
                values = HDF5.read(attribute, file, name, list(keys))
                if values is not None:
                    return values
        return None

    def _part(self, file: Path, name: str, rows: int) -> np.ndarray:
        if name not in self._by_file[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        array = HDF5.read(whole, file, name)
        array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
        if len(self._parts) > 1 and len(array) != rows:
            raise DataError(f"{file}: {rows} rows of features but {len(array)} entries in {name!r}")
        return array

    def _having(self, name: str) -> str:
        return next(file.name for file, contents in self._by_file.items() if name in contents)

    def _is_matrix(self, name: str) -> bool:
        shape = next(contents[name].shape for contents in self._by_file.values() if name in contents)
        return len(shape) == 2 and 1 not in shape[1:]

    def _shape(self, file: Path, name: str) -> tuple[int, ...]:
        if name not in self._by_file[file]:
            raise DataError(f"{file}: no data set {name!r}, which {self._having(name)} has; every file needs one")
        shape = self._by_file[file][name].shape
        if not shape:
            raise DataError(f"{file}: {name!r} is a single value; expected rows of features")
        return shape


class _Extent:
    """Shape and type of a data set; ``type_text`` is the type in words."""

    def __init__(self, shape: Sequence[int], kind: str, type_text: str) -> None:
        self.shape, self.dtype, self.type_text = tuple(shape), np.dtype(kind), type_text


def _data_sets(file: Path) -> dict[str, _Extent]:
    """Return the data sets of a file by their paths, in the order in which groups list them."""
    return {name: _Extent(shape, kind, type_text) for name, shape, kind, type_text in HDF5.read(data_sets, file)}
