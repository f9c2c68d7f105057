"""Predictions of a saved model: for the rows of a file, written as they are made, and as MLflow asks for them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import names_of, numbers_of
from zslplat.data.store.atomic_files import replacing
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.errors import DataError, StoreError, UsageError
from zslplat.models.model import SavedModel, load_saved
from zslplat.models.row_files import RowFile

SUFFIXES = (".csv", ".parquet")


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
    if output.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{output}: predictions are written to {' or '.join(SUFFIXES)}; give such a name")
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise UsageError(f"{output}: its folder does not exist, or it is one; give the name of a file in a folder")


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
        X = model.checked(rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows))
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
