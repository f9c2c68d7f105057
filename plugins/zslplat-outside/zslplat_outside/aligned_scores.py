"""Scores that were made elsewhere, put into the order of a problem: every row and class once, finite numbers.

A file that does not fit is refused with one message: what the file has, what the task scores, and what to do.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.data.formats.csv_tables import is_number
from zslplat.data.store.precision import in_type
from zslplat.errors import UsageError, near_names
from zslplat.metrics.ranking import centred
from zslplat.tasks.base import Problem, Task
from zslplat_outside.score_files import ScoreFile

_SHOWN = 5
# The largest scores for which differences, means and sums are finite, by the stored type.
_LARGEST = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e100}
_BLOCK = 1_000_000  # scores per block
_LOW = "a low one for what cannot be, such as the smallest score less 1"


@dataclass(frozen=True)
class Batch:
    """The rows (m,) of the data set that are scored, in the order of a problem, and the names of its classes (c,)."""

    name: str
    rows: np.ndarray
    classes: tuple[str, ...]

    @classmethod
    def of(cls, task: Task, problem: Problem) -> Batch:
        """Return what a problem scores; raises :class:`UsageError` if that is not one batch of rows and classes."""
        rows, classes = task.batch(problem)
        return cls(problem.name, np.asarray(rows, dtype=np.int64), tuple(classes))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (m, c) of a matrix of its scores."""
        return len(self.rows), len(self.classes)

    @property
    def rows_digest(self) -> str:
        """The first 32 hex digits of the SHA-256 of the rows in their order, each as 8 bytes, the lowest first."""
        return hashlib.sha256(np.ascontiguousarray(self.rows, dtype="<i8").tobytes()).hexdigest()[:32]

    @property
    def classes_digest(self) -> str:
        """The same of the names of the classes in their order, UTF-8, each followed by a line feed."""
        return hashlib.sha256("".join(f"{name}\n" for name in self.classes).encode()).hexdigest()[:32]


def aligned(
    file: ScoreFile,
    batch: Batch,
    rows: np.ndarray | None = None,
    classes: Sequence[str] | None = None,
    *,
    of_fold: bool = False,
) -> np.ndarray:
    """Return the scores (m, c) of a file in the order of a batch, float32 unchanged and other numbers as float64.

    The byte order is that of this machine. Names of classes that differ only in their form of Unicode are taken as
    equal where one class can be meant. ``rows`` and ``classes`` say what its rows and columns are where the file does
    not; ``of_fold``: only a manifest can say it. Raises :class:`UsageError` where rows and classes are not those of the
    batch, each once, and for scores that are not finite or too large to compute with.
    """
    _check_form(file, batch)
    given_rows = file.rows if file.rows is not None else rows
    given_classes = file.classes if file.classes is not None else classes
    if given_classes is None or given_rows is None:
        side = "rows" if given_rows is None else "classes"
        instead = "a file that names them" if of_fold else f"--{side} FILE"
        head = "" if set(file.classes or ()) & set(batch.classes) else _numbers_for_names(file.classes or ())
        raise UsageError(
            f"{file.where} does not say which {side} it scores; give --manifest FOLDER of the `zslplat export-split` "
            f"whose order it has, or {instead}{head}"
        )
    _check_length(file, batch, len(given_rows), len(given_classes))
    columns = _class_positions(file, _match_names(given_classes, batch), batch)
    lines = _row_positions(file.where, np.asarray(given_rows), batch)
    _check_finite(file, given_rows, given_classes)
    scores = in_type(file.scores, _stored_type(file.scores), file.where)
    return np.ascontiguousarray(scores[np.ix_(lines, columns)])


