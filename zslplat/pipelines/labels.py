"""Labels of rows and names of classes, as people give them: positions or names, in arrays, lists or tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.data.assembly import looks_transposed
from zslplat.data.formats.array_likes import array_of, named_columns, numbers_of, plain_labels, table_of
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted

_INTEGERS = "iu"


class Signatures:
    """Signatures of classes as they were given.

    ``values`` (m, a); ``classes`` (c,) what each class is called, positions where nothing was said, and ``named``
    whether anything was; ``described`` (m,) the class of each row of ``values``, None where row j describes class j;
    ``attributes`` (a,) what the columns are called, None where nothing was said.
    """

    def __init__(
        self,
        values: np.ndarray,
        classes: np.ndarray,
        described: np.ndarray | None,
        *,
        named: bool,
        attributes: tuple[str, ...] | None = None,
    ) -> None:
        self.values, self.classes, self.described, self.named = values, classes, described, named
        self.attributes = attributes

    def __len__(self) -> int:
        return len(self.classes)

    def ordered_as(self, reference: Signatures) -> Signatures:
        """Return these with their columns in the order of others, by their names where both have them.

        Raises :class:`DataError` for another number of attributes, or other ones.
        """
        width = reference.values.shape[1]
        if self.values.shape[1] != width:
            raise DataError(f"S has {self.values.shape[1]} attributes; the pipeline was fitted on {width}")
        names, expected = self.attributes, reference.attributes
        counted = tuple(map(str, range(width)))
        if expected is None and names is not None and set(names) == set(counted):
            expected = counted  # columns of a frame that were numbers, in order then and in another now
        if names is None or expected is None or names == expected:
            return self
        lost = next((name for name in expected if name not in names), None)
        if lost is not None or len(set(names)) < len(names):
            what = f"attribute {quoted(lost)} is missing" if lost is not None else "an attribute is there twice"
            raise DataError(f"columns of S are not those of the fit: {what}; give the same attributes, in any order")
        values = self.values[:, [names.index(name) for name in expected]]
        return Signatures(values, self.classes, self.described, named=self.named, attributes=expected)

    def only(self, ids: np.ndarray) -> Signatures:
        """Return the signatures of some classes, by ascending ids."""
        values, described = self.of(ids)
        return Signatures(values, self.classes[ids], described, named=self.named, attributes=self.attributes)

    def of(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the signatures of some classes, in ascending order of ids, and the class (within these) of each row.

        None in place of the classes where there is one row for each.
        """
        if self.described is None:
            return self.values[ids], None
        rows = np.flatnonzero(np.isin(self.described, ids))
        rows = rows[np.argsort(self.described[rows], kind="stable")]
        compact = np.searchsorted(ids, self.described[rows])
        return self.values[rows], compact if len(rows) > len(ids) else None


def read_signatures(S: Any, classes: Sequence[Any] | None, what: str = "S") -> Signatures:
    """Read signatures (m, a): an array, a DataFrame whose index names the class of each row, or {class: signature}.

    ``classes`` (m,) names the class of each row in place of the index. A class that is named in several rows has
    several signatures. Raises :class:`DataError` for what is no matrix of finite numbers.
    """
    if S is None:
        raise UsageError(f"{what} is missing; give the signatures of the classes, one row per class")
    if isinstance(S, Mapping):
        if classes is not None:
            raise UsageError(f"{what} names its classes, and so does classes; give one of the two")
        S, classes = table_of(S, what)
    index = getattr(S, "index", None)
    values = numbers_of(S, what)
    if values.ndim != 2 or 0 in values.shape:
        raise DataError(f"{what} has shape {values.shape}; expected (classes, attributes)")
    if values.dtype not in (np.float32, np.float64):
        values = in_type(values, DOUBLE, what)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise DataError(f"{what}: row {row} holds NaN or infinity")
    named = classes is not None or _is_named(index)
    labels = classes if classes is not None else index if named else np.arange(len(values))
    names, attributes = _entries(labels, "classes"), named_columns(S)
    if names.shape != (len(values),):
        hint = looks_transposed(values.shape, len(names), "class") if names.ndim == 1 else ""
        raise DataError(f"{what} has {len(values)} rows and classes names {names.size}; give a name for each row{hint}")
    order, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    if len(order) == len(names):
        return Signatures(values, names, None, named=named, attributes=attributes)
    # Classes come in the order in which they are named first.
    place = np.argsort(np.argsort(first))
    described = place[inverse.reshape(-1)]
    return Signatures(values, names[np.sort(first)], described, named=named, attributes=attributes)


