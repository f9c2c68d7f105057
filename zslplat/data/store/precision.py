"""The type of stored rows: float32 where it keeps the values of every column apart, else float64.

float32 halves what is stored, read and multiplied. It is enough for a column unless

- a number that is not 0 becomes 0, or one becomes infinite;
- whole numbers become other numbers, as from 2^24 on most do;
- numbers become equal that lie more than 2^-20 of the column's range apart, or more than one in 16 of its distinct
  numbers become equal to another one.

Rounding alone is no loss. float32 has 2^23 numbers between 1/2 and 1, so among 10^5 real numbers some become equal by
chance; these lie within 2^-23 of the range, which nothing that is computed from the column could show. Beyond 2^-20 is
what no column comes to that begins near 0: it lies far from 0 for its range, as times and codes do. Numbers within 16
units in the last place of float64 are one number: that is rounding of whatever wrote them. The last point is looked at
in a sample of the rows, evenly spaced and whole where there are few, the others in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from zslplat.errors import DataError

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

# Numbers and rows of the sample: at most a tenth of a second's worth of sorting.
SAMPLED_NUMBERS, FEWEST_ROWS, MOST_ROWS, FEW = 1 << 19, 256, 1 << 16, 128

VISIBLE, SHARE, LAST_PLACES = 2.0**-20, 16, 2.0**-48

_WHOLE_SINGLE, _WHOLE_DOUBLE = 2.0**24, 2.0**53

_CHUNK = 1 << 18  # numbers that are looked at together, which stay in the processor's cache


def row_type(stored: np.dtype[Any], *, narrow: bool = False) -> np.dtype[Any] | None:
    """Return the type in which rows of a stored type are kept, None where their values decide.

    float32 and float64 stay what they are; with ``narrow`` the values decide over float64, too.
    """
    native = stored.newbyteorder("=")
    if native == DOUBLE and not narrow:
        return DOUBLE
    return SINGLE if native == SINGLE or native.itemsize <= 2 else None


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for types whose numbers it holds, all of them, else float64."""
    return row_type(dtype) or DOUBLE


def in_type(values: np.ndarray, dtype: np.dtype[Any], where: str) -> np.ndarray:
    """Return numbers in another type; raises :class:`DataError` for one that float32 or float64 does not hold.

    To float64 these are whole numbers beyond 2^53 that it has others for, and what becomes 0 or infinite; to float32
    what becomes infinite: it is asked for where float32 is known to hold the values apart.
    """
    with np.errstate(over="ignore", under="ignore"):
        converted = np.asarray(values, dtype=dtype)
    stored = values.dtype.newbyteorder("=")
    if dtype not in (SINGLE, DOUBLE) or stored == dtype or not values.size or stored.itemsize < dtype.itemsize:
        return converted
    if dtype == DOUBLE and stored.kind in "iu":
        lost = _changed(values, converted)
    else:
        lost = _infinite(values, converted) if dtype == SINGLE else _out_of_range(values, converted)
    if lost.any():
        place = int(np.argmax(lost))
        raise _inexact(where, values.reshape(-1)[place], converted.reshape(-1)[place], dtype)
    return converted


def require_exact(numbers: Iterable[Any], where: str) -> None:
    """Raise :class:`DataError` for a whole number, as such or as text, that float64 gives as another one."""
    for number in numbers:
        try:
            whole = int(number) if isinstance(number, str | int | np.integer) else 0
            rounded = float(whole)
        except (ValueError, OverflowError):  # no whole number, or infinite, which is refused where rows are checked
            continue
        if whole != rounded:
            raise _inexact(where, whole, rounded, DOUBLE)


def _inexact(where: str, value: Any, converted: float, dtype: np.dtype[Any]) -> DataError:
    return DataError(
        f"{where}: {value} is {converted:.17g} as {dtype}, the type that is computed in; subtract what all numbers "
        "there have in common, or leave them out if they are identifiers"
    )


def beyond_whole(values: np.ndarray) -> bool:
    """Tell whether some numbers are so large that float64 may have others in place of whole ones."""
    return bool(values.size) and max(-float(values.min()), float(values.max())) >= _WHOLE_DOUBLE


def narrow_rows(X: np.ndarray, where: str) -> np.ndarray:
    """Return rows X (n, ...) of numbers as float32 where it holds them apart, else as float64."""
    narrowing = Narrowing()
    single = narrowing.add(X)
    return in_type(X, DOUBLE, where) if narrowing.loss else single