def digest_of(scores: np.ndarray, batch: Batch) -> str:
    """Return 64 hex digits that identify scores, whatever the order of their rows and the file they came from."""
    order = np.argsort(batch.rows)
    digest = hashlib.sha256(f"{scores.dtype.str} {scores.shape} {batch.classes_digest}".encode())
    digest.update(np.ascontiguousarray(batch.rows[order], dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(scores[order]).tobytes())
    return digest.hexdigest()


def differences_lost(scores: np.ndarray) -> float:
    """Return the share of differences between the scores (m, c) of a row that vanish when the row's mean is subtracted.

    In float64 nothing is left of ordinary scores beside a placeholder of -1e30.
    """
    total = left = 0
    for block in np.array_split(scores, max(1, scores.size // _BLOCK)):
        ordered = np.sort(np.asarray(block, dtype=np.float64), axis=1)
        total += int(np.count_nonzero(np.diff(ordered, axis=1)))
        left += int(np.count_nonzero(np.diff(centred(ordered), axis=1)))
    return 1 - left / total if total else 0.0


def _check_form(file: ScoreFile, batch: Batch) -> None:
    """Refuse scores that are no matrix of real numbers, or one that is transposed."""
    scores, (m, c) = file.scores, batch.shape
    expected = f"expected scores of shape ({m}, {c}): a number for each of {m} rows and {c} classes of {batch.name}"
    if np.issubdtype(scores.dtype, np.complexfloating):
        raise UsageError(f"{file.where}: complex numbers ({scores.dtype}); {expected}; give real parts or magnitudes")
    if not (np.issubdtype(scores.dtype, np.floating) or np.issubdtype(scores.dtype, np.integer)):
        raise UsageError(f"{file.where}: values of type {scores.dtype}; {expected}, as float32 or float64")
    if scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1 < c):
        raise UsageError(
            f"{file.where}: one number for each of {scores.shape[0]} rows, as predicted labels are; {expected}; of "
            "labels alone no ranking, curve or calibration can be made"
        )
    if scores.ndim != 2:
        raise UsageError(f"{file.where}: an array of shape {scores.shape}; {expected}")
    if scores.shape == (c, m) and m != c:
        raise UsageError(f"{file.where}: shape {scores.shape} is the wrong way round; {expected}; transpose it")


def _stored_type(scores: np.ndarray) -> np.dtype:
    """Return the type in which scores are stored, in the byte order of this machine."""
    is_float32 = scores.dtype.kind == "f" and scores.dtype.itemsize == 4
    return np.dtype(np.float32 if is_float32 else np.float64)


def _check_length(file: ScoreFile, batch: Batch, rows: int, classes: int) -> None:
    """Refuse a matrix whose sides are not as long as the lists of its rows and classes."""
    for name, side, said, named in (
        ("rows", 0, rows, file.rows is not None),
        ("columns", 1, classes, file.classes is not None),
    ):
        if file.scores.shape[side] != said and not named:
            one, plural = ("row", "rows") if side == 0 else ("class", "classes")
            are_classes = set(file.classes or ()) & set(batch.classes)
            head = "" if side or are_classes else _numbers_for_names(file.classes or ())
            raise UsageError(
                f"{file.where}: {file.scores.shape[side]} {name}, but {said} {plural} are said to be scored; expected "
                f"scores of shape {batch.shape} for {batch.name}; give a score for every {one} of {plural}.csv, or of "
                f"the file that --{plural} names{head}"
            )


def _match_names(names: Sequence[str], batch: Batch) -> tuple[str, ...]:
    """Return names of classes as the batch has them, where they differ only in their form of Unicode."""
    forms: dict[str, list[str]] = {}
    for name in batch.classes:
        forms.setdefault(unicodedata.normalize("NFC", name), []).append(name)
    batch_names = set(batch.classes)
    matched = []
    for name in names:
        same = [] if name in batch_names else forms.get(unicodedata.normalize("NFC", name), [])
        matched.append(same[0] if len(same) == 1 else name)
    return tuple(matched)


def _numbers_for_names(names: Sequence[str]) -> str:
    """Return what to do where numbers are in place of names of classes, as in a table without a header."""
    if not names or not all(map(is_number, names)):
        return ""
    return (
        "; the first line of a CSV file, as the names of columns in Parquet, is taken for the names of the classes, "
        "and here it holds numbers: put the names there"
    )


def _class_positions(file: ScoreFile, names: tuple[str, ...], batch: Batch) -> np.ndarray:
    where, batch_classes = file.where, set(batch.classes)
    expected = f"{batch.name} is told apart among {len(batch.classes)} classes"
    twice = _repeated(names)
    if twice:
        raise UsageError(f"{where}: {_listed(twice)} more than once among the classes; leave one column of each")
    unknown = [name for name in names if name not in batch_classes]
    if unknown:
        near = near_names(unknown[0], batch.classes)
        hint = f"did you mean {', '.join(near)}?" if near else f"they are {_listed(batch.classes)}"
        head = _numbers_for_names(unknown) if file.classes is not None and len(unknown) == len(names) else ""
        raise UsageError(
            f"{where}: {len(unknown)} of its {len(names)} columns ({_listed(unknown)}) are no classes that are scored; "
            f"{expected}; {hint}{head}"
        )
    missing = [name for name in batch.classes if name not in set(names)]
    if missing:
        raise UsageError(f"{where}: no scores for {len(missing)} classes ({_listed(missing)}); {expected}; score all")
    positions = {name: number for number, name in enumerate(names)}
    return np.array([positions[name] for name in batch.classes])


def _row_positions(where: str, row_numbers: np.ndarray, batch: Batch) -> np.ndarray:
    expected = f"{batch.name} scores {len(batch.rows)} rows, each once"
    values, counts = np.unique(row_numbers, return_counts=True)
    if (counts > 1).any():
        twice = values[counts > 1]
        raise UsageError(f"{where}: {len(twice)} rows more than once ({_listed(twice)}); {expected}")
    unknown = np.setdiff1d(row_numbers, batch.rows)
    if len(unknown):
        raise UsageError(
            f"{where}: {len(unknown)} of its {len(row_numbers)} rows ({_listed(unknown)}) are not scored; {expected}: "
            "rows of the data set, counted from 0, as `zslplat export-split` writes them"
        )
    missing = np.setdiff1d(batch.rows, row_numbers)
    if len(missing):
        raise UsageError(f"{where}: {len(missing)} rows are missing ({_listed(missing)}); {expected}; score all")
    order = np.argsort(row_numbers)
    return np.asarray(order[np.searchsorted(row_numbers, batch.rows, sorter=order)])


def _check_finite(file: ScoreFile, rows: np.ndarray, classes: Sequence[str]) -> None:
    if not np.issubdtype(file.scores.dtype, np.floating):
        return
    # Numbers wider than float64 may be finite and overflow in the stored type.
    dtype = _stored_type(file.scores)
    with np.errstate(over="ignore"):
        scores = file.scores.astype(dtype, copy=False)
    # NaN and infinity do not compare as smaller.
    largest = _LARGEST[dtype]
    bad = ~(np.abs(scores) <= largest)
    if bad.any():
        endless = ~np.isfinite(scores)
        fault, remedy = f"are beyond {largest:g}, too large to take differences of", "smaller"
        if endless.any():
            bad, fault, remedy = endless, "are NaN or infinite", "finite"
        line, column = (int(part[0]) for part in np.nonzero(bad))
        raise UsageError(
            f"{file.where}: {int(bad.sum())} of {bad.size} scores {fault}, the first {file.scores[line, column]} for "
            f"row {rows[line]}, class {classes[column]}; give {remedy} numbers, {_LOW}"
        )


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _listed(names: Iterable[object]) -> str:
    texts = [str(name) for name in names]
    return ", ".join(texts[:_SHOWN]) + (", ..." if len(texts) > _SHOWN else "")
