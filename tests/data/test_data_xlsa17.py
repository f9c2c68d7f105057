"""The xlsa17 layout: types, numbering, folds, the kept copy, and one clear line for everything that is wrong."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
import tomli_w
from xlsa17_toys import LISTS, NAMES, UNSEEN, WRITERS, toy_arrays, write_folder

from zslplat.data.dataset import ClassFold
from zslplat.data.formats.xlsa17 import Xlsa17, feature_files
from zslplat.data.source import DataPlaces
from zslplat.data.store.rows import Stored
from zslplat.errors import DataError, UnknownNameError, UsageError


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("index_type", [np.uint8, np.uint16, np.int32, np.float64])
def test_any_format_and_index_type_gives_the_same_data(tmp_path, kind, index_type):
    X, y, S, parts = toy_arrays()
    places = write_folder(tmp_path / "toy", kind=kind, index_type=index_type, label_type=index_type)
    dataset = Xlsa17(path="toy").load(places)
    assert dataset.X.dtype == np.float32
    assert np.array_equal(dataset.X, X)
    assert np.array_equal(dataset.y, y)
    assert np.array_equal(dataset.signature_set("att").values, S)
    assert dataset.class_names == tuple(NAMES)
    for split, field in (("train", "trainval"), ("test_seen", "test_seen"), ("test_unseen", "test_unseen")):
        assert np.array_equal(dataset.rows(split), parts[f"{field}_loc"].ravel() - 1)
    write_folder(tmp_path / "other" / "toy")
    assert dataset.fingerprint == Xlsa17(path=str(tmp_path / "other" / "toy")).load(DataPlaces()).fingerprint


def test_transposed_features_are_recognised_by_the_number_of_labels(tmp_path):
    X, _, _, _ = toy_arrays()
    places = write_folder(tmp_path / "toy", features={"features": X.astype(float)})
    assert np.array_equal(Xlsa17(path="toy").load(places).X, X)


@pytest.mark.parametrize("name", ["scale", "feature_scale"])
def test_stored_scale_is_multiplied_in(tmp_path, name):
    X, _, _, _ = toy_arrays()
    places = write_folder(tmp_path / "toy", features={name: np.array([[0.25]])})
    assert np.array_equal(Xlsa17(path="toy").load(places).X, X * np.float32(0.25))


def test_class_order_is_the_order_of_columns(tmp_path):
    """Equal signatures, or unsorted ones, must not change which class a row belongs to."""
    S = np.zeros((5, 8))
    S[0] = [5, 5, 1, 9, 2, 2, 0, 7]
    places = write_folder(tmp_path / "toy", splits={"att": S})
    assert Xlsa17(path="toy").load(places).signature_set().values[:, 0].tolist() == S[0].tolist()


def test_folds_follow_the_class_lists(tmp_path):
    dataset = Xlsa17(path="toy").load(write_folder(tmp_path / "toy"))
    assert [(f.name, f.train, f.validation) for f in dataset.folds] == [
        ("fold-1", (0, 1, 2, 4), (5, 7)),
        ("fold-2", (2, 4, 5, 7), (0, 1)),
    ]


def test_folds_from_rows_ignore_rows_outside_trainval(tmp_path):
    """``train_loc`` and ``val_loc`` cover ``test_seen_loc``; here its rows would put one class on both sides."""
    _, y, _, parts = toy_arrays()
    trainval, test_seen = parts["trainval_loc"].ravel(), parts["test_seen_loc"].ravel()
    held_out = np.isin(y[trainval - 1], [5, 7])
    splits = {
        "train_loc": np.concatenate([trainval[~held_out], test_seen])[:, None].astype(np.uint8),
        "val_loc": trainval[held_out][:, None].astype(float),
    }
    dataset = Xlsa17(path="toy").load(write_folder(tmp_path / "toy", lists={}, splits=splits))
    assert [(f.train, f.validation) for f in dataset.folds] == [((0, 1, 2, 4), (5, 7))]
    both = write_folder(tmp_path / "both", lists={}, splits={**splits, "val_loc": trainval[:, None]})
    with pytest.raises(DataError, match=r"fold-1 has 4 classes on both sides, first ox; .*folds=none"):
        Xlsa17(path="both").load(both)
    assert Xlsa17(path="both", folds=None).load(both).folds == ()


def test_without_lists_and_rows_there_are_no_folds(tmp_path):
    places = write_folder(tmp_path / "toy", lists={}, drop=["train_loc", "val_loc"])
    assert Xlsa17(path="toy").load(places).folds == ()
    for folds, lacking in (("rows", "train_loc and val_loc"), ("lists", r"trainclasses1\.txt and valclasses1\.txt")):
        with pytest.raises(DataError, match=rf"folds={folds} needs {lacking}; use .* or folds=none"):
            Xlsa17(path="toy", folds=folds).load(places)


def test_another_split_restricts_the_lists_to_its_seen_classes(tmp_path):
    """Under a split where ``bat`` is seen and ``fox`` is not, folds lose fox, and train on bat, which no list names."""
    _, y, _, _ = toy_arrays()
    places = write_folder(
        tmp_path / "toy",
        lists={**LISTS, "valclasses1.txt": ["dog", "fox", "cow"], "trainclasses1.txt": ["ox", "mole", "ant"]},
        splits={
            "ss_trainval_loc": (np.flatnonzero(~np.isin(y, [6, 7])) + 1.0)[:, None],
            "ss_test_loc": (np.flatnonzero(np.isin(y, [6, 7])) + 1.0)[:, None],
        },
    )
    dataset = Xlsa17(path="toy", trainval="ss_trainval_loc", test_unseen="ss_test_loc", test_seen=None).load(places)
    assert set(dataset.splits) == {"train", "test_unseen"}
    assert dataset.folds[0].validation == (4, 5)
    assert dataset.folds[0].train == (0, 1, 2, 3)


def test_classes_without_names_are_numbered(tmp_path):
    places = write_folder(tmp_path / "toy", lists={}, drop=["allclasses_names"])
    assert Xlsa17(path="toy").load(places).class_names == tuple("12345678")
    (tmp_path / "toy" / "allclasses.txt").write_text("\n".join(NAMES) + "\n\n")
    assert Xlsa17(path="toy").load(places).class_names == tuple(NAMES)


def test_other_fields_files_and_the_only_features_file(tmp_path):
    places = write_folder(tmp_path / "toy")
    folder = tmp_path / "toy"
    shutil.copy(folder / "att_splits.mat", folder / "hier_splits.mat")
    (folder / "res101.mat").rename(folder / "mnv2.mat")
    _, _, S, _ = toy_arrays()
    assert np.array_equal(Xlsa17(path="toy", field="original_att").load(places).signature_set().values, 100 * S)
    assert Xlsa17(path="toy", signatures="hier").load(places).default_signatures == "hier"
    shutil.copy(folder / "mnv2.mat", tmp_path / "elsewhere.mat")
    with pytest.raises(DataError, match=r"no features file vgg\.mat; features there: mnv2"):
        Xlsa17(path="toy", features="vgg").load(places)
    assert len(Xlsa17(path="toy", features=str(tmp_path / "elsewhere.mat")).load(places).X) == 80
    shutil.copy(folder / "mnv2.mat", folder / "vgg.mat")
    with pytest.raises(DataError, match=r"no features file res101\.mat; features there: mnv2, vgg; .*features="):
        Xlsa17(path="toy").load(places)


def test_splits_file_checksum_and_texts_are_recorded(tmp_path):
    import hashlib

    places = write_folder(tmp_path / "toy")
    (tmp_path / "toy" / "card.toml").write_text(tomli_w.dumps({"licence": "CC0", "options": {"field": "original_att"}}))
    dataset = Xlsa17(path="toy").load(places)
    content = (tmp_path / "toy" / "att_splits.mat").read_bytes()
    assert dataset.source["sha256"] == hashlib.sha256(content).hexdigest()
    assert dataset.licence == "CC0"
    assert dataset.default_signatures == "original_att"
    assert Xlsa17(path="toy", field="att").load(places).default_signatures == "att"


def write_imagenet(folder, kind="v5", **changed):
    X, y, S, _ = toy_arrays()
    folder.mkdir(exist_ok=True)
    lists = {"train_classes": [1, 2, 3], "val_classes": [5, 6], "hops2": [4], "mp500": [7, 8], "all": [9]}
    WRITERS[kind](folder / "ImageNet_splits.mat", {key: np.array([one]) for key, one in lists.items()})
    S = np.vstack([S, S[:1]])  # a class without rows
    words = {"w2v": S, "wnids": [f"n0000000{number}" for number in range(1, 10)], "words": [*NAMES, "yak"]}
    WRITERS[kind](folder / "ImageNet_w2v.mat", words | changed)
    WRITERS[kind](folder / "res101.mat", {"features": X.T.astype(np.uint8), "labels": y[:, None] + 1.0})
    return S


@pytest.mark.parametrize("kind", ["v5", "v7.3"])
def test_splits_of_imagenet_are_lists_of_classes_with_wordnet_ids(tmp_path, kind):
    S = write_imagenet(tmp_path / "ImageNet", kind)
    assert feature_files(tmp_path / "ImageNet") == ["res101"]
    data = Xlsa17(path="ImageNet", test_unseen="mp500").load(DataPlaces(tmp_path))
    assert data.class_names[:2] == ("n00000001 ox", "n00000002 mole")
    assert np.array_equal(data.signature_set().values, S)
    assert set(data.y[data.rows("train")]) == {0, 1, 2, 4, 5}
    assert set(data.y[data.rows("test_unseen")]) == {6, 7}
    assert data.folds == (ClassFold("fold-1", (0, 1, 2), (4, 5)),)
    assert set(Xlsa17(path="ImageNet").load(DataPlaces(tmp_path)).y[data.rows("train")]) == {0, 1, 2, 4, 5}
    with pytest.raises(DataError, match="no row is of the classes of test_unseen; 'all' needs rows of other features"):
        Xlsa17(path="ImageNet", test_unseen="all").load(DataPlaces(tmp_path))
    assert Xlsa17(path="ImageNet", folds=None).load(DataPlaces(tmp_path)).folds == ()
    write_imagenet(tmp_path / "ImageNet", kind, words=NAMES)
    with pytest.raises(DataError, match=r"ImageNet_w2v\.mat: 9 wnids but 8 words; every class needs one of each"):
        Xlsa17(path="ImageNet").load(DataPlaces(tmp_path))


def test_a_new_file_of_word_vectors_makes_a_new_copy(tmp_path):
    places = DataPlaces(tmp_path, tmp_path / "cache")
    S = write_imagenet(tmp_path / "ImageNet")
    before = Xlsa17(path="ImageNet").load(places)
    words = {"w2v": S + 1, "wnids": list("abcdefghi"), "words": [*NAMES, "yak"]}
    WRITERS["v5"](tmp_path / "ImageNet" / "ImageNet_w2v.mat", words)
    after = Xlsa17(path="ImageNet").load(places)
    assert np.array_equal(after.signature_set().values, S + 1)
    assert after.fingerprint != before.fingerprint


# -- the kept copy ----------------------------------------------------------------------------------------------------


def entries(places):
    return sorted(p for p in places.cache.iterdir() if p.is_dir())


def test_second_load_reads_no_matlab_file_and_equals_the_first(tmp_path, monkeypatch):
    places = write_folder(tmp_path / "toy")
    first = Xlsa17(path="toy").load(places)
    fresh = Xlsa17(path="toy").load(DataPlaces(places.root))

    def refuse(*_):
        raise AssertionError("a MATLAB file was opened")

    monkeypatch.setattr("zslplat.data.formats.xlsa17.MatlabFile", refuse)
    second = Xlsa17(path="toy").load(places)
    assert second.fingerprint == first.fingerprint == fresh.fingerprint
    for name in ("X", "y"):
        assert np.array_equal(getattr(second, name), getattr(fresh, name))
    for name in fresh.splits:
        assert np.array_equal(second.rows(name), fresh.rows(name))
    assert second.folds == fresh.folds
    assert second.class_names == fresh.class_names
    assert second.source == fresh.source


def test_features_are_kept_once_for_all_signatures(tmp_path):
    places = write_folder(tmp_path / "toy")
    Xlsa17(path="toy").load(places)
    Xlsa17(path="toy", field="original_att").load(places)
    assert len(entries(places)) == 3  # the features, and one small entry per signature field


def test_features_stay_in_their_file(tmp_path):
    features = np.random.default_rng(0).integers(0, 255, (5000, 80)).astype(np.uint8)
    places = write_folder(tmp_path / "toy", features={"features": features})
    dataset = Xlsa17(path="toy").load(places)
    assert isinstance(dataset.features()[""], Stored)
    assert np.array_equal(dataset.X, features.T)


def test_any_damaged_file_of_the_kept_copy_is_rebuilt(tmp_path):
    features = np.random.default_rng(0).integers(0, 255, (5000, 80)).astype(np.uint8)
    places = write_folder(tmp_path / "toy", features={"features": features})
    whole = Xlsa17(path="toy").load(places)
    expected, fingerprint = np.array(whole.X), whole.fingerprint
    files = sorted(str(p.relative_to(places.cache)) for p in places.cache.rglob("*") if p.is_file())
    assert len(files) > 5
    for number, name in enumerate(files):
        damages = [lambda p: p.write_bytes(p.read_bytes()[:-3]), lambda p: p.unlink(), lambda p: p.write_bytes(b"{}")]
        damages[number % 3](places.cache / name)
        again = Xlsa17(path="toy").load(places)
        assert np.array_equal(again.X, expected)
        assert again.fingerprint == fingerprint


def test_kept_array_with_a_changed_byte_is_rebuilt(tmp_path):
    places = write_folder(tmp_path / "toy")
    expected = Xlsa17(path="toy").load(places)
    for path in sorted(places.cache.rglob("*.npy")):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        again = Xlsa17(path="toy").load(places)
        assert np.array_equal(again.X, expected.X)
        assert np.array_equal(again.y, expected.y)
        assert np.array_equal(again.signature_set().values, expected.signature_set().values)
        assert all(np.array_equal(again.rows(split), expected.rows(split)) for split in expected.splits)


def test_changed_source_files_are_read_again(tmp_path):
    places = write_folder(tmp_path / "toy")
    before = Xlsa17(path="toy").load(places)
    lists = {**LISTS, "valclasses1.txt": ["cow", "dog", "fox"], "trainclasses1.txt": ["ox", "mole", "ant"]}
    write_folder(tmp_path / "toy", features={"scale": np.array([[2.0]])}, lists=lists)
    for path in (tmp_path / "toy").iterdir():
        os.utime(path, ns=(1, 1))
    after = Xlsa17(path="toy").load(places)
    assert np.array_equal(after.X, 2 * before.X)
    assert after.folds[0].validation == (4, 5, 7)
    assert after.fingerprint != before.fingerprint


def test_cache_that_cannot_be_written_is_one_clear_line(tmp_path):
    places = write_folder(tmp_path / "toy")
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cannot keep the loaded data in .*cache") as caught:
        Xlsa17(path="toy").load(places)
    assert "\n" not in str(caught.value)


def test_a_copy_that_is_removed_at_once_does_no_harm(tmp_path, monkeypatch):
    places = write_folder(tmp_path / "toy")
    fresh = Xlsa17(path="toy").load(DataPlaces(places.root))
    monkeypatch.setattr("zslplat.data.store.stored_sets.read_entry", lambda *given: None)
    dataset = Xlsa17(path="toy").load(places)
    assert dataset.fingerprint == fresh.fingerprint
    assert np.array_equal(dataset.X, fresh.X)


# -- what is wrong with the files -------------------------------------------------------------------------------------


def _parts(**changes):
    _, _, _, parts = toy_arrays()
    return {"splits": {key: change(parts[key].astype(float)) for key, change in changes.items()}}


def _unseen_rows():
    _, y, _, _ = toy_arrays()
    return np.flatnonzero(np.isin(y, UNSEEN))[:, None] + 1


def _bad_features(value):
    X, _, _, _ = toy_arrays()
    X = X.T.astype(float)
    X[2, 11] = value
    return {"features": {"features": X}}


BROKEN = {
    "NaN": (_bad_features(np.nan), r"row 11 holds NaN or infinity"),
    "label without signature": ({"splits": {"att": np.ones((5, 7))}}, r"labels of res101\.mat run to 8 but .* 7 sig"),
    "NaN in signatures": ({"splits": {"att": np.full((5, 8), np.nan)}}, r"'att' of class 1 holds NaN"),
    "labels from 0": (
        {"features": {"labels": toy_arrays()[1][:, None].astype(np.uint8)}},
        r"res101\.mat, labels: smallest label is 0, but labels count from 1",
    ),
    "fractional label": ({"features": {"labels": np.full((80, 1), 1.5)}}, r"labels: 1\.5 is no whole number"),
    "rows and labels": ({"features": {"labels": np.ones((79, 1))}}, r"features are 6 x 80 but there are 79 labels"),
    "index 0": (
        _parts(trainval_loc=lambda rows: rows - rows.min()),
        r"trainval_loc: indices run from 0 .* from 1 to 80",
    ),
    "index beyond": (_parts(test_seen_loc=lambda rows: rows + 80), r"test_seen_loc: indices run .* 80 rows count"),
    "index twice": (_parts(trainval_loc=lambda rows: rows[[0, 1, 1]]), r"trainval_loc: row \d+ is listed more than"),
    "empty index": (_parts(test_unseen_loc=lambda rows: rows[:0]), r"test_unseen_loc: holds no row"),
    "overlap": (
        {
            "splits": {"trainval_loc": _unseen_rows()[:4], "test_unseen_loc": _unseen_rows()[4:]},
            "drop": ["test_seen_loc"],
        },
        r"classes are both in train and in test_unseen: bat, elk",
    ),
    "unseen class in test_seen": (
        {"splits": {"test_seen_loc": _unseen_rows()[:1], "test_unseen_loc": _unseen_rows()[1:]}},
        r"1 classes of test_seen have no training row, first (bat|elk)",
    ),
    "single-class fold": (
        {"lists": {**LISTS, "valclasses2.txt": ["ox"]}},
        r"valclasses2\.txt: fold-2 has 1 validation class among the seen ones; it needs at least 2",
    ),
    "unknown class in list": ({"lists": {**LISTS, "valclasses1.txt": ["dgo", "fox"]}}, r"'dgo'; did you mean 'dog'"),
    "too few names": ({"splits": {"allclasses_names": NAMES[:7]}}, r"allclasses_names: 7 names for 8 classes"),
    "name twice": ({"splits": {"allclasses_names": [*NAMES[:7], "ox"]}}, r"class 'ox' is listed twice"),
    "missing field": ({"drop": ["trainval_loc"]}, r"att_splits\.mat: no variable 'trainval_loc'; the file holds .*att"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_give_one_clear_line(tmp_path, case):
    arguments, message = BROKEN[case]
    places = write_folder(tmp_path / "toy", **arguments)
    options = {"test_seen": None} if case == "overlap" else {}
    for where in (places, DataPlaces(places.root)):
        with pytest.raises(DataError, match=message) as caught:
            Xlsa17(path="toy", **options).load(where)
        assert "\n" not in str(caught.value)
    # What failed leaves no half-written copy behind.
    assert not list(places.cache.glob(".new-*")) if places.cache.is_dir() else True


def test_missing_places_say_how_to_set_them(tmp_path):
    with pytest.raises(DataError, match=r"AWA2: no data root is set; .*--data-root .*, ZSLPLAT_DATA_ROOT or data_root"):
        Xlsa17(path="AWA2").load(DataPlaces())
    with pytest.raises(DataError, match=r"data root .*none is no folder; .*--data-root"):
        Xlsa17(path="AWA2").load(DataPlaces(tmp_path / "none"))
    write_folder(tmp_path / "AWA1")
    with pytest.raises(UnknownNameError, match=r"'AWA2'; did you mean AWA1"):
        Xlsa17(path="AWA2").load(DataPlaces(tmp_path))
    with pytest.raises(UsageError, match="path is missing"):
        Xlsa17().load(DataPlaces(tmp_path))
    with pytest.raises(DataError, match=r"no sent_splits\.mat; signatures there: att"):
        Xlsa17(path="AWA1", signatures="sent").load(DataPlaces(tmp_path))
