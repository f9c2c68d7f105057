"""Every check of data sets catches a source that breaks its promise; sources that need files are skipped."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.source import DataSource
from zslplat.data.store.rows import Rows, RowStream
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.errors import DataError, UsageError
from zslplat.space import Integer, Parameter
from zslplat.testing import run_checks
from zslplat.testing.datasets import DATASET_CHECKS
from zslplat.testing.running import FAILED, SKIPPED

CLASSES, SEEN, ROWS = 8, 6, 5


def sound_dataset(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(CLASSES), ROWS)
    index = np.arange(len(y))
    return Dataset(
        "sound",
        rng.normal(size=(len(y), 4)).astype(np.float32),
        y,
        tuple(f"class {c}" for c in range(CLASSES)),
        {"attributes": SignatureSet(rng.random((CLASSES, 3)))},
        "attributes",
        {
            "train": index[(y < SEEN) & (index % ROWS > 0)],
            "test_seen": index[(y < SEEN) & (index % ROWS == 0)],
            "test_unseen": index[y >= SEEN],
        },
        (ClassFold("a", (0, 1, 2), (3, 4, 5)), ClassFold("b", (3, 4, 5), (0, 1, 2))),
    )


@dataclass(frozen=True)
class Unchecked(Dataset):
    """A data set that looks at nothing, as one could be made by hand."""

    def __post_init__(self):
        pass


def unchecked(**changes):
    return Unchecked(**{**vars(sound_dataset()), **changes})


class Sound(DataSource):
    """Six seen and two unseen classes."""

    summary = "sound"
    licence = "public domain"
    parameters = {"rows": Parameter("rows per class", Integer(1))}

    def load(self, places):
        return sound_dataset()


class Undocumented(Sound):
    parameters = {"rows": Parameter("", Integer(1))}


class TakesAnything(Sound):
    def __init__(self, **options):
        self.options = options


def local_source():
    class Local(Sound):
        """Defined in a function."""

    return Local()


class Unlicensed(Sound):
    licence = ""


class DrawsAnew(Sound):
    def load(self, places):
        return replace(sound_dataset(), X=np.random.default_rng().normal(size=(CLASSES * ROWS, 4)))


class OtherWhenCached(Sound):
    def load(self, places):
        return sound_dataset() if places.cache is None else sound_dataset(seed=1)


class StaleFingerprint(Sound):
    def load(self, places):
        return replace(sound_dataset(), known_fingerprint="0" * 64)


def giving(**changes):
    class Giving(Sound):
        """Loads what the constructor of Dataset would refuse."""

        def load(self, places):
            return unchecked(**changes)

    return Giving


def spoilt():
    X = sound_dataset().X.copy()
    X[3, 1] = np.nan
    return X


def with_copies(count):
    """A data set with so many rows of unseen classes that are training rows."""
    X = sound_dataset().X.copy()
    X[30 : 30 + count] = X[1 : 1 + count]
    return X


def with_feature(values):
    return np.column_stack([sound_dataset().X, values])


def streamed(X, read=None):
    """A stream of rows in blocks of seven."""
    read = read or (lambda: (X[start : start + 7] for start in range(0, len(X), 7)))
    return RowStream(X.shape, X.dtype, read, "a file")


def drawn_at_every_pass():
    return iter([np.random.default_rng().random((40, 4))])


GOOD = sound_dataset()
TRAIN = GOOD.splits["train"]
BROKEN = {
    "options_are_documented": (Undocumented, "no description for rows"),
    "options_that_are_not_legal_are_refused": (TakesAnything, "is accepted"),
    "class_is_importable": (local_source, "cannot be imported"),
    "loading_gives_a_dataset": (Unlicensed, "no licence"),
    "loading_twice_gives_the_same": (DrawsAnew, "two loads"),
    "cache_changes_nothing": (OtherWhenCached, "with a cache folder"),
    "fingerprint_is_that_of_the_arrays": (StaleFingerprint, "known fingerprint"),
    "values_are_finite": (giving(X=spoilt()), "X: NaN"),
    "streams_can_be_read_again": (
        giving(X=Rows.of({"": streamed(np.empty((40, 4)), drawn_at_every_pass)})),
        "gives other rows at the second pass",
    ),
    "splits_hold_rows_once": (giving(splits={"train": np.array([0, 0])}), "a row twice"),
    "seen_classes_are_trained_on": (
        giving(splits={"train": TRAIN[4:], "test_seen": np.array([0])}),
        "class class 0 is in test_seen but has no training row",
    ),
    "test_rows_are_not_copied_into_train": (
        giving(X=with_copies(2)),
        "2 of 10 rows of 'test_unseen' are copies of training rows, first row 30",
    ),
    "labels_are_not_among_the_features": (giving(X=with_feature(GOOD.y)), "feature 4 has one value per class"),
    "a_zero_shot_task_can_use_it": (
        giving(splits={"train": TRAIN[:4], "test_unseen": np.arange(30, 40)}, folds=()),
        "needs at least two",
    ),
}
FURTHER = [
    (
        "streams_can_be_read_again",
        giving(X=Rows.of({"": streamed(GOOD.X, lambda: iter([GOOD.X[:30]]))})),
        r"a file: 30 rows of shape \(4,\) were read, expected \(40, 4\)",
    ),
    (
        "values_are_finite",
        giving(X=Rows.of({"a": GOOD.X, "b": streamed(spoilt())})),
        "X: NaN or infinity in row 3",
    ),
    ("labels_are_not_among_the_features", giving(X=Rows.of({"": streamed(with_feature(GOOD.y))})), "feature 4 has"),
    ("labels_are_not_among_the_features", giving(X=with_feature(GOOD.y == 3)), "feature 4 has one value per class"),
    ("labels_are_not_among_the_features", giving(X=with_feature(np.eye(8)[GOOD.y])), "as have 7 more"),
    (
        "labels_are_not_among_the_features",
        giving(X=with_feature(GOOD.y % 2), y=np.eye(2, dtype=int)[GOOD.y % 2], class_names=("a", "b")),
        "feature 4 has one value per class",
    ),
    (
        "labels_are_not_among_the_features",
        giving(X=with_feature(5 - 2.5 * (GOOD.y % 2)), y=np.eye(2, dtype=int)[GOOD.y % 2], class_names=("a", "b")),
        "feature 4 has one value per class",
    ),
    ("splits_hold_rows_once", giving(splits={"train": np.array([], dtype=int)}), "is empty"),
    ("seen_classes_are_trained_on", giving(folds=(ClassFold("a", (0, 1), (7,)),)), "class 7 is in fold 'a' but has no"),
]
ALL = {check.__name__: check for check in DATASET_CHECKS}


def test_every_check_has_a_source_that_breaks_it():
    assert set(BROKEN) == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), [(n, *b) for n, b in BROKEN.items()] + FURTHER)
def test_check_catches_the_source_that_breaks_it(name, broken, message):
    with pytest.raises((AssertionError, DataError), match=message):
        ALL[name](broken())


def test_sound_source_passes_every_check():
    assert [(r.check, r.message) for r in run_checks(Sound()) if r.state != "passed"] == []


class Streamed(Sound):
    def load(self, places):
        spd = np.random.default_rng(0).random((40, 2, 2))
        X = Rows.of({"a": streamed(GOOD.X), "b": spd + spd.transpose(0, 2, 1)})
        return stored_dataset(places.cache, "streamed", lambda: replace(sound_dataset(), X=X))


def test_sound_source_of_streams_and_views_passes_every_check():
    assert [(r.check, r.message) for r in run_checks(Streamed()) if r.state != "passed"] == []


class NeedsAFile(Sound):
    def load(self, places):
        if "rows" not in self.options:
            raise UsageError("rows is missing; write needs-a-file(rows=3)")
        return sound_dataset()


class MissesItsFile(Sound):
    def load(self, places):
        try:
            Path("/no/such/file").read_text()
        except FileNotFoundError as error:
            raise DataError("/no/such/file is missing; fetch it from its authors") from error


class Unreadable(Sound):
    def load(self, places):
        raise DataError("splits overlap")


@pytest.mark.parametrize("source", [NeedsAFile, MissesItsFile])
def test_source_without_its_files_is_skipped_with_the_reason(source):
    states = {r.check: r for r in run_checks(source())}
    assert states["values_are_finite"].state == SKIPPED
    assert "is missing" in states["values_are_finite"].message
    assert states["options_are_documented"].state == "passed"


def test_source_with_its_options_is_not_skipped():
    assert {r.state for r in run_checks(NeedsAFile(rows=3))} == {"passed"}


def test_source_that_gives_unusable_data_fails_and_is_not_skipped():
    states = {r.check: r.state for r in run_checks(Unreadable())}
    assert states["values_are_finite"] == FAILED
