"""Predictions of a saved model: for the rows of a file, written as they are made, and as MLflow asks for them.

Rows in a file: ``.npy`` and ``.parquet``, of which memory holds a block at a time, or ``.csv``, which is read whole.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import names_of, numbers_of
from zslplat.data.formats.bounds import reading
from zslplat.data.formats.feature_files import is_identifier
from zslplat.data.formats.fields import ALIASES
from zslplat.data.store.atomic_files import replacing
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.data.store.rows import View
from zslplat.errors import DataError, StoreError, UsageError, quoted, require_package
from zslplat.models.model import SavedModel, load_saved

SUFFIXES = (".npy", ".csv", ".parquet")
_FEATURES = ("features", "X")
_OTHER_MODEL = "zslplat models lists the models, --run RUN chooses one"
# Columns of a data set that are no features.
_BESIDE = {name for role, names in ALIASES.items() if role != "X" for name in names}


class RowFile:
    """The rows of a file, of ``views`` side by side; ``rows`` is their number where the file says it.

    ``columns`` are the names of the features: those of a table are taken in this order, whatever their own.
    """

    def __init__(self, path: Path, views: tuple[View, ...], columns: Sequence[str] = ()) -> None:
        if not path.is_file():
            raise UsageError(f"{path}: no such file of rows; expected one of {', '.join(SUFFIXES)}")
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{path}: rows are read from {', '.join(SUFFIXES)}; save them as one of these")
        self.path, self.views, self.columns = path, views, columns
        self.width = sum(view.width for view in views)
        self._table = None if path.suffix.lower() == ".npy" else _table_of(path)
        self.rows = len(self._array()) if self._table is None else self._table.rows
        self.ignored = self._ignored()

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Yield (n, d) blocks of at most so many rows, in order; raises :class:`DataError` for what cannot be read."""
        if not self.rows:
            raise DataError(f"{self.path}: holds no rows")
        yield from self._of_npy(rows) if self._table is None else self._of_table(self._table, rows)

    def _ignored(self) -> list[str]:
        """Return the named columns beside the features: labels, splits and identifiers, where the others fit."""
        if self._table is None:
            return []
        lists, numbers = _columns(self._table.schema)
        if self.columns and set(self.columns) <= set(numbers):
            return [name for name in self._table.schema.names if name not in self.columns]
        beside = [name for name in self._table.schema.names if name in _BESIDE or is_identifier(name)]
        fits = not self._chosen(lists) and len([name for name in numbers if name not in beside]) == self.width
        return beside if fits else []

    def _array(self) -> np.ndarray:
        """Return the rows of an ``.npy`` file, mapped."""
        with reading(self.path, "an .npy file", "expected rows saved with numpy.save"):
            array: np.ndarray = np.lib.format.open_memmap(self.path, mode="r")
        if array.ndim < 2 or array.dtype.kind not in "fiub" or math.prod(array.shape[1:]) != self.width:
            raise UsageError(
                f"{self.path}: an array of shape {array.shape} and type {array.dtype}; the model takes rows of "
                f"{self.width} numbers, (n, {self.width}); {_OTHER_MODEL}"
            )
        return array

    def _of_npy(self, rows: int) -> Iterator[np.ndarray]:
        array = self._array()
        for first in range(0, len(array), rows):
            yield np.array(array[first : first + rows]).reshape(-1, self.width)

    def _of_table(self, part: Any, rows: int) -> Iterator[np.ndarray]:
        lists, numbers = _columns(part.schema)
        lacking = [name for name in self.columns if name not in numbers]
        chosen = [] if self.columns and not lacking else self._chosen(lists)
        numbers = [name for name in numbers if name not in self.ignored]
        if not chosen and len(lacking) < len(self.columns):  # with other names throughout, columns go by their places
            if lacking:
                name = quoted(lacking[0])
                raise UsageError(f"{self.path}: no column of numbers {name}, which the model takes; {_OTHER_MODEL}")
            numbers = list(self.columns)
        if not chosen and len(numbers) != self.width:
            texts = [name for name in part.schema.names if name not in (*numbers, *lists, *self.ignored)]
            others = f"; no numbers are in {', '.join(map(quoted, texts[:4]))}" if texts else ""
            raise UsageError(
                f"{self.path}: {len(numbers)} columns of numbers and {len(lists)} of lists{others}; the model takes "
                f"{self.width} numbers a row: as many columns, or one of lists called features; {_OTHER_MODEL}"
            )
        if not chosen:
            yield from part.blocks(numbers, rows, (self.width,), np.dtype(np.float64))
            return
        shapes = {name: part.row_shape(name) for name in chosen}
        count = sum(math.prod(shape) for shape in shapes.values() if shape is not None)
        if None not in shapes.values() and count != self.width:
            raise UsageError(
                f"{self.path}: {' and '.join(chosen)} hold {count} numbers a row; the model takes {self.width}"
            )
        streams = [
            part.blocks([name], rows, shape, np.dtype(np.float64))
            for name, shape in shapes.items()
            if shape is not None
        ]
        for blocks in zip(*streams, strict=True):
            dtype = np.result_type(*blocks)
            yield np.hstack([in_type(one, dtype, str(self.path)).reshape(len(one), -1) for one in blocks])

    def _chosen(self, lists: list[str]) -> list[str]:
        """Return the columns of lists that hold the features, one for each view where there are several."""
        named = [view.name for view in self.views if view.name]
        for forms in (("{}",), ("features_{}", "X_{}", "features-{}", "X-{}")):
            columns = [next((n for n in (f.format(name) for f in forms) if n in lists), "") for name in named]
            if columns and all(columns):
                return columns
        for name in _FEATURES:
            if name in lists:
                return [name]
        return lists if len(lists) == 1 else []


