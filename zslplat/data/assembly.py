"""From arrays as they are in files, in any numbering and type, to a checked :class:`Dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zslplat.data.class_lists import check_classes_of_splits, folds_from_matrix, matrix_from_rows, splits_from_folds
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet, weighted_sets
from zslplat.data.feature_card import FeatureCard
from zslplat.data.formats.array_likes import names_of, require_names
from zslplat.data.formats.feature_files import is_identifier, squeeze_axes, without_identifiers, without_row_numbers
from zslplat.data.splits import (
    VALIDATION,
    class_ids,
    complete_splits,
    folds_by_row,
    place_of_split,
    rows_of_splits,
    splits_of_unseen,
    validation_fold,
    whole_numbers,
)
from zslplat.data.store.precision import DOUBLE, in_type, narrow_rows, row_type
from zslplat.data.store.rows import Rows, RowStream
from zslplat.errors import DataError
from zslplat.keys import COLUMNS


@dataclass
class RawSignatures:
    """Signatures as read: ``classes`` names or numbers of the classes that the rows describe, None for all in order.

    ``named``: the file of the signatures itself names the class of each row, which fixes the order of the classes.
    """

    values: np.ndarray
    classes: np.ndarray | None = None
    per_row: bool = False
    names: Sequence[str] = ()
    named: bool = False


@dataclass
class RawArrays:
    """What a file format delivers.

    ``where`` names the file in errors, ``base`` and ``index_base`` are the numbers of the first class and row;
    ``naming`` says, for the error of a class that is not named, where names belong and in which form.

    ``X`` features as an array or a stream, or {view: array or stream} of several feature sets of the same rows; ``y``
    (n,) numbers or names of classes, or (n, l) of 1, 0 and -1 (not counted); ``splits`` index vectors or masks;
    ``folds`` (k, c): 1 for the classes that a fold holds out, 0 for those it trains on, -1 for those it leaves out; or
    (n,): the fold that holds out the class of each row, or, in data without signatures, the fold of each row;
    ``unseen`` classes by name or number, their count or share, where there are no splits.

    ``columns`` are the names of the columns of X, where they have any; ``notes`` are sentences that say what was taken
    for what, ``unread`` the fields that play no part; the data set keeps both under these names in ``source``.
    """

    name: str
    where: str
    X: np.ndarray | RowStream | Mapping[str, np.ndarray | RowStream]
    y: np.ndarray
    class_names: Sequence[str] | None = None
    signatures: dict[str, RawSignatures] = field(default_factory=dict)
    default_signatures: str = ""
    splits: dict[str, np.ndarray] = field(default_factory=dict)
    folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    base: int = 0
    index_base: int = 0
    unseen: Any = None
    naming: str = ""
    columns: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    unread: Sequence[str] = ()


def looks_transposed(shape: tuple[int, ...], rows: int, what: str) -> str:
    """Return a hint, to be added to an error, where a matrix that should have ``rows`` rows has so many columns."""
    if len(shape) != 2 or shape[0] == rows or shape[1] != rows:
        return ""
    return (
        f"; with shape {shape} it looks transposed: save the transposed matrix, {rows} x {shape[0]}, one row per {what}"
    )


def assemble(raw: RawArrays, card: FeatureCard, source: Mapping[str, Any]) -> Dataset:
    """Bring labels, splits and signatures into the platform's numbering; raises DataError for what does not fit."""
    X = _features(raw)
    rows = X.shape[0]
    y, class_names = _labels(raw)
    if len(y) != rows:
        hint = looks_transposed(X.shape, len(y), "sample")
        raise DataError(f"{raw.where}: {rows} rows of features but {len(y)} labels{hint}")
    signatures = {
        name: _signatures(raw, name, signature_set, class_names, rows) for name, signature_set in raw.signatures.items()
    }
    if raw.default_signatures:
        weighted_sets(raw.default_signatures, signatures, raw.where)
    splits = rows_of_splits(raw.splits, rows, raw.where, raw.index_base, raw.notes)
    by_row = _folds_by_row(raw, y, splits)
    splits |= by_row
    if raw.unseen is not None:
        splits |= splits_of_unseen(raw.unseen, y, class_names, splits, raw.where, raw.base, raw.notes)
    zero_shot = bool(signatures) and y.ndim == 1
    folds = () if by_row else _folds(raw, y, class_names, splits, zero_shot=zero_shot)
    complete_splits(splits, y, raw.notes, zero_shot=zero_shot)
    check_classes_of_splits(raw.where, y, class_names, splits)
    columns = [name for name in raw.columns if not is_identifier(name)]
    columns = columns if len(set(columns)) == len(columns) else []
    reading = {"notes": raw.notes, "unread": raw.unread, COLUMNS: columns}
    return Dataset(
        name=raw.name,
        X=X,
        y=y,
        class_names=class_names,
        signatures=signatures,
        default_signatures=raw.default_signatures or next(iter(signatures), ""),
        splits=splits,
        folds=folds,
        groups=_groups(raw, rows),
        description=card.description,
        licence=card.licence,
        citation=card.citation,
        source={**source, **{key: list(entries) for key, entries in reading.items() if entries}},
    )