def class_numbers(y: Any, described: Signatures, what: str = "y") -> np.ndarray:
    """Return which of the known classes each label (n,) is: labels are names, or positions among the classes.

    Raises :class:`DataError` for a label that is neither.
    """
    labels = _entries(y, what)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.reshape(-1)
    if labels.ndim != 1:
        raise DataError(f"{what} has shape {labels.shape}; expected one label per row, (n,)")
    integers = labels.dtype.kind in _INTEGERS
    if not integers and not described.named:
        raise DataError(
            f"{what} holds {_shown(labels)}, and classes have no names; give a DataFrame of signatures whose index "
            "names the classes, or classes=[...], or label rows by the number of their class"
        )
    if described.named and (not integers or _are_names(labels, described.classes)):
        return _positions(labels, described.classes, what)
    if len(labels) and (labels.min() < 0 or labels.max() >= len(described)):
        raise DataError(
            f"{what} runs from {labels.min()} to {labels.max()}, but there are signatures of {len(described)} classes, "
            "counted from 0"
        )
    return np.asarray(labels, dtype=np.int64)


def _are_names(labels: np.ndarray, names: np.ndarray) -> bool:
    """Tell whether labels that are numbers are what the classes are called, also where these are texts."""
    return names.dtype.kind in _INTEGERS or bool(np.isin(labels.astype(np.str_), names).all())


def _positions(labels: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    if (labels.dtype.kind in _INTEGERS) != (names.dtype.kind in _INTEGERS):
        labels, names = labels.astype(np.str_), names.astype(np.str_)
    numbers = {name: number for number, name in enumerate(names.tolist())}
    strange = [label for label in dict.fromkeys(labels.tolist()) if label not in numbers]
    if strange:
        raise UnknownNameError(f"class in {what}", str(strange[0]), [str(name) for name in numbers])
    return np.array([numbers[label] for label in labels.tolist()], dtype=np.int64)


def _entries(values: Any, what: str) -> np.ndarray:
    """Return labels or names as an array of texts or integers; raises :class:`DataError` for a missing one."""
    entries = plain_labels(array_of(values, what), what)
    if entries.dtype.kind not in "iuUSb":
        raise DataError(f"labels are of type {entries.dtype}; expected names, or numbers of classes")
    return (
        entries.astype(np.str_)
        if entries.dtype.kind == "S"
        else entries.astype(np.int64)
        if entries.dtype == bool
        else entries
    )


def _is_named(index: Any) -> bool:
    """Tell whether a DataFrame's index names its rows, rather than counting them."""
    return index is not None and not callable(index) and not _counts(index)


def _counts(index: Any) -> bool:
    values = np.asarray(index)
    return values.dtype.kind in _INTEGERS and bool(np.array_equal(values, np.arange(len(values))))


def _shown(values: np.ndarray) -> str:
    return quoted(values.reshape(-1)[0].item() if values.size else None)


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers (n,) from 0 on with the classes (c,), ascending; or (n, c) of 1, 0 and -1 as they are.

    Columns of a DataFrame of several labels name the classes. Raises :class:`DataError` for other shapes and values.
    """
    columns = getattr(y, "columns", None)
    labels = _entries(y, "y")
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.reshape(-1)
    if labels.ndim == 1:
        classes, numbers = np.unique(labels, return_inverse=True)
        return numbers.reshape(-1).astype(np.int64), classes
    if labels.ndim != 2 or not np.isin(labels, (-1, 0, 1)).all():
        raise DataError(
            f"y has shape {labels.shape}; expected one label per row (n,), or several as a matrix (n, c) of 1 "
            "(present), 0 (absent) and -1 (not counted)"
        )
    names = np.arange(labels.shape[1]) if columns is None else np.asarray([str(name) for name in columns])
    return labels, names
