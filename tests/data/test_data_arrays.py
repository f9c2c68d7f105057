"""Arrays that people bring, as ``.npz`` or CSV: numbering, names, splits, and clear refusals."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tomli_w
from array_toys import NAMES, save, toy, write_csv

from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import CsvSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UnknownNameError, UsageError


def load(places, **options):
    return NpzSource(path="toy", **options).load(places)


def test_npz_gives_what_was_saved(tmp_path):
    arrays, dataset = toy(), load(save(tmp_path))
    assert np.array_equal(dataset.X, arrays["X"])
    assert np.array_equal(dataset.y, arrays["y"])
    assert np.array_equal(dataset.signature_set().values, arrays["S"])
    assert dataset.class_names == tuple(NAMES)
    for split in ("train", "test_seen", "test_unseen"):
        assert np.array_equal(dataset.rows(split), arrays[split])
    assert [(f.train, f.validation) for f in dataset.folds] == [((0, 1), (2, 3)), ((2, 3), (0, 1))]
    assert np.array_equal(dataset.groups, np.arange(30) // 2)


def test_labels_of_several_classes_are_no_names_though_classes_are_called_0_and_1(tmp_path):
    y = (np.arange(90).reshape(30, 3) % 4 == 0).astype(np.int64)
    np.save(tmp_path / "features.npy", toy()["X"])
    np.save(tmp_path / "labels.npy", y)
    (tmp_path / "signatures.csv").write_text("class,wings\n0,0.1\n1,0.2\n2,0.3\n")
    assert np.array_equal(NpySource(path=str(tmp_path)).load(DataPlaces()).y, y)


def test_csv_gives_the_same_as_npz(tmp_path):
    npz = load(save(tmp_path, drop=["folds"]))
    csv = CsvSource(path="toy").load(write_csv(tmp_path / "toy.csv"))
    assert np.array_equal(csv.X, npz.X)
    assert np.array_equal(csv.y, npz.y)
    assert np.array_equal(csv.signature_set().values, npz.signature_set().values)
    assert csv.class_names == npz.class_names
    assert np.array_equal(csv.groups, npz.groups)
    assert {k: sorted(v) for k, v in csv.splits.items()} == {k: sorted(v) for k, v in npz.splits.items()}


def test_kept_copy_equals_a_fresh_load(tmp_path, monkeypatch):
    places = save(tmp_path, row_signatures=np.ones((30, 2)), S_words=np.ones((6, 2)))
    fresh, first = load(DataPlaces(tmp_path)), load(places)
    monkeypatch.setattr("zslplat.data.formats.npz.NpzFile", None)
    again = load(places)
    assert fresh.fingerprint == first.fingerprint == again.fingerprint
    again_dict, fresh_dict = again.signatures, fresh.signatures
    assert list(again_dict) == list(fresh_dict) == ["S", "words", "rows"]
    assert again_dict["rows"].per_row
    assert np.array_equal(again.groups, fresh.groups)
    os.utime(tmp_path / "toy.npz", ns=(1, 1))
    with pytest.raises(TypeError):  # changed files are read again
        load(places)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_labels_and_indices_of_any_type_and_base(tmp_path, dtype):
    arrays = toy()
    plain = load(save(tmp_path))
    changes = {k: (arrays[k] + 1).astype(dtype) for k in ("y", "train", "test_seen", "test_unseen")}
    shifted = load(save(tmp_path, **changes), base=1, index_base=1)
    assert np.array_equal(shifted.y, plain.y)
    assert np.array_equal(shifted.rows("test_unseen"), plain.rows("test_unseen"))
    masks = {k: np.isin(np.arange(30), arrays[k]) for k in ("train", "test_seen", "test_unseen")}
    assert np.array_equal(load(save(tmp_path, **masks)).rows("train"), np.sort(plain.rows("train")))


@pytest.mark.parametrize("changes", [{"split": np.array("train")}, {"S": np.array(1.0)}, {"S": np.ones((0, 4))}])
def test_single_values_and_empty_arrays_are_refused(tmp_path, changes):
    without = {"train": None, "test_seen": None, "test_unseen": None} if "split" in changes else {}
    arrays = {k: v for k, v in (toy() | changes | without).items() if v is not None}
    np.savez(tmp_path / "toy.npz", **arrays)
    with pytest.raises(DataError):
        load(DataPlaces(tmp_path))


@pytest.mark.parametrize("mask", [np.array(True), np.ones((30, 2), dtype=bool), np.ones(29, dtype=bool)])
def test_a_mask_of_another_shape_is_refused(tmp_path, mask):
    with pytest.raises(DataError, match=r"a mask of shape .* for 30 rows"):
        load(save(tmp_path, train=mask))


def test_names_as_labels_follow_class_names(tmp_path):
    assert np.array_equal(load(save(tmp_path, y=np.array(NAMES)[toy()["y"]])).y, toy()["y"])


def test_other_keys_by_option_and_by_alias(tmp_path):
    places = save(tmp_path, drop=["X", "y", "train"], rf504=toy()["X"], label=toy()["y"], train32=toy()["train"])
    assert len(load(places, X="rf504", train="train32").rows("train")) == 12
    with pytest.raises(DataError, match=r"no key X or features; the file holds S, .*; say which it is with X="):
        load(places)
    with pytest.raises(DataError, match=r"no key 'nix' for X; the file holds"):
        load(places, X="nix")


def save_located(folder, base, without=()):
    """Save the toy with index vectors of MATLAB's names, which count from ``base`` and leave rows out."""
    names = {"train": "trainval_loc", "test_seen": "test_seen_loc", "test_unseen": "test_unseen_loc"}
    vectors = {new: np.setdiff1d(toy()[old], without) + base for old, new in names.items()}
    return save(folder, drop=list(names), **vectors)


