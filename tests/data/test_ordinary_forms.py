"""The forms that labels, splits and features ordinarily have are read, and it is said what was taken for what."""

import numpy as np
import pytest
from array_toys import NAMES, save, toy, write_csv

from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import CsvSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError

TOY = toy()
SPLITS = ("train", "test_seen", "test_unseen")
WITHOUT = (*SPLITS, "folds")
# Rows by class: 0 and 1 train, 2 and 3 are validated on, 4 and 5 are tested.
SIDE = np.select([TOY["y"] < 2, TOY["y"] < 4], ["train", "val"], "test")


def load(folder, drop=(), options=(), **changes):
    return NpzSource(path="toy", **dict(options)).load(save(folder, set(drop) - set(changes), **changes))


def same(dataset, other):
    assert dataset.fingerprint == other.fingerprint


def notes(dataset):
    return " | ".join(dataset.source.get("notes", ()))


def test_nothing_is_said_where_nothing_had_to_be_guessed(tmp_path):
    assert "notes" not in load(tmp_path).source


# -- splits -----------------------------------------------------------------------------------------------------------


def mask(rows):
    found = np.zeros(30, dtype=bool)
    found[rows] = True
    return found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: mask(rows), ""),
        (lambda rows: mask(rows)[:, None], ""),
        (lambda rows: mask(rows).astype(np.uint8), "30 entries of 0 and 1 are taken for a mask"),
        (lambda rows: mask(rows).astype(float)[:, None], "30 entries of 0.0 and 1.0 are taken for a mask"),
        (lambda rows: mask(rows).astype(str), "30 entries of False and True are taken for a mask"),
        (lambda rows: np.sort(rows)[None], ""),
        (lambda rows: np.sort(rows).astype(float)[:, None], ""),
    ],
    ids=["mask", "column", "uint8", "float", "text", "row of indices", "column of indices"],
)
def test_masks_and_indices_of_any_type_and_shape(tmp_path, change, said):
    whole = load(tmp_path, **{name: np.sort(TOY[name]) for name in SPLITS})
    found = load(tmp_path, **{name: change(TOY[name]) for name in SPLITS})
    same(found, whole)
    assert said in notes(found)


def test_two_rows_may_be_indexed_by_0_and_1(tmp_path):
    np.savez(tmp_path / "two.npz", X=np.eye(2), y=np.arange(2), train=np.array([1]), test=np.array([0]))
    splits = NpzSource(path=str(tmp_path / "two.npz")).load(DataPlaces()).splits
    assert {name: rows.tolist() for name, rows in splits.items()} == {"train": [1], "test": [0]}


@pytest.mark.parametrize("ending", ["_mask", "_idx", "_indices"])
def test_names_of_splits_may_say_what_they_hold(tmp_path, ending):
    renamed = {f"{name}{ending}": TOY[name] for name in SPLITS}
    same(load(tmp_path, SPLITS, **renamed), load(tmp_path))


def expected_by_class():
    """Return what rows of validation classes make of the toy data: they train for the test."""
    return {"train": np.flatnonzero(TOY["y"] < 4).tolist(), "test_unseen": np.flatnonzero(TOY["y"] >= 4).tolist()}


@pytest.mark.parametrize("form", ["names", "other names", "indices", "train holds val, too"])
def test_validation_rows_of_classes_that_nothing_else_trains_on_are_a_fold(tmp_path, form):
    rows = {split: np.flatnonzero(split == SIDE) for split in ("train", "val", "test")}
    spelt = {"train": "Training", "val": "Validation", "test": "TEST"}
    changes = {
        "names": {"split": SIDE},
        "other names": {"split": np.array([spelt[side] for side in SIDE])},
        "indices": rows,
        "train holds val, too": {**rows, "train": np.sort(np.r_[rows["train"], rows["val"]])},
    }[form]
    found = load(tmp_path, WITHOUT, **changes)
    assert {name: index.tolist() for name, index in found.splits.items()} == expected_by_class()
    assert [(fold.train, fold.validation) for fold in found.folds] == [((0, 1), (2, 3))]
    assert "val: its 2 classes have no other training rows" in notes(found)
    assert "none of its classes trains" in notes(found)
    assert ("'Validation' is taken for val" in notes(found)) == (form == "other names")


