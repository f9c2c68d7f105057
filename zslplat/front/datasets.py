"""Data sets: by name or spec, as the commands read them, or of arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.about import About
from zslplat.data.catalogue import parse_dataset
from zslplat.data.dataset import Dataset
from zslplat.data.in_memory import dataset_of, kept_in
from zslplat.errors import DataError, UsageError, quoted
from zslplat.evaluation.components import open_dataset
from zslplat.settings import Settings, resolve_settings
from zslplat.spec import Spec

# A name or spec, a data set, or what makes one: {"X": ..., "y": ..., "S": ...}.
DatasetLike = str | Spec | Dataset | Mapping[str, Any]

_LOADED = "loaded as"


def load_dataset(dataset: str, *, data_root: str | Path | None = None, store: str | Path | None = None) -> Dataset:
    """Return a data set by its name or spec, as ``--dataset`` takes it.

    ``data_root`` and ``store`` are those of the commands; the store's cache keeps what was read of large files. Raises
    :class:`~zslplat.errors.UsageError` for a spec that cannot be read and :class:`~zslplat.errors.DataError` for data
    that cannot.

    >>> digits = load_dataset("digit-pairs")
    >>> digits.X.shape, len(digits.class_names), sorted(digits.splits)
    ((4800, 128), 100, ['test_seen', 'test_unseen', 'train'])
    """
    settings = resolve_settings({"data_root": data_root, "store": store})
    spec = parse_dataset(dataset)
    loaded = open_dataset(spec, settings)
    told = [str(spec), loaded.fingerprint, loaded.default_signatures]
    return replace(loaded, source={**loaded.source, _LOADED: told})


def make_dataset(
    X: Any,
    y: Any,
    S: Any = None,
    *,
    name: str = "given",
    class_names: Sequence[str] | None = None,
    unseen: Sequence[Any] | None = None,
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
    signatures the index names the classes; rows of one that is named several times are several signatures.
    ``class_names`` (c,) are needed where labels are names and S has no index. Which rows train and which are tested is
    said by ``unseen``, the classes (names or numbers) whose rows are test rows while all others train; or by ``split``,
    a text per row (``train``, ``test_seen``, ``test_unseen``, ``test``). ``groups`` (n,) are rows that stay together;
    ``folds`` and ``more`` (``train``, ``test_unseen``, ``row_signatures``, ``S_word2vec``, ...) are named as the keys
    of an ``.npz`` file are, in the page on formats.

    Raises :class:`~zslplat.errors.DataError` for what does not fit together.

    >>> rng = np.random.default_rng(0)
    >>> S = rng.normal(size=(10, 4))
    >>> y = np.repeat(np.arange(10), 5)
    >>> data = make_dataset(S[y] @ rng.normal(size=(4, 8)), y, S, name="toy", unseen=[7, 8, 9])
    >>> {split: len(rows) for split, rows in data.splits.items()}
    {'train': 35, 'test_unseen': 15}
    """
    arrays: dict[str, Any] = {"y": _column(y), **{key: np.asarray(value) for key, value in more.items()}}
    arrays |= {f"X_{view}": value for view, value in X.items()} if isinstance(X, Mapping) else {"X": np.asarray(X)}
    if S is not None:
        arrays["S"] = np.asarray(S)
        index = getattr(S, "index", None)
        if index is not None and class_names is None and not callable(index):
            named = [str(one) for one in index]
            class_names = list(dict.fromkeys(named))
            if len(class_names) < len(named):
                arrays["signature_classes"] = np.array(named)
        attributes = getattr(S, "columns", None)
        if attributes is not None and "attribute_names" not in arrays:
            arrays["attribute_names"] = np.array([str(one) for one in attributes])
    if class_names is not None:
        arrays["class_names"] = np.array([str(one) for one in class_names])
    for key, given in (("split", split), ("groups", groups), ("folds", folds)):
        if given is not None:
            arrays[key] = np.asarray(given)
    if unseen is not None:
        if split is not None or "train" in arrays:
            raise UsageError("unseen says which classes are tested, and so does split or train; give one of them")
        arrays["train"] = ~_rows_of(arrays["y"], unseen, class_names)
    arrays["y"] = _labels(arrays["y"], class_names)
    return dataset_of(name, arrays, {}, About(description, licence, citation))


def dataset_spec(dataset: DatasetLike, settings: Settings) -> Spec:
    """Return the spec of a data set; one in memory is kept in the store first.

    A data set of :func:`load_dataset` that nobody has changed is what it was loaded as.
    """
    if isinstance(dataset, Spec):
        return dataset
    if isinstance(dataset, str):
        return parse_dataset(dataset)
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
    return kept_in(settings.given, dataset)


def _column(y: Any) -> np.ndarray:
    labels = np.asarray(y)
    return labels.astype(np.str_) if labels.dtype == object else labels


def _labels(y: np.ndarray, class_names: Sequence[str] | None) -> np.ndarray:
    """Return labels as names where all of them are, also those that are written as numbers."""
    if class_names is None or y.dtype.kind not in "iu" or y.ndim != 1:
        return y
    written = y.astype(np.str_)
    return written if set(np.unique(written).tolist()) <= {str(one) for one in class_names} else y


def _rows_of(y: np.ndarray, classes: Sequence[Any], class_names: Sequence[str] | None) -> np.ndarray:
    """Return the mask (n,) of the rows of some classes; raises DataError for one that has none."""
    if y.ndim != 1:
        raise UsageError("unseen names classes, and rows have several labels; say with split which rows are tested")
    wanted = np.asarray(classes)
    wanted = wanted.astype(np.str_) if wanted.dtype == object else wanted
    texts = (wanted.dtype.kind == "U", y.dtype.kind == "U")
    if texts == (True, False):
        names = [str(one) for one in class_names or ()]
        strange = [one for one in wanted.tolist() if one not in names]
        if strange:
            raise DataError(f"unseen names class {strange[0]!r}, which has no name in class_names or S")
        written = set(y.astype(np.str_).tolist()) <= set(names)
        wanted = wanted if written else np.array([names.index(one) for one in wanted.tolist()])
        y = y.astype(np.str_) if written else y
    elif texts == (False, True):
        wanted = wanted.astype(np.str_)
    lost = [one for one in wanted.tolist() if not (y == one).any()]
    if lost:
        raise DataError(f"unseen names class {lost[0]!r}, of which there is no row")
    return np.isin(y, wanted)