def _table_of(path: Path) -> Any:
    # The library is large, and few processes read tables.
    require_package("pyarrow", "files", f"{path}: reading {path.suffix[1:]}")
    from zslplat.data.formats.arrow_files import ParquetPart

    return ParquetPart(path)


def _columns(schema: Any) -> tuple[list[str], list[str]]:
    """Return the names of the columns of lists, and of numbers, without what pandas calls an index."""
    from zslplat.data.formats.arrow_files import is_list, is_number

    lists = [column.name for column in schema if is_list(column.type)]
    numbers = [column.name for column in schema if is_number(column.type) and not column.name.startswith("__index")]
    return lists, numbers


OUTPUT_SUFFIXES = (".csv", ".parquet")


Write = Callable[[Mapping[str, Any]], None]


def predictions(
    model: SavedModel,
    rows: RowFile,
    signatures: Any = None,
    *,
    generalised: bool = False,
    top: int | None = None,
    scores: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield columns of predictions (see :meth:`SavedModel.table`), block by block in the order of the file.

    A model that scores the rows of a batch jointly is given all of them at once. Raises :class:`UsageError` and
    :class:`DataError` for rows and signatures that do not fit.
    """
    candidates = model.candidates_for(signatures, generalised)
    first = 0
    blocks = rows.blocks(model.block_rows)
    for block in iter([np.vstack(list(blocks))]) if model.joint else blocks:
        try:
            X = model.checked(block, first)
        except DataError as error:
            raise DataError(f"{rows.path}: {error}") from error
        yield model.table(X, first, top or model.usual_top(), candidates, scores=scores)
        first += len(X)


def write_predictions(
    blocks: Iterator[Mapping[str, Any]], output: Path, on_rows: Callable[[int], None] = lambda rows: None
) -> int:
    """Write predictions to a ``.csv`` or ``.parquet`` file, whole or not at all; return the number of rows.

    ``on_rows``: told how many rows are done. Raises :class:`UsageError` for a file of another kind,
    :class:`StoreError` where it cannot be written.
    """
    check_output(output)
    done = 0
    with ExitStack() as stack:
        try:
            output.absolute().parent.mkdir(parents=True, exist_ok=True)
            new = stack.enter_context(replacing(output))
        except OSError as error:
            raise _unwritten(output, error) from error
        with (_csv if output.suffix.lower() == ".csv" else _parquet)(str(new)) as write:
            for columns in blocks:
                try:
                    write(columns)
                except OSError as error:
                    raise _unwritten(output, error) from error
                done += len(columns["row"])
                on_rows(done)
    return done


def check_output(output: Path) -> None:
    """Raise :class:`UsageError` for a file that predictions cannot be written to."""
    if output.suffix.lower() not in OUTPUT_SUFFIXES:
        raise UsageError(f"{output}: predictions are written to {' or '.join(OUTPUT_SUFFIXES)}; give such a name")
    if output.is_dir():
        raise UsageError(f"{output} is a folder; give the name of a file")


@contextmanager
def _csv(path: str) -> Iterator[Write]:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        begun = False

        def write(columns: Mapping[str, Any]) -> None:
            nonlocal begun
            if not begun:
                lines.writerow(columns)
                begun = True
            # Numbers as Python writes them, so that they come back as they were.
            lines.writerows(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))

        yield write


@contextmanager
def _parquet(path: str) -> Iterator[Write]:
    require_package("pyarrow", "files", f"{path}: writing parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as opened:
        writer: Any = None

        def write(columns: Mapping[str, Any]) -> None:
            nonlocal writer
            table = pa.table({name: pa.array(np.asarray(column)) for name, column in columns.items()})
            if writer is None:
                writer = opened.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)

        yield write


def _unwritten(output: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {output}: {error.strerror or error}; free space or choose another --output")


# What a request may say beside its rows, and what holds where it says nothing: see ``PARAMETERS`` in docs/models.md.
PARAMETERS: Mapping[str, Any] = {"classes": [], "signatures": [], "generalised": False, "top": 0, "scores": False}


class Served:
    """The model of an export; ``predict`` takes rows as an array (n, d) or a frame with a column for each feature.

    What MLflow wants of a Python model is these two methods, so that this module needs no MLflow.
    """

    def __init__(self, folder: Path) -> None:
        self.model = load_saved(folder)

    def predict(self, rows: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return a frame of predictions, a line for each row: ``class``, ``score``, those of the next best.

        ``params``: ``classes``, names of new classes, and ``signatures``, their attributes one class after the other in
        one list; ``generalised``, ``top`` and ``scores`` as `zslplat predict` has them. Raises
        :class:`~zslplat.errors.UsageError` and :class:`~zslplat.errors.DataError` for what does not fit.
        """
        import pandas as pd

        options = {**PARAMETERS, **{name: value for name, value in (params or {}).items() if value is not None}}
        model = self.model
        X = model.checked(rows)
        candidates = model.candidates_for(
            _signatures(options["classes"], options["signatures"]), bool(options["generalised"])
        )
        step = len(X) if model.joint else model.block_rows
        top = int(options["top"]) or model.usual_top()
        tables = [
            pd.DataFrame(model.table(X[first : first + step], first, top, candidates, scores=bool(options["scores"])))
            for first in range(0, len(X), max(1, step))
        ]
        return pd.concat(tables, ignore_index=True).drop(columns="row")


def _signatures(classes: Any, flat: Any) -> tuple[list[str], np.ndarray] | None:
    names, values = names_of(classes, "classes"), in_type(numbers_of(flat, "signatures"), DOUBLE, "signatures")
    if not names and not values.size:
        return None
    if not names or values.size % len(names) or not values.size:
        raise UsageError(
            f"{len(names)} classes and {values.size} numbers of signatures; give classes, and in signatures the "
            "attributes of each, one class after the other in one list"
        )
    return names, values.reshape(len(names), -1)
