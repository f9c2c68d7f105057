"""Data whose rows have several labels, or folds of their own: from files in their format to a data set."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from zslplat.data.dataset import row_folds
from zslplat.data.formats.npz import NpzSource
from zslplat.data.sets.digits import DigitSets
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat.families.coding.task import Coding

CLASSES = ("aeroplane", "bicycle", "person")


@pytest.mark.parametrize("key", ["fold", "folds"])
def test_the_fold_of_each_row_makes_folds_of_cross_validation(tmp_path, key):
    """As the Virus data have them: 15 classes, ten folds with rows of every class."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(15), 20)
    folds = np.tile(np.arange(1, 11), 30)
    np.savez(tmp_path / "virus.npz", X=rng.random((300, 9)), y=y, **{key: folds})
    dataset = NpzSource(path=str(tmp_path / "virus.npz")).load(DataPlaces(None, tmp_path / "cache"))
    assert list(dataset.splits) == [f"fold-{number}" for number in range(1, 11)]
    assert dataset.folds == ()
    for number, rows in enumerate(row_folds(dataset), start=1):
        np.testing.assert_array_equal(rows, np.flatnonzero(folds == number))
    test = Coding(split=4).test(dataset)
    assert set(test.truth["row_pool"]) == set(np.flatnonzero(folds == 4))


def test_named_folds_and_validation_rows_are_read_from_the_split_column(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 4
    np.savez(tmp_path / "a.npz", X=X, y=y, split=np.array([f"fold-{i % 12 + 1}" for i in range(40)]))
    assert list(NpzSource(path=str(tmp_path / "a.npz")).load(DataPlaces()).splits)[9:] == [
        "fold-10",
        "fold-11",
        "fold-12",
    ]
    names = np.repeat(["train", "val", "test", ""], 10)
    np.savez(tmp_path / "b.npz", X=X, y=y, split=names)
    splits = NpzSource(path=str(tmp_path / "b.npz")).load(DataPlaces()).splits
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 10, "test": 10, "val": 10}
    cases = {
        "without a gap": {"split": np.array(["fold-1", "fold-3"] * 20)},
        "are divided twice": {"split": np.repeat(["train", "test"], 20), "folds": np.arange(40) // 4},
        "row 7 is in no fold": {"folds": np.where(np.arange(40) == 7, -1, np.arange(40) // 4)},
        "4 of 4 classes are both in val and in train": {"split": names, "S": np.eye(4)},
        "folds by row are for classification": {"split": np.array(["fold-1", "fold-2"] * 20), "S": np.eye(4)},
        "holds out whole classes in data with signatures": {"folds": np.arange(40) // 4, "S": np.eye(4)},
    }
    for message, more in cases.items():
        np.savez(tmp_path / "c.npz", X=X, y=y, **more)
        with pytest.raises(DataError, match=message):
            NpzSource(path=str(tmp_path / "c.npz")).load(DataPlaces())


def test_label_matrices_may_hold_entries_that_are_not_counted(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice([1, 0, -1], p=[0.3, 0.6, 0.1], size=(40, 3))
    np.savez(tmp_path / "a.npz", X=rng.normal(size=(40, 4)), y=y)
    np.testing.assert_array_equal(NpzSource(path=str(tmp_path / "a.npz")).load(DataPlaces()).y, y)
    np.savez(tmp_path / "b.npz", X=rng.normal(size=(40, 4)), y=np.where(y == 1, 1, -1))
    with pytest.raises(DataError, match="where -1 says absent"):
        NpzSource(path=str(tmp_path / "b.npz")).load(DataPlaces())


@pytest.mark.parametrize("parts", ["train-val-test", "folds"])
def test_digit_sets_share_no_image_between_parts_and_mark_faint_digits(parts):
    dataset = DigitSets(rows=300, parts=parts, faint=0.2).load(DataPlaces())
    strips = np.asarray(dataset.X).reshape(300, 8, 3, 8)
    images: dict[bytes, str] = {}
    for name, rows in dataset.splits.items():
        for row in rows:
            labels = dataset.y[row]
            digits = [strip for place in range(3) if (strip := strips[row][:, place]).any()]
            assert len(digits) == (labels != 0).sum()
            # A faint digit is at most a third as bright as the brightest pixel of any image.
            assert sum(digit.max() <= 1 / 3 + 1e-6 for digit in digits) == (labels < 0).sum()
            for digit in digits:
                # A whole number of sixteenths, whether faint or not.
                content = np.round(digit * (48 if digit.max() <= 1 / 3 + 1e-6 else 16)).astype(np.int8).tobytes()
                assert images.setdefault(content, name) == name
    assert 0.1 < (dataset.y < 0).sum() / (dataset.y != 0).sum() < 0.3
    again = DigitSets(rows=300, parts=parts, faint=0.2).load(DataPlaces())
    assert again.fingerprint == dataset.fingerprint
    other = dataclasses.replace(dataset, y=np.where(dataset.y < 0, 0, dataset.y), known_fingerprint="")
    assert other.fingerprint != dataset.fingerprint
