"""What files state twice agrees, or is refused or told: class lists beside splits, fields under two names, folds."""

from __future__ import annotations

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from array_toys import NAMES, save, toy
from file_toys import write_hdf5, write_parquet
from xlsa17_toys import LISTS, toy_arrays, write_folder
from xlsa17_toys import NAMES as CLASSES
from xlsa17_toys import SEEN as SEEN_IDS
from xlsa17_toys import UNSEEN as UNSEEN_IDS

from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError

SEEN, UNSEEN = [CLASSES[k] for k in SEEN_IDS], [CLASSES[k] for k in UNSEEN_IDS]
WHOLE = {**LISTS, "testclasses.txt": UNSEEN, "trainvalclasses.txt": SEEN, "allclasses.txt": sorted(CLASSES)}


def folder(path, lists, **options):
    return Xlsa17(path="toy", **options).load(write_folder(path / "toy", lists={**WHOLE, **lists}))


def rows_of(classes):
    _, y, _, parts = toy_arrays()
    train = parts["trainval_loc"].ravel()
    return train[np.isin(y[train - 1], [CLASSES.index(name) for name in classes])][:, None]


def test_lists_that_agree_say_nothing(tmp_path):
    assert "disagreements" not in folder(tmp_path, {}).source


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"testclasses.txt": [*UNSEEN, "ox"]}, r"testclasses\.txt names 'ox' \(1 such\), which has no row in test_uns"),
        ({"testclasses.txt": UNSEEN[:1]}, r"testclasses\.txt lacks 'elk' \(1 such\), which has rows in test_unseen"),
        ({"trainvalclasses.txt": [*SEEN, "elk"]}, r"trainvalclasses\.txt names 'elk' .* no row in train"),
        ({"trainvalclasses.txt": SEEN[2:]}, r"trainvalclasses\.txt lacks 'ox' \(2 such\), which has rows in train"),
        ({"trainclasses1.txt": [*LISTS["trainclasses1.txt"], "bat"]}, r"trainclasses1\.txt names 'bat' .*test_unseen"),
        ({"valclasses2.txt": [*LISTS["valclasses2.txt"], "elk"]}, r"valclasses2\.txt names 'elk' .*test_unseen"),
    ],
)
def test_lists_that_could_leak_are_refused_unless_the_split_is_asked_for(tmp_path, lists, message):
    with pytest.raises(DataError, match=message + r".*toy\(trainval=trainval_loc\)"):
        folder(tmp_path, lists)
    remarks = folder(tmp_path, lists, trainval="trainval_loc").source["disagreements"]
    assert len(remarks) == 1
    assert "the class lists are of another split: " in remarks[0]
    # Lists of folds that are not used are not compared.
    if set(lists) <= set(LISTS):
        assert "disagreements" not in folder(tmp_path, lists, folds=None).source


def test_a_list_may_not_name_an_unknown_class(tmp_path):
    with pytest.raises(DataError, match=r"testclasses\.txt: unknown class 'elc'; did you mean 'elk'"):
        folder(tmp_path, {"testclasses.txt": ["bat", "elc"]})


def test_a_class_without_rows_may_be_on_any_list(tmp_path):
    names = [*CLASSES, "yak"]
    S = np.random.default_rng(0).random((5, 9))
    lists = {**WHOLE, "testclasses.txt": [*UNSEEN, "yak"], "allclasses.txt": names}
    places = write_folder(tmp_path / "toy", lists=lists, splits={"att": S, "allclasses_names": names})
    assert "disagreements" not in Xlsa17(path="toy").load(places).source


def test_what_changes_no_test_is_told(tmp_path):
    lacking = folder(tmp_path, {"trainclasses1.txt": LISTS["trainclasses1.txt"][1:]})
    assert lacking.source["disagreements"] == ["the lists of fold-1 lack 'ox' (1 such): the fold trains on it"]
    renamed = folder(tmp_path, {"allclasses.txt": [*CLASSES[1:], "bull"]})
    assert "allclasses.txt and the names of classes differ in 2 names, first 'bull'" in renamed.source["disagreements"]


