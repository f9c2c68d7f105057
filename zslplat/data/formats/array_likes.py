"""Array-likes as arrays: pandas tables, lists, arrays of objects, dictionaries; anything else is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from zslplat.data.store.precision import beyond_whole, require_exact
from zslplat.errors import DataError, UsageError, quoted


def array_of(value: Any, what: str) -> np.ndarray:
    """Return an array or table as an array; raises :class:`DataError` for what makes none.

    Lists of several lengths, sparse matrices, and values that a mask hides.
    """
    if hasattr(value, "toarray"):
        raise DataError(f"{what} is a sparse matrix; give an array, {what}.toarray()")
    if np.ma.is_masked(value):
        raise DataError(f"{what} hides values behind a mask; give numbers for them, or leave these rows out")
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise DataError(f"{what} holds lists of several lengths; expected an array") from None


def numbers_of(source: Any, what: str) -> np.ndarray:
    """Return numbers as an array, those in an array of objects, too; raises :class:`DataError` for others.

    Of whole numbers beside others, in a table or list, there are none that float64 does not hold.
    """
    result = array_of(source, what)
    if result.dtype == object and not any(isinstance(value, str) for value in result.reshape(-1)):
        with suppress(TypeError, ValueError):
            result = result.astype(np.float64)
    if result.dtype.kind not in "biuf":
        _refuse_column(source, what)
        first = quoted(result.reshape(-1)[:1].tolist(), 60)[1:-1] or "nothing"
        raise DataError(f"{what} is of type {result.dtype} and holds {first}; expected numbers")
    if result is not source and result.dtype.kind == "f" and beyond_whole(result):
        # A table as an array of objects has what float64 made of its whole numbers.
        columns = [column for _, column in source.items()] if hasattr(source, "dtypes") else [source]
        require_exact((one for column in columns for one in np.asarray(column, dtype=object).reshape(-1)), what)
    return result


def _refuse_column(table: Any, what: str) -> None:
    """Raise :class:`DataError` for the first column of a DataFrame that holds no numbers."""
    for name in named_columns(table) or ():
        column = np.asarray(table[name], dtype=object).reshape(-1)
        strange = next((one for one in column if isinstance(one, str) or not np.isscalar(one)), None)
        if strange is not None:
            raise DataError(
                f"{what}, column {quoted(name)} holds {quoted(strange, 60)}; expected numbers; leave it out: "
                f"{what}.drop(columns={quoted(name)})"
            )


def plain_labels(labels: np.ndarray, what: str) -> np.ndarray:
    """Return labels in an array of objects as texts, or as whole numbers where all of them are; others as they are.

    Numbers with a point are whole numbers where all of them are. Raises :class:`DataError` for a label that is missing
    (None, NaN).
    """
    if labels.dtype == object:
        flat = labels.reshape(-1).tolist()
        lost = next((place for place, label in enumerate(flat) if _is_missing(label)), None)
        if lost is not None:
            raise DataError(f"{what}: entry {lost} is missing ({flat[lost]}); leave it out, or give its label")
        if not flat or not all(isinstance(label, int | float | np.number) for label in flat):
            return np.array(names_of(flat, what)).reshape(labels.shape)
        labels = np.array(flat).reshape(labels.shape)
    if labels.dtype.kind == "f":
        finite = np.isfinite(labels)
        if not finite.all():
            raise DataError(f"{what}: entry {int(np.argmin(finite.reshape(-1)))} is NaN or infinity; expected a label")
        if (labels == np.round(labels)).all():
            return labels.astype(np.int64)
    return labels


def names_of(values: Any, what: str) -> list[str]:
    """Return names as stripped texts: texts, bytes in UTF-8, and whole numbers in digits.

    Raises :class:`DataError`, with the place, for anything else: what Python writes for it is no name.
    """
    names = []
    for place, one in enumerate(values.reshape(-1).tolist() if isinstance(values, np.ndarray) else values):
        text = one
        if isinstance(one, bytes):
            with suppress(UnicodeDecodeError):
                text = one.decode()
        if isinstance(text, bool) or not isinstance(text, str | int | np.integer):
            raise DataError(
                f"{what}: entry {place} is {quoted(one)}, of type {type(one).__name__}; expected a name, a text or a "
                "whole number"
            )
        names.append(str(text).strip())
    return names


def require_names(names: Sequence[str], what: str) -> None:
    """Raise :class:`DataError` for a name without a letter, and for two that are the same."""
    if "" in names:
        raise DataError(f"{what}: entry {names.index('')} is empty; give every class a name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{what}: class {twice!r} is listed twice")


def named_columns(table: Any) -> tuple[str, ...] | None:
    """Return what the columns of a DataFrame are called, None where they are only counted, and for other things."""
    columns = getattr(table, "columns", None)
    if columns is None or callable(columns):
        return None
    values = np.asarray(columns)
    if values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values))):
        return None
    return tuple(str(name) for name in columns)


def table_of(signatures: Mapping[Any, Any], what: str) -> tuple[Any, list[Any]]:
    """Return signatures {class: signature (a,), or several of them (k, a)} as rows (m, a), and the class of each row.

    Where the numbers of every class are named (a Series, a dictionary), the rows are a DataFrame with these columns:
    they need not come in one order. Raises :class:`DataError` and :class:`UsageError` for what makes no such rows.
    """
    import pandas as pd

    if not signatures:
        raise DataError(f"{what} holds no class; expected {{class: signature}}")
    if all(isinstance(one, Mapping | pd.Series) for one in signatures.values()):
        lines = [dict(one) for one in signatures.values()]
        for name, line in zip(signatures, lines, strict=True):
            strange = sorted(map(str, line.keys() ^ lines[0].keys()))
            if strange:
                raise DataError(f"{what}: attribute {quoted(strange[0])} is not in all classes, see {quoted(name)}")
        frame = pd.DataFrame([[line[key] for key in lines[0]] for line in lines], columns=list(lines[0]))
        return frame, list(signatures)
    parts = [np.atleast_2d(numbers_of(one, f"{what}, {quoted(name)}")) for name, one in signatures.items()]
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1 or any(part.ndim != 2 for part in parts):
        raise UsageError(f"{what}: classes with {widths} attributes; give all of them as many")
    return np.vstack(parts), [name for name, part in zip(signatures, parts, strict=True) for _ in range(len(part))]


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA says neither
        return True
    except ValueError:  # an array, which is no label either, and is refused elsewhere
        return False