class Narrowing:
    """Rows that become float32, block by block, and what is lost by that."""

    def __init__(self) -> None:
        self._sample: list[np.ndarray] = []
        self._start, self._step, self._sampled = 0, 1, 0
        self.seen = ""  # what was lost in the rows so far, the sample not looked at

    def add(self, block: np.ndarray) -> np.ndarray:
        """Return the next rows (n, ...) as float32."""
        if row_type(block.dtype) == SINGLE or not block.size:
            return np.asarray(block, dtype=SINGLE, order="C")
        narrow = np.empty(block.shape, dtype=SINGLE)
        rows, single = block.reshape(len(block), -1), narrow.reshape(len(block), -1)
        count = max(1, _CHUNK // rows.shape[1])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for start in range(0, len(rows), count):
                chunk = slice(start, start + count)
                single[chunk] = rows[chunk]
                self.seen = self.seen or _loss(rows[chunk], single[chunk])
        if block.dtype.kind == "f":
            self._keep(rows)
        return narrow

    def _keep(self, rows: np.ndarray) -> None:
        """Add every so manyth row to the sample, of which every third one stays where it would grow too large."""
        most = max(FEWEST_ROWS, min(MOST_ROWS, SAMPLED_NUMBERS // rows.shape[1]))
        while self._sampled + len(rows) // self._step > most:
            self._sample = [np.concatenate(self._sample)[::3]] if self._sample else []
            self._sampled = sum(map(len, self._sample))
            self._step *= 3  # rows of classes in turn are often even in number
        self._sample.append(rows[-self._start % self._step :: self._step].astype(DOUBLE))
        self._sampled += len(self._sample[-1])
        self._start += len(rows)

    @property
    def loss(self) -> str:
        """What float32 loses of the rows that were added, for one column, or an empty text."""
        if self.seen or not self._sample:
            return self.seen
        sample = np.concatenate(self._sample)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            low, high = sample.min(axis=0), sample.max(axis=0)
            coarse = np.spacing(np.maximum(-low, high).astype(SINGLE)) > VISIBLE * (high - low)
            # Of the other columns, most by far, a few rows tell whether many numbers become equal.
            few = sample[:: -(-len(sample) // FEW) | 1]
            return _merged(sample, np.flatnonzero(coarse)) or _merged(few, np.flatnonzero(~coarse))


def _loss(rows: np.ndarray, single: np.ndarray) -> str:
    """Return what is lost of single numbers: those that become 0 or infinite, and whole ones that become others."""
    # Much quicker than a look at every number; float32 holds all whole numbers up to there.
    largest = max(-float(single.min()), float(single.max()))
    if largest >= _WHOLE_SINGLE:
        lost = _changed(rows, single) if rows.dtype.kind in "iu" else _whole(rows) & (rows != single)
        if lost.any():
            return _loss_text(rows, single, lost)
    if rows.dtype.kind in "iu":
        return ""
    if np.isfinite(largest) and np.count_nonzero(single == 0) == np.count_nonzero(rows == 0):
        return ""
    lost = _out_of_range(rows, single)
    return _loss_text(rows, single, lost) if lost.any() else ""


def _out_of_range(values: np.ndarray, converted: np.ndarray) -> np.ndarray:
    return np.asarray(((converted == 0) != (values == 0)) | _infinite(values, converted))


def _infinite(values: np.ndarray, converted: np.ndarray) -> np.ndarray:
    # Two numbers tell it where nothing is infinite.
    if np.isfinite(converted.max()) and np.isfinite(converted.min()):
        return np.zeros(1, dtype=bool)
    return np.asarray(np.isinf(converted) & np.isfinite(values))


def _whole(rows: np.ndarray) -> np.ndarray:
    """Return which columns hold whole numbers alone, of which all that float64 has could stand there."""
    return np.asarray(((rows == np.rint(rows)) & (np.abs(rows) <= _WHOLE_DOUBLE)).all(axis=0))


def _changed(values: np.ndarray, converted: np.ndarray) -> np.ndarray:
    """Return which whole numbers are others as floating numbers."""
    beyond = converted >= float(np.iinfo(values.dtype).max) + 1
    lost: np.ndarray = (np.where(beyond, 0, converted).astype(values.dtype) != values) | beyond
    return lost


def _loss_text(rows: np.ndarray, single: np.ndarray, lost: np.ndarray) -> str:
    row, column = (int(place) for place in np.unravel_index(int(np.argmax(lost)), lost.shape))
    return f"column {column}: {rows[row, column]} would be {float(single[row, column]):.17g}"


def _merged(sample: np.ndarray, columns: np.ndarray) -> str:
    """Return what becomes equal in some columns of the sample (m, d)."""
    ordered = np.sort(sample[:, columns].T)
    single = ordered.astype(SINGLE)
    gaps, span, place = np.diff(ordered), ordered[:, -1:] - ordered[:, :1], LAST_PLACES * np.abs(ordered[:, 1:])
    different, same = gaps > place, single[:, 1:] == single[:, :-1]
    equal, visible = different & same, same & (gaps > VISIBLE * span) & (span > place)
    lost = np.flatnonzero(visible.any(axis=1) | (SHARE * equal.sum(axis=1) > different.sum(axis=1) + 1))
    if not len(lost):
        return ""
    one = lost[0]
    return f"column {columns[one]}: {(gaps[one] > 0).sum() + 1} different numbers would be {(~same[one]).sum() + 1}"


def lengths_of(rows: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the lengths (n,) that ``measure`` finds of rows (n, d); far from 1 it is given rows that are scaled to 1.

    A length is 0 for rows of zeros alone.
    """
    with np.errstate(over="ignore", under="ignore"):
        lengths = measure(rows)
        low, high = (1e-15, 1e15) if rows.dtype == np.float32 else (1e-150, 1e150)
        far = np.flatnonzero(~((lengths > low) & (lengths < high)))
        if len(far):
            largest = np.abs(rows[far]).max(axis=1, initial=0)
            scale = np.where(largest > 0, largest, 1).astype(lengths.dtype)
            lengths[far] = scale * measure(rows[far] / scale[:, None])
    return lengths


def normalise_rows(rows: np.ndarray, norm: str) -> np.ndarray:
    """Return rows (n, d) divided by their norm, ``l1`` or ``l2``, which is taken in float64; rows of zeros stay."""
    result = rows.astype(np.float64)
    length = lengths_of(result, _l1 if norm == "l1" else _l2)
    result /= np.where(length > 0, length, 1.0)[:, None]
    return result.astype(rows.dtype, copy=False)


def _l1(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(rows).sum(axis=1))


def _l2(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))