def _folds_by_row(raw: RawArrays, y: np.ndarray, splits: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the folds of cross-validation by rows as splits; raises :class:`DataError` where others are in the way."""
    where, named = raw.where, folds_by_row(splits)
    if raw.signatures and named:
        raise DataError(
            f"{where}: folds by row are for classification; zero-shot data, with signatures, hold out classes: leave "
            "them out with split=none, or the signatures with S=none"
        )
    folds = None if raw.folds is None else np.asarray(raw.folds)
    if folds is None or raw.signatures or not (folds.ndim == 1 or folds.shape == (len(y), 1)):
        by_row = {}
    else:
        by_row = splits_from_folds(folds.reshape(-1), y, f"{where}, folds")
    others = sorted(set(splits) - set(named), key=place_of_split)
    if (named and by_row) or ((named or by_row) and others):
        raise DataError(
            f"{where}: the rows are divided twice, into folds and into {', '.join(others) or 'folds again'}; leave one "
            "out with folds=none or split=none"
        )
    return by_row


def _features(raw: RawArrays) -> np.ndarray | Rows:
    """Return an array, or rows of what is read as a stream and of several views."""
    if isinstance(raw.X, Mapping):
        views = {name: _feature_set(raw, source, f"view {name!r}") for name, source in raw.X.items()}
        return Rows.of(views)
    X = _feature_set(raw, raw.X, "features", raw.columns)
    return Rows.of({"": X}) if isinstance(X, RowStream) else X


def _feature_set(
    raw: RawArrays, source: np.ndarray | RowStream, what: str, columns: Sequence[str] = ()
) -> np.ndarray | RowStream:
    where = raw.where if what == "features" else f"{raw.where}, {what}"
    source = source if isinstance(source, RowStream) else np.asarray(source)
    X, columns = without_identifiers(squeeze_axes(source, what, raw.notes), columns, raw.notes)
    return without_row_numbers(checked_features(X, where), where, columns)


def checked_features(source: np.ndarray | RowStream, where: str) -> np.ndarray | RowStream:
    """Return features as float32 or float64 (:mod:`zslplat.data.store.precision`).

    Raises :class:`DataError` for other types and shapes.
    """
    X = source if isinstance(source, RowStream) else np.asarray(source)
    if isinstance(X, np.ndarray) and X.dtype.kind not in "biuf":
        raise DataError(f"{where}: features are of type {X.dtype}; expected numbers")
    matrices = len(X.shape) == 3 and X.shape[1] == X.shape[2]
    if not (len(X.shape) == 2 or matrices) or 0 in X.shape:
        mend = ""
        if 0 not in X.shape and len(X.shape) > 2:
            axes = ", ".join(map(str, range(2, len(X.shape))))
            mend = f"; flatten them, X.reshape(len(X), -1), or average over positions, such as X.mean(axis=({axes},))"
        elif len(X.shape) == 1:
            mend = "; a single feature is a column, X[:, None]"
        raise DataError(f"{where}: features have shape {X.shape}; expected (rows, dimensions) or (rows, p, p){mend}")
    if isinstance(X, RowStream):
        return X
    dtype = row_type(X.dtype)
    return narrow_rows(X, where) if dtype is None else X.astype(dtype, copy=False)


def is_one_hot(y: np.ndarray) -> bool:
    """Tell whether labels (n, l) hold a single 1 in every row, beside 0 or -1 alone, and not all in one column."""
    if y.ndim != 2 or y.dtype.kind not in "biuf" or y.shape[1] < 2:
        return False
    ones = y == 1
    others = y[~ones]
    alike = others.size and others.flat[0] in (0, -1) and (others == others.flat[0]).all()
    return bool(alike and (ones.sum(axis=1) == 1).all() and (ones.any(axis=0)).sum() > 1)


def _labels(raw: RawArrays) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return class ids and class names; the number of classes comes from names, else signatures, else labels."""
    y, where = np.asarray(raw.y), f"{raw.where}, labels"
    names = None
    if raw.class_names is not None:
        names = names_of(raw.class_names, f"{raw.where}, class names")
        require_names(names, f"{raw.where}, class names")
    if y.ndim == 2 and 1 in y.shape:
        y = y.reshape(-1)
    if is_one_hot(y):
        y = _from_one_hot(raw, y, names, where)
    if y.ndim == 2:
        return _several_labels(raw, y, names, where)
    if y.ndim != 1:
        raise DataError(f"{where}: expected one per row, or a matrix of one column per label; got shape {y.shape}")
    return _named_labels(raw, y, names, where) if y.dtype.kind in "US" else _numbered_labels(raw, y, names, where)


def _from_one_hot(raw: RawArrays, y: np.ndarray, names: Sequence[str] | None, where: str) -> np.ndarray:
    """Return the number of the class of each row."""
    raw.notes.append(f"labels of shape {y.shape}: one 1 in every row, so they are taken for one class per row")
    count = _class_count(raw, names)
    if count is not None and count != y.shape[1]:
        raise DataError(
            f"{where}: {y.shape[1]} columns, one-hot, but there are signatures or names for {count} classes; give "
            "a column for each class, or the number of the class of each row"
        )
    return np.asarray(np.argmax(y == 1, axis=1) + raw.base)


def _several_labels(
    raw: RawArrays, y: np.ndarray, names: Sequence[str] | None, where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    if y.dtype.kind not in "biuf" or not np.isin(y, (-1, 0, 1)).all():
        raise DataError(
            f"{where}: several labels per row must be a matrix of 1 (present), 0 (absent) and -1 (not counted)"
        )
    if np.count_nonzero(y == -1) > np.count_nonzero(y == 0):
        raise DataError(
            f"{where}: -1 marks entries that are not counted, and there are more of these than of 0, absent; "
            "where -1 says absent (and 0 difficult, as in VOC), write 0 for it (and -1 for difficult)"
        )
    counts = (y == 1).sum(axis=1)
    others = np.flatnonzero(counts != 1)
    raw.notes.append(
        f"labels of shape {y.shape}: taken for several labels per row; {len(y) - len(others)} of {len(y)} rows "
        f"have one label, row {others[0] if len(others) else 0} has {counts[others[0]] if len(others) else 1}"
    )
    return y.astype(np.int64), tuple(names or [str(label) for label in range(y.shape[1])])


def _named_labels(
    raw: RawArrays, y: np.ndarray, names: Sequence[str] | None, where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    texts = np.char.strip(y.astype(str))
    if names is None:
        if any(s.classes is None and not s.per_row for s in raw.signatures.values()):
            raise DataError(
                f"{where}: are names, so class_names must say in which order the signatures come: add class_names, "
                f"with a name for each row of the signatures{f', or let {raw.naming}' if raw.naming else ''}"
            )
        names = sorted_names(texts.tolist())
    return _positions(texts, names, where, raw.naming), tuple(names)


def _numbered_labels(
    raw: RawArrays, y: np.ndarray, names: Sequence[str] | None, where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    count = _class_count(raw, names)
    if count is None:
        values, ids = np.unique(whole_numbers(y, where), return_inverse=True)
        return ids.astype(np.int64), tuple(map(str, values))
    ids = class_ids(y, where, base=raw.base)
    _refuse_transposed(raw, names, ids)
    if len(ids) and ids.max() >= count:
        hint = "; write base=1 if they count from 1" if raw.base == 0 and ids.max() == count and ids.min() > 0 else ""
        shapes = [np.shape(s.values) for s in raw.signatures.values() if s.classes is None and not s.per_row]
        hint = next(filter(None, (looks_transposed(shape, int(ids.max()) + 1, "class") for shape in shapes)), hint)
        raise DataError(
            f"{where}: run to {ids.max() + raw.base}, but there are signatures or names for {count} classes counted "
            f"from {raw.base}; every label needs one{hint}"
        )
    return ids, tuple(names or [str(label + raw.base) for label in range(count)])


def _refuse_transposed(raw: RawArrays, names: Sequence[str] | None, ids: np.ndarray) -> None:
    """Raise :class:`DataError` where signatures have one column, and not one row, for each class of the labels.

    Class names settle how many classes there are; without them a matrix of more rows than classes would pass.
    """
    present = np.unique(ids)
    if names is not None or not len(present) or present[-1] + 1 != len(present):
        return
    for name, signature_set in raw.signatures.items():
        shape = np.shape(signature_set.values)
        hint = looks_transposed(shape, len(present), "class")
        if hint and not signature_set.per_row and signature_set.classes is None:
            extra = f"; or give class_names, if there are {shape[0]} classes" if shape[0] > len(present) else ""
            raise DataError(
                f"{raw.where}: signatures {name!r} do not fit labels of {len(present)} classes{hint}{extra}"
            )


def _class_count(raw: RawArrays, names: Sequence[str] | None) -> int | None:
    if names is not None:
        return len(names)
    for signature_set in raw.signatures.values():
        if not signature_set.per_row and signature_set.classes is None and np.ndim(signature_set.values):
            return len(signature_set.values)
    return None


def sorted_names(labels: Iterable[str]) -> list[str]:
    """Return the names of classes, each once, numbers by value before texts."""

    def key(text: str) -> tuple[int, float, str]:
        try:
            return 0, float(text), text
        except ValueError:
            return 1, 0.0, text

    return sorted(set(labels), key=key)


def _positions(texts: np.ndarray, names: Sequence[str], where: str, naming: str = "") -> np.ndarray:
    position = {name: number for number, name in enumerate(names)}
    unknown = sorted(set(texts.tolist()) - set(position))
    if unknown:
        others = "1 such class" if len(unknown) == 1 else f"{len(unknown)} such classes"
        form = naming or f"names of classes are {', '.join(map(repr, names[:3]))}, ... and every label is one of them"
        raise DataError(f"{where}: class {unknown[0]!r} has no signature or name; {others}; {form}")
    return np.array([position[text] for text in texts.tolist()], dtype=np.int64)


def _signatures(
    raw: RawArrays, name: str, raw_set: RawSignatures, class_names: Sequence[str], rows: int
) -> SignatureSet:
    where = f"{raw.where}, signatures {name!r}"
    values = np.asarray(raw_set.values)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise DataError(
            f"{where}: expected a matrix of numbers (classes, attributes), got {values.dtype} {values.shape}"
        )
    plain, names = without_identifiers(values, raw_set.names, raw.notes)
    assert isinstance(plain, np.ndarray)
    values = plain
    without_row_numbers(values, where, names)
    classes = None
    count = rows if raw_set.per_row else len(class_names) if raw_set.classes is None else np.size(raw_set.classes)
    hint = looks_transposed(values.shape, count, "row of X" if raw_set.per_row else "class")
    if hint:
        raise DataError(f"{where}: {len(values)} rows, expected {count}{hint}")
    if raw_set.classes is not None and not raw_set.per_row:
        described = np.asarray(raw_set.classes)
        if described.shape != (len(values),):
            raise DataError(f"{where}: {len(values)} rows, but classes are given for {described.shape}")
        if described.dtype.kind in "US":
            classes = _positions(described, class_names, where, raw.naming)
        else:
            classes = class_ids(described, f"{where}, classes", base=raw.base)
            if len(classes) and classes.max() >= len(class_names):
                raise DataError(f"{where}: describes class {classes.max() + raw.base} of {len(class_names)}")
        if np.array_equal(classes, np.arange(len(class_names))):
            classes = None
    if classes is not None and (twice := np.flatnonzero(np.bincount(classes) > 1)).size:
        of = ", ".join(repr(class_names[place]) for place in twice[:3]) + (", ..." if len(twice) > 3 else "")
        raw.notes.append(f"signatures {name!r}: several of class {of}")
    values = np.ascontiguousarray(in_type(values, DOUBLE, where))
    return SignatureSet(values, classes, raw_set.per_row, tuple(names))


def _folds(
    raw: RawArrays, y: np.ndarray, class_names: Sequence[str], splits: dict[str, np.ndarray], *, zero_shot: bool
) -> tuple[ClassFold, ...]:
    if zero_shot and VALIDATION in splits:
        if raw.folds is not None:
            raise DataError(
                f"{raw.where}: folds and val both say which classes are held out for validation; leave one out with "
                "folds=none or val=none"
            )
        return (validation_fold(splits, y, class_names, raw.where, raw.notes),)
    if raw.folds is None:
        return ()
    if y.ndim == 2:
        raise DataError(f"{raw.where}: folds by class need one label per row")
    seen = np.unique(y[splits["train"]] if "train" in splits else y)
    folds, where = np.asarray(raw.folds), f"{raw.where}, folds"
    if folds.ndim == 1 or (folds.ndim == 2 and folds.shape == (len(y), 1)):
        folds = matrix_from_rows(folds.reshape(-1), y, class_names, splits.get("train"), where)
    return folds_from_matrix(folds, class_names, seen, where)


def _groups(raw: RawArrays, rows: int) -> np.ndarray | None:
    if raw.groups is None:
        return None
    groups = np.asarray(raw.groups).reshape(-1)
    if len(groups) != rows:
        raise DataError(f"{raw.where}: {rows} rows but {len(groups)} groups")
    # Numbered by first appearance, so that the same groups get the same numbers whether written as numbers or as text.
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)