@pytest.mark.parametrize(("base", "bound"), [(0, 0), (1, 30)])
def test_matlab_index_vectors_count_from_the_only_number_that_they_allow(tmp_path, base, bound):
    dataset = load(save_located(tmp_path, base))
    for split in ("train", "test_seen", "test_unseen"):
        assert np.array_equal(dataset.rows(split), np.sort(toy()[split]))
    (note,) = (note for note in dataset.source["notes"] if "count rows" in note)
    assert note.endswith(f"test_unseen_loc: count rows from {base}; of 30 rows one is number {bound}")


def test_matlab_index_vectors_that_allow_both_need_a_base(tmp_path):
    places = save_located(tmp_path, 1, without=(29,))
    with pytest.raises(DataError, match=r"trainval_loc.* may count rows.*--dataset '\S+toy\.npz\(index_base=0\)'"):
        load(places)
    assert np.array_equal(load(places, index_base=1).rows("train"), np.setdiff1d(toy()["train"], 29))


def test_rows_outside_train_are_test_rows(tmp_path):
    zero_shot = load(save(tmp_path, drop=["test_seen", "test_unseen"]))
    assert sorted(zero_shot.rows("test_seen")) == sorted(toy()["test_seen"])
    assert sorted(zero_shot.rows("test_unseen")) == sorted(toy()["test_unseen"])
    plain = load(save(tmp_path, drop=["test_seen", "test_unseen", "S", "folds"]))
    assert sorted(plain.rows("test")) == sorted([*toy()["test_seen"], *toy()["test_unseen"]])
    assert load(save(tmp_path), train=None, test_seen=None, test_unseen=None).splits == {}


def test_classes_without_names_come_from_the_labels(tmp_path):
    drop = ["class_names", "S", "folds", "train", "test_seen", "test_unseen"]
    dataset = load(save(tmp_path, drop=drop, y=toy()["y"] * 10 - 5))
    assert dataset.class_names == ("-5", "5", "15", "25", "35", "45")
    assert np.array_equal(dataset.y, toy()["y"])


def test_matrices_several_labels_and_several_signatures_per_class(tmp_path):
    drop = ["S", "folds", "train", "test_seen", "test_unseen", "class_names", "groups"]
    two = np.eye(6, dtype=bool)[toy()["y"]] | np.eye(6, dtype=bool)[toy()["y"] - 1]
    matrices = load(save(tmp_path, drop=drop, X=np.ones((30, 3, 3)), y=two))
    assert matrices.X.shape == (30, 3, 3)
    assert matrices.y.shape == (30, 6)
    classes = np.array([0, 1, 1, 2, 3, 4, 5])
    several = load(save(tmp_path, S=np.ones((7, 2)), signature_classes=classes))
    assert np.array_equal(several.signature_set().classes, classes)
    named = load(save(tmp_path, S=np.ones((7, 2)), signature_classes=np.array(NAMES)[classes]))
    assert np.array_equal(named.signature_set().classes, classes)


def test_chosen_signatures_become_the_default(tmp_path):
    places = save(tmp_path, S_words=np.ones((6, 2)))
    assert load(places).default_signatures == "S"
    assert load(places, signatures="words").signature_set().values.shape == (6, 2)
    with pytest.raises(UnknownNameError, match="did you mean words"):
        load(places, signatures="word")


