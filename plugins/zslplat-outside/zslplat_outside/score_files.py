"""Matrices of scores that other software wrote: .npy, CSV and Parquet, recognised by the suffix.

A ``.npy`` file is the matrix (m, c) alone; which row and which class is which is stated elsewhere. CSV and
Parquet files name a class in the head of each column; a column ``row`` holds the rows of the data set, a column
``fold`` the validation folds, and both may stand anywhere. Folds may have classes of their own: cells of classes that a
fold does not score are empty. The index of a data frame, which has no name, is left out where there is a column
``row``. No file may hold Python objects.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.csv_tables import read_arrow
from zslplat.data.formats.npz import load_npy
from zslplat.data.store.precision import in_type
from zslplat.errors import DataError, MissingDataError

ROW, FOLD, CLASS = "row", "fold", "class"

# What pandas calls an index without a name, in Parquet and in CSV.
_INDEX = re.compile(r"(__index_level_\d+__)?")

SUFFIXES = (".npy", ".csv", ".parquet")

_EXPECTED_ROWS = "expected rows of the data set, whole numbers counted from 0"


@dataclass(frozen=True)
class ScoreFile:
    """What a file holds: ``scores`` (m, c), or another array where it is no matrix, and what it says of both sides.

    ``rows`` (m,) rows of the data set, ``classes`` (c,) names of columns, ``folds`` (m,) names of folds; None where the
    file does not say. ``empty`` (m, c) tells which cells are empty, where a file of folds has any. ``where`` names
    the file in messages, ``sha256`` is that of its bytes.
    """

    where: str
    scores: np.ndarray
    rows: np.ndarray | None = None
    classes: tuple[str, ...] | None = None
    folds: np.ndarray | None = None
    sha256: str = ""
    empty: np.ndarray | None = None

    def of_fold(self, name: str) -> ScoreFile:
        """Return the part that is of one fold, with the classes that it has scores of.

        Raises :class:`DataError` where only some of the cells of a class are empty.
        """
        assert self.folds is not None
        assert self.classes is not None
        places = np.flatnonzero(self.folds == name)
        rows = None if self.rows is None else self.rows[places]
        columns = np.arange(len(self.classes))
        if self.empty is not None:
            empty = self.empty[places]
            columns = np.flatnonzero(~empty.all(axis=0))
            if empty[:, columns].any():
                place, column = (int(part[0]) for part in np.nonzero(empty[:, columns]))
                raise DataError(
                    f"{self.where}: row {places[place]}, column {self.classes[columns[column]]!r} is empty, and "
                    f"others of {name} are not; give a score for every row and class of a fold"
                )
        classes = tuple(self.classes[place] for place in columns)
        return ScoreFile(
            f"{self.where}, {name}", self.scores[np.ix_(places, columns)], rows, classes, None, self.sha256
        )


def read_scores(path: Path) -> ScoreFile:
    """Read a file of scores; raises :class:`DataError` for what is no table of numbers."""
    check_readable(path, SUFFIXES, "a matrix of scores")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if _suffix(path) == ".npy":
        return ScoreFile(str(path), _array(path), sha256=digest)
    table = _table(path)
    names = [str(name) for name in table.column_names]
    for special in (ROW, FOLD):
        if names.count(special) > 1:
            raise DataError(
                f"{path}: {names.count(special)} columns are called {special!r}; leave one; where a class is called "
                "so, give the scores as .npy, with --manifest or --rows and --classes"
            )
    index = {name for name in names if _INDEX.fullmatch(name)}
    if index and ROW not in names:
        raise DataError(
            f"{path}: holds the index of a data frame, which has no name, and no column {ROW!r}; name the index "
            f"{ROW!r} where it tells the rows of the data set, else leave it out: frame.reset_index(drop=True)"
        )
    places = [place for place, name in enumerate(names) if name not in {ROW, FOLD, *index}]
    if not places or not table.num_rows:
        raise DataError(
            f"{path}: {table.num_rows} rows and {len(places)} columns of scores; expected a column for each class, "
            "with its name in the first line, separated by commas"
        )
    classes = tuple(names[place] for place in places)
    by_fold = FOLD in names
    empty = np.stack([_empty(table.column(place)) for place in places], axis=1) if by_fold else None
    columns = [_numbers(table.column(place), path, names[place], filled=by_fold) for place in places]
    dtype = np.result_type(*columns)
    named = zip(classes, columns, strict=True)
    columns = [in_type(column, dtype, f"{path}, column {name!r}") for name, column in named]
    rows = _whole_numbers(table.column(names.index(ROW)), path) if ROW in names else None
    folds = np.array(_texts(table.column(names.index(FOLD)), path, FOLD)) if by_fold else None
    return ScoreFile(str(path), np.stack(columns, axis=1), rows, classes, folds, digest, empty)


def read_rows(path: Path) -> np.ndarray:
    """Return the rows of the data set that a file lists: column ``row`` of CSV or Parquet, or a .npy vector."""
    check_readable(path, SUFFIXES, "rows")
    if _suffix(path) != ".npy":
        return _whole_numbers(_column(path, ROW, "the rows of the data set that were scored"), path)
    rows = _array(path)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise DataError(f"{path}: holds {rows.dtype} of shape {rows.shape}; expected a vector of whole numbers")
    return rows.astype(np.int64)


def read_classes(path: Path) -> tuple[str, ...]:
    """Return the names of classes that a file lists, in its order: column ``class`` of CSV or Parquet."""
    check_readable(path, SUFFIXES[1:], "names of classes")
    return tuple(_texts(_column(path, CLASS, "the names of the classes in the order of the scores"), path, CLASS))


def check_readable(path: Path, suffixes: Sequence[str], what: str) -> None:
    """Raise :class:`DataError` where a file is not there or of a kind that is not read."""
    kinds = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
    if _suffix(path) not in suffixes:
        more = "; of an .npz file save the array alone: numpy.save" if _suffix(path) == ".npz" else ""
        raise DataError(f"{path}: expected a {kinds} file with {what}{more}")
    if not path.is_file():
        raise MissingDataError(f"{path}: no such file; give the {kinds} file with {what}")


def _suffix(path: Path) -> str:
    return path.suffix.lower()


def _array(path: Path) -> np.ndarray:
    try:
        return load_npy(path)
    except (OSError, ValueError, EOFError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path}: cannot be read as a .npy file of numbers ({reason}); write it with numpy.save, as an array of "
            "float32 or float64"
        ) from error


def _table(path: Path, texts: Sequence[str] = (FOLD,)) -> Any:
    if _suffix(path) == ".csv":
        return read_arrow(path, texts)  # a class may be called 01
    from zslplat.data.formats.arrow_files import read_table

    return read_table(path)


def _column(path: Path, name: str, what: str) -> Any:
    table = _table(path, (CLASS, FOLD))
    if table.column_names.count(name) != 1:
        shown = ", ".join(map(repr, table.column_names[:5])) + (", ..." if len(table.column_names) > 5 else "")
        raise DataError(f"{path}: no column {name!r} but {shown}; give a file whose column {name!r} holds {what}")
    if not table.num_rows:
        raise DataError(f"{path}: nothing stands under {name!r}; give a file whose column {name!r} holds {what}")
    return table.column(name)


def _empty(column: Any) -> np.ndarray:
    return np.asarray(column.is_null().to_numpy())


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _numbers(column: Any, path: Path, name: str, *, filled: bool = False) -> np.ndarray:
    """Return a column as numbers, float32 and float64 as they are; nothing in a cell is an error, or 0 (``filled``)."""
    import pyarrow as pa

    kind = column.type
    if not _is_numeric(kind):
        place, cell = _first(column.to_pylist(), lambda value: not _is_number(value))
        raise DataError(
            f"{path}: row {place}, column {name!r} holds {cell!r}; expected a score, a number, for every row and class"
            f"{'' if kind == pa.null() else ' (columns beside the classes: only row and fold)'}"
        )
    if filled:
        column = column.fill_null(0)
    if column.null_count:
        place, _ = _first(column.to_pylist(), lambda value: value is None)
        raise DataError(f"{path}: row {place}, column {name!r} is empty; give a score for every row and class")
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy())


def _whole_numbers(column: Any, path: Path) -> np.ndarray:
    if not _is_numeric(column.type):  # numbers as text, as tables without types have them
        texts = _texts(column, path, ROW)
        place, cell = _first(texts, lambda text: not text.strip().isdecimal())
        if not cell.strip().isdecimal():
            raise DataError(f"{path}: row {place} of column {ROW!r} holds {cell!r}; {_EXPECTED_ROWS}")
        values = np.array(texts, dtype=np.float64)
    else:
        values = _numbers(column, path, ROW)
    # Tables that once had a missing value hold whole numbers as floating ones.
    bad = ~(np.abs(values) < 2.0**53) | (values != np.round(values))
    if bad.any():
        place = int(np.argmax(bad))
        raise DataError(f"{path}: row {place} of column {ROW!r} holds {values[place]}; {_EXPECTED_ROWS}")
    return values.astype(np.int64)


def _texts(column: Any, path: Path, name: str) -> list[str]:
    values = column.to_pylist()
    if any(value is None or value == "" for value in values):
        place, _ = _first(values, lambda value: value is None or value == "")
        raise DataError(f"{path}: row {place} of column {name!r} is empty; fill it in")
    return [str(value) for value in values] if name == ROW else names_of(values, f"{path}, column {name!r}")


def _first(values: Sequence[Any], fits: Callable[[Any], bool]) -> tuple[int, Any]:
    return next(((place, value) for place, value in enumerate(values) if fits(value)), (0, values[0]))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)