@pytest.mark.parametrize(
    ("held_out", "agrees"), [(["dog", "fox"], True), (["ox", "mole"], True), (["ox", "ant"], False)]
)
def test_folds_by_rows_are_one_of_the_folds_by_lists(tmp_path, held_out, agrees):
    rows = {"val_loc": rows_of(held_out), "train_loc": rows_of(set(SEEN) - set(held_out))}
    places = write_folder(tmp_path / "toy", lists=WHOLE, splits=rows)
    assert ("disagreements" not in Xlsa17(path="toy").load(places).source) == agrees
    assert "disagreements" not in Xlsa17(path="toy", folds="rows").load(places).source


@pytest.mark.parametrize(
    ("lists", "missing"),
    [
        ({"trainclasses3.txt": SEEN}, r"valclasses3\.txt"),
        ({"valclasses3.txt": SEEN}, r"trainclasses3\.txt"),
        ({"trainclasses4.txt": SEEN, "valclasses4.txt": SEEN}, r"trainclasses3\.txt"),
    ],
)
def test_every_fold_has_both_lists(tmp_path, lists, missing):
    with pytest.raises(DataError, match=rf"class lists of 3 folds, but no {missing}; .*folds=none"):
        folder(tmp_path, lists)
    assert folder(tmp_path, lists, folds=None).folds == ()


def npz(path, **arrays):
    options = arrays.pop("options", {})
    return NpzSource(path="toy", **options).load(DataPlaces(save(path, **arrays).root))


TOY = toy()
TWICE = {
    "X": ("features", TOY["X"]),
    "y": ("labels", TOY["y"]),
    "S": ("att", TOY["S"]),
    "class_names": ("allclasses_names", np.array(NAMES)),
    "train": ("trainval", TOY["train"]),
    "folds": ("fold", TOY["folds"]),
    "groups": ("group", TOY["groups"]),
}


@pytest.mark.parametrize("role", TWICE)
def test_of_a_part_under_two_names_an_option_says_which_counts(tmp_path, role):
    name, same = TWICE[role]
    with pytest.raises(DataError, match=rf"{role} and {name} are both names of {role}.*{role}={role} or {role}={name}"):
        npz(tmp_path, **{name: same})
    assert npz(tmp_path, **{name: same}, options={role: role}).fingerprint == npz(tmp_path).fingerprint


def test_the_label_under_another_name_is_no_feature(tmp_path):
    """In a table whose columns of numbers are the features, a second column of labels would be one that tells all."""
    path = write_parquet(tmp_path / "d", features="columns", labels="numbers") / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("labels", table["label"]), path)
    assert ParquetSource(path=str(path.parent), y="label").load(DataPlaces()).X.shape == TOY["X"].shape


def test_class_names_beside_a_field_of_names_are_the_same(tmp_path):
    for names, agrees in ((NAMES, True), (NAMES[::-1], False)):
        path = tmp_path / f"toy-{agrees}.h5"
        write_hdf5(path)
        with h5py.File(path, "a") as file:
            file.attrs["class_names"] = names
        source = Hdf5Source(path=str(path))
        if agrees:
            assert source.load(DataPlaces()).class_names == tuple(NAMES)
        else:
            with pytest.raises(
                DataError, match=r"data set class_names and the names of classes beside it differ; .*class_names=none"
            ):
                source.load(DataPlaces())
            assert Hdf5Source(path=str(path), class_names=None).load(DataPlaces()).class_names == tuple(names)


@pytest.mark.parametrize("by_row", [False, True])
def test_folds_hold_out_no_class_that_is_not_trained_on(tmp_path, by_row):
    folds = toy()["folds"].copy()
    folds[0, 5] = 1
    if by_row:
        folds = np.array([1, 1, 0, 0, -1, 1])[TOY["y"]]
    with pytest.raises(DataError, match=r"folds: fold.* holds out 'dog', which has no training row"):
        npz(tmp_path, folds=folds)
    if by_row:  # a number of its own for those in no fold is no fold
        assert len(npz(tmp_path, folds=np.array([1, 1, 2, 2, 0, 0])[TOY["y"]]).folds) == 2
