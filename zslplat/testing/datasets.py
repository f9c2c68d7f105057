"""What every data source promises, beside what a :class:`Dataset` looks at when it is made.

The data set is loaded once for all checks of one source, and once more for some.
"""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.rows import Rows, RowStream, blocks_of
from zslplat.errors import DataError, UsageError
from zslplat.testing.running import Check, Skipped, assert_refused, check_declared, class_is_importable

ZERO_SHOT_SPLITS = {"train", "test_unseen"}
MOST_COPIES = 0.01


@lru_cache(maxsize=1)
def loaded(source: DataSource) -> Dataset:
    """Return the data set, loaded without a cache folder.

    A source without options that asks for some (UsageError), or whose files are not there (DataError from a
    FileNotFoundError), is skipped; any other error is a failure.
    """
    return _load(source, DataPlaces(root=data_root()))


def data_root() -> Path | None:
    """Return the folder of data sets that the settings name."""
    from zslplat.settings import resolve_settings

    return resolve_settings({}).data_root


def _load(source: DataSource, places: DataPlaces) -> Dataset:
    try:
        return source.load(places)
    except (UsageError, DataError) as error:
        missing = isinstance(error, UsageError) or isinstance(error.__cause__, FileNotFoundError)
        if source.options or not missing:
            raise
        raise Skipped(f"needs options or files to load: {error}") from error


def options_are_documented(source: DataSource) -> None:
    """Class, summary, licence and every option say what they mean."""
    cls = type(source)
    assert (inspect.getdoc(cls) or "").strip(), f"{cls.__name__} has no docstring"
    assert cls.summary.strip(), f"{cls.__name__} has no summary, which lists show beside its name"
    check_declared(cls.parameters)


def options_that_are_not_legal_are_refused(source: DataSource) -> None:
    """An unknown option and a value outside the legal domain of an option raise UsageError."""
    assert_refused(type(source), type(source).parameters, "no_such_option")


def loading_gives_a_dataset(source: DataSource) -> None:
    """load returns a Dataset with a name, rows, a name for every class, and a licence."""
    dataset = loaded(source)
    assert isinstance(dataset, Dataset), f"load returns {type(dataset).__name__}, expected a Dataset"
    assert dataset.name.strip(), "the data set has no name"
    assert len(dataset.X), "the data set has no row"
    assert len(set(dataset.class_names)) == len(dataset.class_names), "two classes have the same name"
    licence = dataset.licence or type(source).licence
    assert licence.strip() or source.options, (
        "no licence; say under which terms the data may be used, or that none is known"
    )


def loading_twice_gives_the_same(source: DataSource) -> None:
    """Two loads have the same fingerprint."""
    second = _load(source, DataPlaces(root=data_root()))
    assert _computed(second) == _computed(loaded(source)), "two loads give other arrays, splits or names"


def cache_changes_nothing(source: DataSource) -> None:
    """With a cache folder, the first load and the next one give the same data as without."""
    expected = _computed(loaded(source))
    with tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder:
        for time in ("the first", "the second"):
            dataset = _load(source, DataPlaces(root=data_root(), cache=Path(folder)))
            assert _computed(dataset) == expected, f"{time} load with a cache folder gives other data"
            assert dataset.fingerprint == expected, f"{time} load with a cache folder claims another fingerprint"


def fingerprint_is_that_of_the_arrays(source: DataSource) -> None:
    """The fingerprint that the data set carries is the one computed from its arrays and splits."""
    dataset = loaded(source)
    assert dataset.fingerprint == _computed(dataset), "the known fingerprint is not that of the arrays"


def values_are_finite(source: DataSource) -> None:
    """Neither features nor signatures hold NaN or infinity."""
    dataset = loaded(source)
    for where, block in blocks_of(dataset.X):
        rows = np.arange(len(dataset.X))[where]
        bad = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
        assert not bad.any(), f"X: NaN or infinity in row {rows[np.argmax(bad)]}"
    for name, signatures in dataset.signatures.items():
        bad = ~np.isfinite(signatures.values).all(axis=1)
        assert not bad.any(), f"signatures {name!r}: NaN or infinity in row {np.argmax(bad)}"


def streams_can_be_read_again(source: DataSource) -> None:
    """A stream of rows gives as many as it says, of one shape and type, and the same ones at every pass."""
    for name, stream in loaded(source).features().items():
        if not isinstance(stream, RowStream):
            continue
        called = f"view {name!r}" if name else "the stream of features"
        next(stream.blocks())  # a pass that is given up leaves the next one alone
        digests = []
        for _ in range(2):
            digest = hashlib.sha256()
            for block in stream.blocks():
                digest.update(np.ascontiguousarray(block).data)
            digests.append(digest.digest())
        assert digests[0] == digests[1], f"{called} gives other rows at the second pass"


def splits_hold_rows_once(source: DataSource) -> None:
    """Every split holds rows, and each of them once."""
    for name, index in loaded(source).splits.items():
        assert len(index), f"split {name!r} is empty"
        assert len(np.unique(index)) == len(index), f"split {name!r} holds a row twice"


