"""Data whose rows have several labels, or folds of their own: from files in their format to a data set."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.io

from zslplat.data.catalogue import describe
from zslplat.data.dataset import row_folds
from zslplat.data.formats.npz import NpzSource
from zslplat.data.sets.digits import DigitSets
from zslplat.data.sets.region_covariance import RegionCovariance
from zslplat.data.sets.voc07 import Voc07
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.methods.coding.ksc import KernelSparseCoding
from zslplat.tasks.coding import Coding

CLASSES = ("aeroplane", "bicycle", "person")


def voc_folder(path, *, trainval=False, seed=0):
    """Write lists as the development kit does; returns {split: (images, y (n, 3) of 1, 0 and -1)}."""
    rng = np.random.default_rng(seed)
    lists = path / "VOC2007" / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    numbers = np.sort(rng.choice(np.arange(1, 9964), 90, replace=False))
    parts = {"train": numbers[0::3], "val": numbers[1::3], "test": numbers[2::3]}
    if trainval:
        parts = {"trainval": np.sort(np.r_[parts["train"], parts["val"]]), "test": parts["test"]}
    told = {}
    for split, images in parts.items():
        y = rng.choice([1, 0, -1], p=[0.25, 0.05, 0.7], size=(len(images), 3))
        told[split] = ([f"{image:06d}" for image in images], y)
        # A list without classes stands beside them in the kit.
        (lists / f"{split}.txt").write_text("".join(f"{image:06d}\n" for image in images))
        for j, name in enumerate(CLASSES):
            lines = [f"{image:06d} {value:2d}\n" for image, value in zip(images, y[:, j], strict=True)]
            (lists / f"{name}_{split}.txt").write_text("".join(lines))
    return told


def features_of(told, rng):
    ids = [image for images, _ in told.values() for image in images]
    order = rng.permutation(len(ids))
    return rng.normal(size=(len(ids), 5)).astype(np.float32), [ids[i] for i in order]


@pytest.mark.long
@pytest.mark.parametrize("form", ["npz", "npz of numbers", "npy", "mat", "mat of numbers"])
def test_lists_of_the_kit_and_features_of_any_format_become_labels_and_splits(tmp_path, form):
    told = voc_folder(tmp_path)
    X, ids = features_of(told, np.random.default_rng(1))
    kind = form.split()[0]
    file = tmp_path / f"fisher.{kind}"
    numbers = np.array([int(image) for image in ids])
    if kind == "npz":
        np.savez(file, features=X, ids=numbers if "numbers" in form else np.array(ids))
    elif kind == "npy":
        np.save(file, X)
        file.with_suffix(".txt").write_text("\n".join(f"{image}.jpg" for image in ids))
    else:
        scipy.io.savemat(file, {"X": X, "ids": numbers if "numbers" in form else np.array(ids, dtype=object)})
    dataset = Voc07(folder=str(tmp_path / "VOC2007"), features=str(file)).load(DataPlaces(None, tmp_path / "cache"))
    assert dataset.class_names == CLASSES
    assert list(dataset.splits) == ["train", "test", "val"]
    for split, (images, y) in told.items():
        rows = dataset.splits[split]
        np.testing.assert_array_equal(np.asarray(dataset.X)[rows], X[[ids.index(image) for image in images]])
        np.testing.assert_array_equal(dataset.y[rows], np.select([y == 1, y == -1], [1, 0], -1))
    described = describe(dataset)
    assert described["labels_per_row"] == "several"
    assert described["labels_not_counted"] == sum(int((y == 0).sum()) for _, y in told.values())
    again = Voc07(folder=str(tmp_path / "VOC2007"), features=str(file)).load(DataPlaces(None, tmp_path / "cache"))
    assert again.fingerprint == dataset.fingerprint
    task = Coding()
    (validation,) = task.validation(dataset)
    assert set(validation.truth["row_pool"]) == set(dataset.splits["val"])
    scores = dict(next(task.run(KernelSparseCoding(gamma=0.01), task.test(dataset), {}))[1])["scores"]
    assert scores.shape == (30, 3)


def test_difficult_objects_are_what_is_asked_for(tmp_path):
    told = voc_folder(tmp_path)
    X, ids = features_of(told, np.random.default_rng(1))
    np.savez(tmp_path / "f.npz", X=X, ids=np.array(ids))
    y = np.concatenate([y for _, y in told.values()])
    found = {}
    for what in ("not-counted", "absent", "present"):
        source = Voc07(folder=str(tmp_path / "VOC2007"), features=str(tmp_path / "f.npz"), difficult=what)
        dataset = source.load(DataPlaces())
        found[what] = np.concatenate([dataset.y[dataset.splits[split]] for split in told])
    np.testing.assert_array_equal(found["not-counted"] < 0, y == 0)
    np.testing.assert_array_equal(found["absent"], y == 1)
    np.testing.assert_array_equal(found["present"], y >= 0)


def test_trainval_serves_where_there_is_nothing_finer(tmp_path):
    told = voc_folder(tmp_path, trainval=True)
    X, ids = features_of(told, np.random.default_rng(1))
    np.savez(tmp_path / "f.npz", X=X, ids=np.array(ids))
    main = tmp_path / "VOC2007" / "ImageSets" / "Main"
    dataset = Voc07(folder=str(main), features=str(tmp_path / "f.npz")).load(DataPlaces())
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 60, "test": 30}


def test_what_is_wrong_with_lists_or_features_is_said(tmp_path):
    told = voc_folder(tmp_path)
    X, ids = features_of(told, np.random.default_rng(1))
    main, file = tmp_path / "VOC2007" / "ImageSets" / "Main", tmp_path / "f.npz"

    def refused(message, **options):
        with pytest.raises(DataError, match=message):
            Voc07(**{"folder": str(tmp_path / "VOC2007"), "features": str(file), **options}).load(DataPlaces())

    np.savez(file, X=X[1:], ids=np.array(ids[1:]))
    refused(f"1 of 30 images of .* have no features, first '{ids[0]}'")
    np.savez(file, X=X.T, ids=np.array(ids))
    refused("looks transposed")
    np.savez(file, X=X, ids=np.array([ids[1], *ids[1:]]))
    refused(f"image '{ids[1]}' has features twice")
    np.savez(file, descriptors=X, ids=np.array(ids))
    refused("no X or features; the file holds descriptors, ids")
    np.savez(file, X=X, ids=np.array(ids))
    refused("no lists <class>_train.txt", folder=str(tmp_path))
    text = (main / "person_val.txt").read_text()
    (main / "person_val.txt").write_text(text.replace(" -1", " 2", 1))
    line = text[: text.index(" -1")].count("\n") + 1
    refused(f"person_val.txt, line {line}: .*expected an image and 1, 0 or -1")
    (main / "person_val.txt").write_bytes(b"\xff\xfe0 1\n")
    refused("person_val.txt: cannot be read as lines of text")
    (main / "person_val.txt").write_text("".join(text.splitlines(keepends=True)[1:]))
    refused("lists other images than aeroplane_val.txt")
    (main / "person_val.txt").unlink()
    refused("no list person_val.txt")
    for path in main.glob("*_test.txt"):
        path.unlink()
    refused("no lists of the split 'test'")
    with pytest.raises(UsageError, match="features is missing"):
        Voc07(folder="VOC2007").load(DataPlaces())


def test_an_image_in_two_splits_is_refused(tmp_path):
    told = voc_folder(tmp_path)
    X, ids = features_of(told, np.random.default_rng(1))
    np.savez(tmp_path / "f.npz", X=X, ids=np.array(ids))
    trained = told["train"][0][0]
    for name in CLASSES:
        with open(tmp_path / "VOC2007" / "ImageSets" / "Main" / f"{name}_test.txt", "a") as file:
            file.write(f"{trained}  1\n")
    with pytest.raises(DataError, match=f"image '{trained}' is listed in 'train' and in 'test'"):
        Voc07(folder=str(tmp_path / "VOC2007"), features=str(tmp_path / "f.npz")).load(DataPlaces())


@pytest.mark.parametrize("key", ["fold", "folds"])
def test_the_fold_of_each_row_makes_folds_of_cross_validation(tmp_path, key):
    """As the Virus data have them: images, 15 classes, ten folds with rows of every class."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(15), 20)
    folds = np.tile(np.arange(1, 11), 30)
    np.savez(tmp_path / "virus.npz", images=rng.integers(0, 255, (300, 9, 9)).astype(np.uint8), y=y, **{key: folds})
    dataset = RegionCovariance(file=str(tmp_path / "virus.npz"), X="images").load(DataPlaces(None, tmp_path / "cache"))
    assert list(dataset.splits) == [f"fold-{number}" for number in range(1, 11)]
    assert dataset.folds == ()
    for number, rows in enumerate(row_folds(dataset), start=1):
        np.testing.assert_array_equal(rows, np.flatnonzero(folds == number))
    test = Coding(split=4).test(dataset)
    assert set(test.truth["row_pool"]) == set(np.flatnonzero(folds == 4))


