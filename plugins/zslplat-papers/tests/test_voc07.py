"""PASCAL VOC2007: lists of the development kit and features of any format become labels and splits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

from zslplat.data.description import describe
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.families.coding.methods.kernel_coding import KernelSparseCoding
from zslplat.families.coding.task import Coding
from zslplat_papers.data_sets.voc07 import Voc07

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