def test_card_brings_texts_and_options(tmp_path):
    places = save(tmp_path, S_words=np.ones((6, 2)))
    card = {"licence": "CC0", "citation": "me", "options": {"signatures": "words"}}
    (tmp_path / "toy.card.toml").write_text(tomli_w.dumps(card))
    dataset = load(places)
    assert (dataset.licence, dataset.citation, dataset.default_signatures) == ("CC0", "me", "words")
    assert load(places, signatures="S").default_signatures == "S"
    (tmp_path / "toy.card.toml").write_text(tomli_w.dumps({"options": {"sig": 1}}))
    with pytest.raises(DataError, match=r"card\.toml: unknown option 'sig'"):
        load(places)
    (tmp_path / "toy.card.toml").write_text("[")
    with pytest.raises(DataError, match=r"card\.toml: cannot be read"):
        load(places)


BROKEN = {
    "NaN": ({"X": np.full((30, 4), np.nan)}, r"row 0 holds NaN"),
    "rows": ({"X": np.ones((29, 4))}, r"29 rows of features but 30 labels"),
    "text features": ({"X": np.full((30, 4), "a")}, r"features are of type .*; expected numbers"),
    "shape": ({"X": np.ones(30)}, r"features have shape \(30,\)"),
    "pickle": (
        {"X": np.array([{}] * 30, dtype=object)},
        r"'X': cannot be read .*save it again as an array",
    ),
    "label without signature": (
        {"S": np.ones((5, 3)), "class_names": np.array(NAMES[:5])},
        r"run to 5, but .* 5 classes",
    ),
    "base": ({"y": toy()["y"] + 1}, r"write base=1"),
    "negative label": ({"y": toy()["y"] - 1}, r"smallest label is -1, but labels count from 0"),
    "unknown name": ({"y": np.array([*NAMES[:5], "yak"])[toy()["y"]]}, r"class 'yak' has no signature or name"),
    "signature rows": ({"S": np.ones((7, 3))}, r"7 rows for 6 classes"),
    "missing signature": ({"S": np.ones((5, 3)), "signature_classes": np.arange(5)}, r"classes have no signature: dog"),
    "overlap": (
        {"train": np.arange(20), "test_seen": np.array([], int), "test_unseen": np.arange(20, 30)},
        r"test_seen: h",
    ),
    "class overlap": (
        {"train": np.arange(20), "test_unseen": np.arange(20, 30), "test_seen": None},
        r"both in train and",
    ),
    "index": ({"train": np.array([30])}, r"indices run from 30 to 30 but the 30 rows count from 0 to 29"),
    "single-class fold": ({"folds": np.array([[0, 0, 0, 1, -1, -1]])}, r"fold-1 has 1 validation class among"),
    "fold shape": ({"folds": np.zeros((1, 5))}, r"expected a matrix \(folds, 6 classes\)"),
    "groups": ({"groups": np.arange(29)}, r"30 rows but 29 groups"),
    "several labels": ({"y": np.full((30, 6), 2)}, r"must be a matrix of 1"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_arrays_give_one_clear_line(tmp_path, case):
    changes, message = BROKEN[case]
    changes = {k: v for k, v in changes.items() if v is not None}
    dropped = [k for k, v in BROKEN[case][0].items() if v is None]
    with pytest.raises(DataError, match=message) as caught:
        load(save(tmp_path, drop=dropped, **changes))
    assert "\n" not in str(caught.value)


def test_unreadable_npz_is_one_clear_line(tmp_path):
    (tmp_path / "toy.npz").write_bytes(b"PK no archive")
    with pytest.raises(DataError, match=r"toy\.npz: cannot be read as an \.npz file"):
        load(DataPlaces(tmp_path))
    with pytest.raises(UsageError, match="path is missing"):
        NpzSource().load(DataPlaces(tmp_path))
    with pytest.raises(UnknownNameError, match=r"'toi'; did you mean toy"):
        NpzSource(path="toi").load(DataPlaces(tmp_path))


def test_real_npz_files_load_by_options(real_data):
    places = DataPlaces(real_data / "coding")
    faces = NpzSource(path="extyaleb", X="rf504", y="label", train="train32").load(places)
    assert faces.X.shape == (2414, 504)
    assert len(faces.class_names) == 38
    assert set(np.bincount(faces.y[faces.rows("train")])) == {32}
    covariances = NpzSource(path="coil20_rcm25", X="P", y="y").load(places)
    assert covariances.X.shape == (1440, 25, 25)
    assert len(covariances.class_names) == 20