def test_validation_rows_can_be_left_out(tmp_path):
    for changes in ({"split": SIDE}, {split: np.flatnonzero(split == SIDE) for split in ("train", "val", "test")}):
        found = load(tmp_path, WITHOUT, {"val": None}, **changes)
        assert found.folds == ()
        assert found.splits["train"].tolist() == np.flatnonzero(TOY["y"] < 2).tolist()


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        ({"split": np.tile(["train", "val", "test"], 10)}, r"both in val and in train.*val=none"),
        ({"split": np.where(TOY["y"] == 2, np.tile(["val", "test"], 15), SIDE)}, r"1 of 2 classes are both in val and"),
        ({"split": np.where(TOY["y"] == 3, "", SIDE)}, r"val has 1 class; .*val=none"),
        ({"val": np.flatnonzero(SIDE == "val")}, r"val without train"),
        ({"split": SIDE, "folds": TOY["folds"]}, r"folds and val both .*folds=none or val=none"),
    ],
    ids=["rows of all classes", "a tested class", "one class", "no training rows", "folds, too"],
)
def test_validation_rows_that_cannot_be_meant_are_refused_with_the_way_out(tmp_path, change, pattern):
    with pytest.raises(DataError, match=pattern):
        load(tmp_path, WITHOUT, **change)


def test_validation_rows_of_data_for_classification_stay_rows(tmp_path):
    found = load(tmp_path, (*WITHOUT, "S"), split=np.tile(["train", "val", "test"], 10))
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 10, "val": 10, "test": 10}


def test_test_rows_of_zero_shot_data_are_told_apart_by_class(tmp_path):
    unseen = load(tmp_path, WITHOUT, split=np.where(TOY["y"] < 4, "train", "test"))
    assert sorted(unseen.splits) == ["test_unseen", "train"]
    assert "test: none of its classes trains: 10 rows are taken for test_unseen" in notes(unseen)
    both = load(tmp_path, WITHOUT, train=TOY["train"], test=np.r_[TOY["test_seen"], TOY["test_unseen"]])
    assert {name: rows.tolist() for name, rows in both.splits.items()} == {
        name: TOY[name].tolist() for name in ("train", "test_seen", "test_unseen")
    }
    assert "8 rows are taken for test_seen and 10 rows are taken for test_unseen" in notes(both)
    seen = load(tmp_path, WITHOUT, train=TOY["train"], test=TOY["test_seen"])
    assert sorted(seen.splits) == ["test", "train"]
    assert "all of its classes train" in notes(seen)
    assert "only training rows are named: 8 rows" in notes(load(tmp_path, WITHOUT, train=TOY["train"]))


# -- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [bool, np.uint8, float])
def test_labels_with_a_single_1_in_every_row_are_classes(tmp_path, type_):
    found = load(tmp_path, y=np.eye(6)[TOY["y"]].astype(type_))
    same(found, load(tmp_path))
    assert "taken for one class per row" in notes(found)


def test_one_hot_labels_need_no_signatures_and_may_have_minus_1_for_the_others(tmp_path):
    drop = (*WITHOUT, "S", "class_names")
    plain = load(tmp_path, drop, train=TOY["train"])
    same(load(tmp_path, drop, train=TOY["train"], y=np.eye(6)[TOY["y"]]), plain)
    same(load(tmp_path, drop, train=TOY["train"], y=2 * np.eye(6)[TOY["y"]] - 1), plain)
    assert load(tmp_path, drop, {"base": 1}, train=TOY["train"], y=np.eye(6)[TOY["y"]]).class_names[0] == "1"