def test_named_folds_and_validation_rows_are_read_from_the_split_column(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 4
    np.savez(tmp_path / "a.npz", X=X, y=y, split=np.array([f"fold-{i % 12 + 1}" for i in range(40)]))
    assert list(NpzSource(file=str(tmp_path / "a.npz")).load(DataPlaces()).splits)[9:] == [
        "fold-10",
        "fold-11",
        "fold-12",
    ]
    names = np.repeat(["train", "val", "test", ""], 10)
    np.savez(tmp_path / "b.npz", X=X, y=y, split=names)
    splits = NpzSource(file=str(tmp_path / "b.npz")).load(DataPlaces()).splits
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
            NpzSource(file=str(tmp_path / "c.npz")).load(DataPlaces())


def test_label_matrices_may_hold_entries_that_are_not_counted(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice([1, 0, -1], p=[0.3, 0.6, 0.1], size=(40, 3))
    np.savez(tmp_path / "a.npz", X=rng.normal(size=(40, 4)), y=y)
    np.testing.assert_array_equal(NpzSource(file=str(tmp_path / "a.npz")).load(DataPlaces()).y, y)
    np.savez(tmp_path / "b.npz", X=rng.normal(size=(40, 4)), y=np.where(y == 1, 1, -1))
    with pytest.raises(DataError, match="where -1 says absent"):
        NpzSource(file=str(tmp_path / "b.npz")).load(DataPlaces())


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
