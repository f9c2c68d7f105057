"""Labels and row indices as files store them -> 0-based int64.

Files count from 1 or from 0, in any integer, unsigned or floating type. The cast to int64 comes first: subtracting in
an unsigned type would turn an illegal 0 into the largest number instead of an error.
"""

from __future__ import annotations

import numpy as np

from zslplat.errors import DataError


def class_ids(values: np.ndarray, where: str, *, base: int) -> np.ndarray:
    """Return numeric labels that count from ``base`` as 0-based class ids (n,)."""
    ids = whole_numbers(values, where)
    if len(ids) and ids.min() < base:
        raise DataError(f"{where}: smallest label is {ids.min()}, but labels count from {base}")
    return ids - base


def mask_of(values: np.ndarray, rows: int) -> np.ndarray | None:
    """Return values as a mask (rows,) of truth values where they are one, None where they are not.

    Numbers 1 and 0 and texts true and false are truth values. More than two rows have no indices of only 1 and 0.
    """
    flat = values.reshape(-1) if values.ndim == 2 and 1 in values.shape else values
    if flat.shape != (rows,) or flat.dtype.kind not in "biufU" or (rows <= 2 and flat.dtype != bool):
        return None
    if flat.dtype.kind == "U":
        flat = np.char.lower(np.char.strip(flat))
        return flat == "true" if np.isin(flat, ("true", "false")).all() else None
    return flat == 1 if np.isin(flat, (0, 1)).all() else None


def row_indices(values: np.ndarray, rows: int, where: str, *, base: int) -> np.ndarray:
    """Return indices that count from ``base``, or a mask (rows,), as 0-based row indices in the same order.

    Raises :class:`DataError` when they are no whole numbers, empty, leave the rows, or name a row twice.
    """
    mask = mask_of(values, rows)
    if mask is not None:
        values, base = np.flatnonzero(mask), 0
    elif values.dtype == bool:
        raise DataError(f"{where}: a mask of shape {values.shape} for {rows} rows; expected ({rows},)")
    index = whole_numbers(values.reshape(-1) if values.ndim == 2 and 1 in values.shape else values, where)
    if len(index) == 0:
        raise DataError(f"{where}: holds no row; give the rows, or leave it out")
    if len(index) > 2 and np.isin(index, (-1, 0, 1)).all():
        raise DataError(
            f"{where}: {len(index)} entries of {', '.join(map(str, np.unique(index)))}; a mask has one for each of the "
            f"{rows} rows, 1 or 0, and indices name no row twice"
        )
    if index.min() < base or index.max() >= rows + base:
        raise DataError(
            f"{where}: indices run from {index.min()} to {index.max()} but the {rows} rows count from {base} to "
            f"{rows + base - 1}"
        )
    index = index - base
    taken = np.bincount(index, minlength=rows)
    if taken.max() > 1:
        raise DataError(f"{where}: row {int(np.argmax(taken > 1)) + base} is listed more than once")
    return index


def whole_numbers(values: np.ndarray, where: str) -> np.ndarray:
    """Return a vector of whole numbers of any numeric type as int64; raises :class:`DataError` for anything else."""
    values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise DataError(f"{where}: expected a vector of whole numbers, got {values.dtype} {values.shape}")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError(f"{where}: holds NaN or infinity; expected whole numbers")
        if (values != np.rint(values)).any():
            raise DataError(f"{where}: {values[values != np.rint(values)][0]} is no whole number")
    return np.ascontiguousarray(values.astype(np.int64))