def test_columns_of_one_hot_labels_that_are_not_the_classes_are_refused(tmp_path):
    with pytest.raises(DataError, match="7 columns, one-hot, but there are signatures or names for 6 classes"):
        load(tmp_path, y=np.eye(7)[TOY["y"]])


def test_other_matrices_of_labels_are_several_to_a_row(tmp_path):
    y = np.eye(6, dtype=int)[TOY["y"]]
    y[0] = 0
    assert load(tmp_path, (*WITHOUT, "S"), y=y).y.shape == (30, 6)


# -- features ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 4, 1, 1), (30, 1, 4), (30, 4, 1)])
def test_axes_of_length_1_are_left_out(tmp_path, shape):
    found = load(tmp_path, X=TOY["X"].reshape(shape))
    same(found, load(tmp_path))
    assert f"features of shape {shape}" in notes(found)


def test_axes_of_length_1_are_left_out_of_matrices_and_of_what_is_read_in_blocks(tmp_path):
    from file_toys import write_npy

    from zslplat.data.formats.npy_folder import NpySource

    assert load(tmp_path, X=np.ones((30, 3, 3, 1))).X.shape == (30, 3, 3)
    assert load(tmp_path, X=np.arange(30.0).reshape(30, 1, 1) ** 2).X.shape == (30, 1, 1)
    folder = write_npy(tmp_path / "d", X=TOY["X"].reshape(30, 4, 1, 1))
    found = NpySource(path=str(folder)).load(DataPlaces())
    assert np.array_equal(np.asarray(found.X), TOY["X"])
    assert "(30, 4, 1, 1)" in notes(found)


@pytest.mark.parametrize(
    ("X", "pattern"),
    [
        (np.ones((30, 7, 7, 4)), r"flatten them, X\.reshape\(len\(X\), -1\), or average .*X\.mean\(axis=\(2, 3,\)\)"),
        (np.ones(30), r"a single feature is a column, X\[:, None\]"),
        (np.c_[TOY["X"], np.arange(30)], r"column 4 counts the rows, from 0 on.*numpy\.delete\(X, 4, axis=1\)"),
        (np.c_[np.arange(1, 31), TOY["X"], np.arange(7, 37)], r"column 0 counts the rows, from 1 on, as 1 more"),
    ],
    ids=["maps", "vector", "row number", "two row numbers"],
)
def test_features_that_cannot_be_meant_are_refused_with_the_line_that_mends_them(tmp_path, X, pattern):
    with pytest.raises(DataError, match=pattern):
        load(tmp_path, X=X)


def test_a_column_that_nearly_counts_the_rows_is_a_feature(tmp_path):
    column = np.arange(30.0)
    column[29] = 30
    assert load(tmp_path, X=np.c_[TOY["X"], column]).X.shape == (30, 5)


def test_columns_of_a_frame_that_are_called_identifiers_are_left_out_and_named():
    import pandas as pd

    from zslplat.front.datasets import make_dataset

    frame = pd.DataFrame(TOY["X"].astype(float), columns=list("abcd"))
    found = make_dataset(frame.assign(id=np.arange(30) * 7 % 31), TOY["y"], TOY["S"], unseen=[4, 5])
    assert found.fingerprint == make_dataset(frame, TOY["y"], TOY["S"], unseen=[4, 5]).fingerprint
    assert "left out: id" in notes(found)


def test_an_identifier_among_the_attributes_of_classes_is_left_out(tmp_path):
    lines = [f"{n},{i + 100}," + ",".join(map(str, r)) for i, (n, r) in enumerate(zip(NAMES, TOY["S"], strict=True))]
    signatures = "\n".join(["class,class_id,furry,flies,swims", *lines])
    places = write_csv(tmp_path / "toy.csv")
    (tmp_path / "toy.signatures.csv").write_text(signatures)
    found = CsvSource(path="toy").load(places)
    assert found.signature_set().names == ("furry", "flies", "swims")
    assert np.array_equal(found.signature_set().values, TOY["S"])
