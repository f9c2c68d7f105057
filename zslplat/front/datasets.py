"""Data sets: by name or spec, as the commands read them, or of arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.catalogue import parse_dataset
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard
from zslplat.data.formats.array_likes import array_of, named_columns, names_of, numbers_of, plain_labels, table_of
from zslplat.data.formats.fields import ALIASES, VIEWS, Fields
from zslplat.data.formats.in_memory import dataset_of, store_dataset
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.evaluation.components import open_dataset
from zslplat.settings import Settings, resolve_settings
from zslplat.spec import Spec

# A name or spec, a data set, or what makes one: {"X": ..., "y": ..., "S": ...}.
DatasetLike = str | Path | Spec | Dataset | Mapping[str, Any]

_LOADED = "loaded as"


def load_dataset(
    dataset: str | Path, *, data_root: str | Path | None = None, store: str | Path | None = None
) -> Dataset:
    """Return a data set by its name or spec, as ``--dataset`` takes it.

    ``data_root`` and ``store`` are those of the commands; the store's cache keeps what was read of large files. Raises
    :class:`~zslplat.errors.UsageError` for a spec that cannot be read and :class:`~zslplat.errors.DataError` for data
    that cannot.

    >>> digits = load_dataset("digit-pairs")
    >>> digits.X.shape, len(digits.class_names), sorted(digits.splits)
    ((4800, 128), 100, ['test_seen', 'test_unseen', 'train'])
    """
    settings = resolve_settings({"data_root": data_root, "store": store})
    if not isinstance(dataset, str | Path):
        raise UsageError(f"dataset={quoted(dataset)}: expected a name, a spec or a path, as a text")
    spec = parse_dataset(str(dataset))
    loaded = open_dataset(spec, settings)
    origin = [str(spec), loaded.fingerprint, loaded.default_signatures]
    return replace(loaded, source={**loaded.source, _LOADED: origin})


def make_dataset(
    X: Any,
    y: Any,
    S: Any = None,
    *,
    name: str = "given",
    class_names: Sequence[str] | None = None,
    unseen: Any = None,
    split: Any = None,
    groups: Any = None,
    folds: Any = None,
    description: str = "",
    licence: str = "",
    citation: str = "",
    **more: Any,
) -> Dataset:
    """Return a data set of arrays or tables in memory, checked as files of the same content are.

    ``X`` (n, d) features, or {view: array} of several feature sets; ``y`` (n,) names or numbers of classes, or (n, c)
    of several labels per row; ``S`` (c, a) signatures, one row per class in the order of the classes. Of a DataFrame of
    signatures the index names the classes; rows of one that is named several times are several signatures; {class:
    signature} names them, too.
    ``class_names`` (c,) are needed where labels are names and S has no index.

    Which rows train and which are tested is said by ``unseen``: the classes (names or numbers, how many, or a share)
    whose rows are test rows, while all others train. Or it is said by ``split``, a text per row (``train``,
    ``test_seen``, ``test_unseen``, ``test``). ``groups`` (n,) are rows that stay together. ``y``, ``split``, ``groups``
    and ``folds`` may name a column of a DataFrame X. Its columns that are called ``id``, ``index`` and the like are no
    features. ``source["notes"]`` of the data set says what was left out, and what was taken for what.

    ``folds`` and ``more`` (``train``, ``test_unseen``, ``row_signatures``, ``S_word2vec``, ...) are named as the keys
    of an ``.npz`` file are, in the page on formats.

    Raises :class:`~zslplat.errors.DataError` for what does not fit together, and
    :class:`~zslplat.errors.UnknownNameError` for an argument of another name.

    >>> rng = np.random.default_rng(0)
    >>> S = rng.normal(size=(10, 4))
    >>> y = np.repeat(np.arange(10), 5)
    >>> data = make_dataset(S[y] @ rng.normal(size=(4, 8)), y, S, name="toy", unseen=[7, 8, 9])
    >>> {split: len(rows) for split, rows in data.splits.items()}
    {'train': 35, 'test_unseen': 15}
    """
    _check_names(more)
    by_row = {"y": y, "split": split, "groups": groups, "folds": folds}
    columns = {key: one for key, one in by_row.items() if isinstance(one, str) and one in (named_columns(X) or ())}
    if columns:  # columns of the frame of features
        by_row |= {key: X[column] for key, column in columns.items()}
        X = X.drop(columns=list(columns.values()))
    y, split, groups, folds = by_row.values()
    arrays: dict[str, Any] = {key: array_of(value, key) for key, value in more.items()}
    arrays["y"] = _column(y, "y", named_columns(X))
    views = {f"X_{view}": value for view, value in X.items()} if isinstance(X, Mapping) else {"X": X}
    arrays |= {view: numbers_of(value, view) for view, value in views.items()}
    index = None if callable(getattr(S, "index", None)) else getattr(S, "index", None)
    if isinstance(S, Mapping):
        if class_names is not None:
            raise UsageError("S names its classes, and so does class_names; give one of the two")
        S, index = table_of(S, "S")
    if S is not None:
        arrays["S"] = numbers_of(S, "S")
        if index is not None and class_names is None:
            named = names_of(index, "the index of S")
            class_names = list(dict.fromkeys(named))
            if len(class_names) < len(named):
                arrays["signature_classes"] = np.array(named)
        attributes = getattr(S, "columns", None)
        if attributes is not None and "attribute_names" not in arrays:
            arrays["attribute_names"] = np.array([str(one) for one in attributes])
    if class_names is not None:
        arrays["class_names"] = np.array(names_of(class_names, "class_names"))
    for key, values in (("split", split), ("groups", groups), ("folds", folds)):
        if values is not None:
            arrays[key] = array_of(values, key)
    options = {} if unseen is None else {"unseen": _classes(unseen)}
    arrays["y"] = _labels(arrays["y"], class_names)
    feature_names = () if isinstance(X, Mapping) else named_columns(X) or ()
    dataset = dataset_of(name, arrays, options, FeatureCard(description, licence, citation), feature_names)
    if S is not None and unseen is None and not dataset.splits and dataset.y.ndim == 1:
        raise DataError(
            "which classes are unseen? Name them, make_dataset(X, y, S, unseen=[...]), or say how many, unseen=5, or "
            "which share, unseen=0.2; or give split, a text per row (train, test_seen, test_unseen); unseen=[] for none"
        )
    return dataset


def dataset_spec(dataset: DatasetLike, settings: Settings) -> Spec:
    """Return the spec of a data set; one in memory is kept in the store first.

    A data set of :func:`load_dataset` that nobody has changed is what it was loaded as.
    """
    if isinstance(dataset, Spec):
        return dataset
    if isinstance(dataset, str | Path):
        return parse_dataset(str(dataset))
    if isinstance(dataset, Mapping):
        dataset = make_dataset(**dataset)
    if not isinstance(dataset, Dataset):
        raise UsageError(
            f"dataset={quoted(dataset)}: expected a name or spec, a data set of load_dataset or make_dataset, or a "
            "dictionary of X, y and S"
        )
    loaded = dataset.source.get(_LOADED)
    whole = replace(dataset, known_fingerprint="")
    if loaded and list(loaded[1:]) == [whole.fingerprint, whole.default_signatures]:
        return Spec.parse(str(loaded[0]))
    return store_dataset(settings.arrays, dataset)


def _check_names(more: Mapping[str, Any]) -> None:
    """Raise :class:`UnknownNameError` for a name that means nothing, which a file may hold, and a call may not."""
    allowed = sorted({name for names in ALIASES.values() for name in names})
    stems = (*VIEWS, *Fields.class_sets, *Fields.row_sets, "signature_classes")
    for name in more:
        if name not in allowed and not name.startswith(tuple(f"{stem}{mark}" for stem in stems for mark in "_-/")):
            raise UnknownNameError("argument of make_dataset", name, allowed)


def _column(y: Any, what: str, names: Sequence[str] | None = None) -> np.ndarray:
    """Return labels as an array; ``names`` are the columns that a text would have named."""
    if isinstance(y, str):
        raise UnknownNameError("column of X", y, names or ())
    labels = plain_labels(array_of(y, what), what)
    return labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _classes(unseen: Any) -> Any:
    """Return classes as a list, or their count or share."""
    if isinstance(unseen, str | int | float | np.integer | np.floating):
        return unseen
    return [] if not len(unseen) else _column(list(unseen), "unseen").tolist()


def _labels(y: np.ndarray, class_names: Sequence[str] | None) -> np.ndarray:
    """Return labels as names where all of them are, also those that are written as numbers."""
    if class_names is None or y.dtype.kind not in "iu" or y.ndim != 1:
        return y
    written = y.astype(np.str_)
    return written if set(np.unique(written).tolist()) <= {str(one) for one in class_names} else y
