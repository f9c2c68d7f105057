"""Predictions for the rows of a file, written as they are made."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.atomic_files import replacing
from zslplat.errors import DataError, StoreError, UsageError
from zslplat.models.model import SavedModel
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
    asked = model.asked_for(signatures, generalised)
    first = 0
    blocks = rows.blocks(model.block_rows)
    for block in iter([np.vstack(list(blocks))]) if model.joint else blocks:
        try:
            X = model.checked(block, first)
        except DataError as error:
            raise DataError(f"{rows.path}: {error}") from error
        yield model.table(X, first, top or model.usual_top(), asked, scores=scores)
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
