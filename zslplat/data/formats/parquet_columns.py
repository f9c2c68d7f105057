"""The columns of Parquet files as named fields; :mod:`zslplat.data.formats.parquet` says what they mean."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from zslplat.data.assembly import RawSignatures
from zslplat.data.formats import arrow_files, csv_tables
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.arrow_files import ParquetPart
from zslplat.data.formats.feature_files import (
    Piece,
    columns_to_leave_out,
    is_identifier,
    is_signature_file,
    note_of_identifiers,
    rows_of_a_block,
    stream_of,
)
from zslplat.data.formats.fields import ALIASES, TEXTS, Fields
from zslplat.data.formats.npz import NpzFile, read_npy
from zslplat.data.splits import SPLITS, mask_of
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError, quoted

_CLASS = ("class", "classes", "label", "labels", "y", "name", "class_name", "class_names")


class ParquetFields(Fields):
    """The columns of one or several Parquet files, and the files of signatures beside them."""

    thing = "column"
    aliases: ClassVar = {
        **ALIASES,
        "S": (),
        "signature_classes": (),
        "attribute_names": (),
        "class_names": (),
        "row_signatures": ("row_signatures", "row_signature", "signatures", "signature"),
    }

    class_sets: ClassVar = ()
    row_sets: ClassVar = ("row_signatures", "row_signature", "signatures")
    naming = "signatures name their classes in a column class, as in class,wings,fur of a CSV file"

    def __init__(self, path: Path, files: list[Path], signatures: list[Path], options: Mapping[str, Any]) -> None:
        self.path = path
        self.files = [ParquetPart(file) for file in files]
        if not self.files:
            raise DataError(f"{path}: no Parquet file with features; signatures alone are no data set")
        self.schema = self.files[0].schema
        self._same_schemas()
        # The set without a name comes first, which makes it the default.
        self.sets = {_set_name(file): file for file in sorted(signatures, key=lambda file: len(file.stem))}
        self.names = tuple(self.schema.names)
        self.asked = [name for name in str(options.get("features") or options.get("X") or "").split("+") if name]
        columns = (self.key_of(role, options) for role in self.aliases if role != "X")
        # A part that is there under two names is no feature under either.
        twice = (name for role in self.aliases if role != "X" for name in self.aliases[role])
        self._taken = {*columns, *twice, *self.sets_of(self.row_sets).values()}
        self._optional = {self.key_of(role, options) for role in ("split", "folds")}
        left_out = columns_to_leave_out(str(options.get("leave_out") or ""), self.names, str(path))
        self._left_out = {*left_out, *_pandas_index(self.schema)}
        free = [name for name in self.names if name not in self._taken | self._left_out and self._is_plain(name)]
        if options.get("leave_out", "") is not None:
            self._left_out |= {name for name in free if is_identifier(name)}

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of plain numbers that make up the features where no column of lists does."""
        requested = [name for name in self.asked if name in self.names and self._is_plain(name)]
        if requested:
            return tuple(requested)
        free = [name for name in self.names if name not in self._taken | self._left_out]
        for name in free:
            if self.files[0].file.suffix == ".csv" and arrow_files.is_text(self.schema.field(name).type):
                self._refuse_few_texts(name)
        return tuple(name for name in free if arrow_files.is_number(self.schema.field(name).type))

    def _refuse_few_texts(self, name: str) -> None:
        """Raise :class:`DataError` where a tenth or less of a column is no number: it would be no feature, unsaid."""
        cells = self.column(name)
        texts = [i for i, cell in enumerate(cells) if not csv_tables.is_number(str(cell))]
        if 0 < len(texts) <= len(cells) / 10:
            raise DataError(
                f"{self.path}, column {name!r}: {len(texts)} of {len(cells)} cells hold no number, the first is "
                f"{quoted(str(cells[texts[0]]))} in row {texts[0] + 1} below the header; fix them (zslplat data check "
                f"{self.path.name} lists all), or leave the column out: --dataset '{self.path.name}(leave_out={name})'"
            )

    @property
    def _together(self) -> str:
        """What the features are called that several columns make up."""
        count = len(self.numbers)
        return f"columns {self.numbers[0]} to {self.numbers[-1]} ({count})" if count > 1 else self.numbers[0]

    def feature_keys(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return {view: column}; columns of plain numbers make up one feature set."""
        plain = [name for name in self.asked if name in self.names and self._is_plain(name)]
        if not plain:
            return super().feature_keys(options)
        if len(plain) < len(self.asked):
            raise DataError(
                f"{self.path}: features={'+'.join(self.asked)} mixes columns of numbers ({plain[0]}) with others; "
                "choose columns of numbers, which make up one feature set, or columns of lists"
            )
        return {"": self._together}

    def views(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the columns of lists, by the names that say views or else all, or what the columns of numbers are."""
        named = super().views(options)
        if named:
            return named
        free = [name for name in self.names if name not in self._taken | self._left_out]
        lists = {name: name for name in free if arrow_files.is_list(self.schema.field(name).type)}
        lists = {name: name for name in lists if arrow_files.number_type(self.schema.field(name).type) is not None}
        return lists or ({"": self._together} if self.numbers else {})

    def read(self, name: str) -> np.ndarray:
        """Return a column of all files."""
        return self.column(name)

    def column(self, name: str) -> np.ndarray:
        """Return a column of all files; null is an empty text in columns of splits and folds."""
        entries = _joined([part.column(name, empty="" if name in self._optional else None) for part in self.files])
        numbers = self.files[0].file.suffix == ".csv" and name not in self._optional and entries.dtype.kind == "U"
        return _as_numbers(entries) if numbers else entries

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return a mask; a column has one entry per row, so that it cannot hold indices."""
        entries = self.column(name)
        if mask_of(entries, len(entries)) is None:
            raise DataError(
                f"{self.path}, column {name!r}: is of type {self.schema.field(name).type}; a column that says which "
                f"rows a split has must hold truth values, or be one column split of names ({', '.join(SPLITS)})"
            )
        return entries

    def unread(self, fields: set[str]) -> list[str]:
        """Return the columns that play no part; one of those of numbers is a feature where they are together."""
        together = self.numbers if self.numbers and self._together in fields else ()
        return [name for name in super().unread(fields) if name not in together]

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the names of the files, or of the folders of a split that they lie in, with the rows of each."""
        # Files of one split may have a folder of its name.
        placed = ((part.file, part.file.parent, part.rows) for part in self.files)
        return [
            (file.name if folder in (self.path, self.path / "data") else folder.name, n) for file, folder, n in placed
        ]

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return a column of lists, or the columns of numbers side by side, as a stream."""
        if self.numbers and name == self._together:
            # Identifiers that are features here were asked for.
            self.columns = () if any(map(is_identifier, self.numbers)) else self.numbers
            identifiers = [one for one in self.names if one in self._left_out and is_identifier(one)]
            self.notes = [note_of_identifiers(identifiers)] if identifiers else []
            return self._stream(self.numbers, (len(self.numbers),), f"{self.path}, columns of numbers")
        where = f"{self.path}, column {name!r}"
        if not arrow_files.is_list(self.schema.field(name).type):
            raise DataError(f"{where}: is of type {self.schema.field(name).type}; expected lists of numbers")
        row = arrow_files.tensor_shape(self.schema.field(name).type, where) or self._row_of(name)
        return self._stream((name,), row, where)

    def default_signatures(self, options: Mapping[str, Any]) -> str:
        """Return the set that an option names; one that names a file names no set."""
        name = super().default_signatures(options)
        return "" if is_signature_file(name) else name

    def class_signatures(self) -> dict[str, RawSignatures]:
        """Return the sets of the files of signatures."""
        return {name: read_signatures(file) for name, file in self.sets.items()}

    def class_names(self) -> Sequence[str] | None:
        """Return the names that the metadata state."""
        metadata = self.schema.metadata or {}
        try:
            if b"class_names" in metadata:
                names = json.loads(metadata[b"class_names"])
                return _listed_names(names, f"{self.files[0].file}, class_names in the metadata")
            feature_info = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
            label = next((name for name in self.aliases["y"] if name in feature_info), "")
            if label and feature_info[label].get("_type") == "ClassLabel":
                return _listed_names(
                    feature_info[label]["names"], f"{self.files[0].file}, names of {label!r} in the metadata"
                )
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise DataError(
                f"{self.files[0].file}: class_names in the metadata cannot be read as a JSON list ({error})"
            ) from error
        return None

    def texts(self) -> Mapping[str, str]:
        """Return description, licence and citation of the metadata."""
        metadata = self.schema.metadata or {}
        return {key: metadata[key.encode()].decode(errors="replace") for key in TEXTS if key.encode() in metadata}

    def _is_plain(self, name: str) -> bool:
        return arrow_files.is_number(self.schema.field(name).type)

    def _same_schemas(self) -> None:
        first = self.files[0]
        for part in self.files:
            names = part.schema.names
            twice = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
            if twice:
                raise DataError(f"{part.file}: two columns are called {twice[0]!r}; rename one")
            for name in first.schema.names:
                if name not in names:
                    raise DataError(f"{part.file}: no column {name!r}, which {first.file.name} has")
                here, there = part.schema.field(name).type, first.schema.field(name).type
                if not _alike(here, there):
                    raise DataError(f"{part.file}: column {name!r} is {here}, but {there} in {first.file.name}")
            more = [name for name in names if name not in first.schema.names]
            if more:
                raise DataError(f"{part.file}: column {more[0]!r} is not in {first.file.name}")

    def _row_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a row, as the first one of all files has it."""
        for part in self.files:
            if (shape := part.row_shape(name)) is not None:
                return shape
        return (0,)

    def _stream(self, names: tuple[str, ...], row: tuple[int, ...], where: str) -> RowStream:
        stored = {name: arrow_files.number_type(self.schema.field(name).type) for name in names}
        for name, kind in stored.items():
            if kind is None:
                raise DataError(f"{where}: features are of type {self.schema.field(name).type}; expected numbers")
        # Whole numbers and float32 side by side are float64, of which the values decide.
        dtype = np.result_type(*(kind for kind in stored.values() if kind is not None))
        # What CSV writes has no type, and its values decide.
        narrow = np.dtype(np.float64) not in stored.values() or self.files[0].file.suffix == ".csv"
        rows = rows_of_a_block(row, dtype.itemsize)
        shown = f"column {names[0]!r}" if len(names) == 1 else "columns of numbers"
        pieces = [
            Piece(part.rows, partial(part.blocks, names, rows, row, dtype), f"{part.file}, {shown}")
            for part in self.files
        ]
        return stream_of(pieces, row, dtype, where, narrow=narrow)


def _set_name(file: Path) -> str:
    return file.stem.rpartition("signatures")[2][1:] or "S" if "signatures" in file.stem else "S"


def read_signatures(file: Path) -> RawSignatures:
    """Return the signatures of a file: CSV, Parquet, ``.npz`` with or ``.npy`` without names of classes."""
    if file.suffix == ".csv":
        return csv_tables.read_signatures(file)
    if file.suffix in (".npy", ".npz"):
        return _read_arrays(file)
    part = ParquetPart(file)
    fields = {field.name: field.type for field in part.schema}
    words = [name for name, kind in fields.items() if arrow_files.is_text(kind)]
    classes = next((name for name in _CLASS if name in fields), words[0] if len(words) == 1 else "")
    if not classes:
        raise DataError(f"{file}: no column that names the class; it holds {', '.join(fields)}; call that column class")
    free = [name for name in fields if name != classes and name not in _pandas_index(part.schema)]
    lists = [name for name in free if arrow_files.is_list(fields[name])]
    numbers = [name for name in free if arrow_files.is_number(fields[name]) or pa.types.is_boolean(fields[name])]
    if len(lists) > 1 or not (lists or numbers):
        raise DataError(
            f"{file}: expected attributes as columns of numbers or one column of lists, beside {classes!r}; it holds "
            + ", ".join(f"{name} ({kind})" for name, kind in fields.items())
        )
    texts = [name for name in free if not lists and arrow_files.is_text(fields[name])]
    if texts:
        raise DataError(
            f"{file}: column {texts[0]!r} holds texts; every column beside {classes!r} is an attribute, of numbers"
        )
    described = np.array(names_of(part.column(classes), f"{file}, column {classes!r}"))
    if lists:
        return RawSignatures(part.column(lists[0]), described, named=True)
    matrix = np.stack([in_type(part.column(name), DOUBLE, f"{file}, column {name!r}") for name in numbers], axis=1)
    return RawSignatures(matrix, described, names=numbers, named=True)


def _read_arrays(file: Path) -> RawSignatures:
    if file.suffix == ".npy":
        return RawSignatures(read_npy(file))
    keys = NpzFile(file)
    values, names = keys.key_of("S", {}), keys.key_of("class_names", {})
    if not values:
        raise DataError(f"{file}: no key {' or '.join(ALIASES['S'])} for the signatures; {keys.listing}")
    classes = np.array(names_of(keys.read(names), f"{file}, {names}")) if names else None
    return RawSignatures(keys.read(values), classes, named=classes is not None)


def _listed_names(names: Any, where: str) -> list[str]:
    if not isinstance(names, list):
        raise ValueError(f"{type(names).__name__} in place of a list")
    return names_of(names, where)


def _alike(here: pa.DataType, there: pa.DataType) -> bool:
    """Tell whether columns of two files can follow each other; dictionaries and long offsets are ways of storing."""
    here, there = arrow_files.storage_type(here), arrow_files.storage_type(there)
    if arrow_files.is_list(here) and arrow_files.is_list(there):
        return _alike(here.value_type, there.value_type)
    return bool(here == there) or (arrow_files.is_text(here) and arrow_files.is_text(there))


def _as_numbers(texts: np.ndarray) -> np.ndarray:
    """Return texts as whole numbers where these would be written so: 01 is none."""
    if not (np.char.isdigit(texts).all() and np.char.str_len(texts).max(initial=0) < 18):
        return texts
    numbers = texts.astype(np.int64)
    return numbers if (numbers.astype(np.str_) == texts).all() else texts


def _joined(pieces: list[np.ndarray]) -> np.ndarray:
    filled = [piece for piece in pieces if len(piece)] or pieces[:1]
    return filled[0] if len(filled) == 1 else np.concatenate(filled)


def _pandas_index(schema: pa.Schema) -> set[str]:
    """Return the columns that pandas wrote as the index of a frame."""
    try:
        pandas_metadata = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return {name for name in pandas_metadata.get("index_columns", ()) if isinstance(name, str)}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return set()