def seen_classes_are_trained_on(source: DataSource) -> None:
    """Every class of test_seen and of the validation folds has training rows; folds have classes on both sides."""
    dataset = loaded(source)
    if dataset.y.ndim != 1 or "train" not in dataset.splits:
        return
    trained = set(np.unique(dataset.y[dataset.rows("train")]).tolist())
    used = {"test_seen": set(np.unique(dataset.y[dataset.splits.get("test_seen", [])]).tolist())}
    for fold in dataset.folds:
        assert fold.train, f"fold {fold.name!r} trains on no class"
        assert fold.validation, f"fold {fold.name!r} holds out no class"
        used[f"fold {fold.name!r}"] = {*fold.train, *fold.validation}
    for what, classes in used.items():
        missing = sorted(classes - trained)
        assert not missing, f"class {dataset.class_names[missing[0]]} is in {what} but has no training row"


def test_rows_are_not_copied_into_train(source: DataSource) -> None:
    """At most one in a hundred rows of a test split has exactly the features of a training row."""
    dataset = loaded(source)
    if "train" not in dataset.splits:
        return
    digests = _row_digests(dataset)
    trained = {digests[row] for row in dataset.rows("train")}
    for name in (name for name in dataset.splits if name.startswith("test")):
        rows = dataset.rows(name)
        copies = [int(row) for row in rows if digests[row] in trained]
        assert len(copies) <= MOST_COPIES * len(rows), (
            f"{len(copies)} of {len(rows)} rows of {name!r} are copies of training rows, first row {copies[0]}; drop "
            "them, or name this check in expected_failures where equal features are no accident of the data"
        )


def labels_are_not_among_the_features(source: DataSource) -> None:
    """No feature tells the class by itself: equal within every class, and not the same for all."""
    dataset = loaded(source)
    columns = (_constant_within_classes if dataset.y.ndim == 1 else _marking_a_class)(dataset.X, dataset.y)
    assert not len(columns), (
        f"feature {columns[0]} has one value per class"
        + (f", as have {len(columns) - 1} more" if len(columns) > 1 else "")
        + "; take the labels out of X"
    )


def a_zero_shot_task_can_use_it(source: DataSource) -> None:
    """A data set with the splits train and test_unseen gives the zsl task validation folds and a test problem."""
    from zslplat.families.zero_shot.unseen import ZeroShot

    dataset = loaded(source)
    class_level = any(not signature.per_row for signature in dataset.signatures.values())
    if not (set(dataset.splits) >= ZERO_SHOT_SPLITS and class_level and dataset.y.ndim == 1):
        return
    problems = [*ZeroShot().validation(dataset), ZeroShot().test(dataset)]
    for problem in problems:
        for name in ("X", "X_pool"):
            assert len(problem.inputs[name]), f"problem {problem.name!r} has no row in {name}"


def _row_digests(dataset: Dataset) -> list[bytes]:
    """Return what tells the features of one row from those of another, for all rows."""
    digests = [b""] * len(dataset.X)
    for where, block in blocks_of(dataset.X):
        # 0.0 is added because -0.0 is another sequence of bytes.
        for row, content in zip(np.arange(len(digests))[where], np.ascontiguousarray(block) + 0, strict=True):
            digests[row] = hashlib.blake2b(content, digest_size=16).digest()
    return digests


def _constant_within_classes(X: np.ndarray | Rows, y: np.ndarray) -> np.ndarray:
    """Return the columns with one value per class and more than one in all; classes of one row say nothing."""
    first: dict[int, np.ndarray] = {}
    same: dict[int, np.ndarray] = {}
    for where, block in blocks_of(X):
        flat, labels = block.reshape(len(block), -1), y[where]
        for label in np.unique(labels).tolist():
            rows = flat[labels == label]
            start = first.setdefault(label, rows[0].copy())
            same[label] = same.get(label, True) & (rows == start).all(axis=0)
    counted = [label for label, count in zip(*np.unique(y, return_counts=True), strict=True) if count > 1]
    if len(counted) < 2:
        return np.array([], dtype=np.int64)
    values = np.array([first[label] for label in counted])
    constant = np.all([same[label] for label in counted], axis=0) & (values != values[0]).any(axis=0)
    return np.flatnonzero(constant)


def _marking_a_class(X: np.ndarray | Rows, y: np.ndarray) -> np.ndarray:
    """Return the columns with two values, one for all rows of a class of y (n, c) and the other for all other rows."""
    flat = np.asarray(X).reshape(len(X), -1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    two = np.flatnonzero((low < high) & ((flat == low) | (flat == high)).all(axis=0))
    agreement = ((j, ((flat[:, j] == high[j])[:, None] == (y == 1)).mean(axis=0)) for j in two)
    return np.array([j for j, shares in agreement if ((shares == 0) | (shares == 1)).any()], dtype=np.int64)


def _computed(dataset: Dataset) -> str:
    return replace(dataset, known_fingerprint="").fingerprint


DATASET_CHECKS: tuple[Check, ...] = (
    options_are_documented,
    options_that_are_not_legal_are_refused,
    class_is_importable,
    loading_gives_a_dataset,
    loading_twice_gives_the_same,
    cache_changes_nothing,
    fingerprint_is_that_of_the_arrays,
    values_are_finite,
    streams_can_be_read_again,
    splits_hold_rows_once,
    seen_classes_are_trained_on,
    test_rows_are_not_copied_into_train,
    labels_are_not_among_the_features,
    a_zero_shot_task_can_use_it,
)
