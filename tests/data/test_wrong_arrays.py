"""What is wrong with the arrays of a file is said with what is there and what was expected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_toys import save, toy
from file_toys import write_npy, write_parquet

from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat.tasks.splits import split_rows

SPLITS = ("train", "test_seen", "test_unseen")
WHOLE = {**toy(), "attribute_names": np.array(["size", "speed", "fur"]), "row_signatures": np.ones((30, 3))}
ARRAYS = {
    "transposed folds": ("folds", lambda a: a.T, r"got shape \(6, 2\), which looks transposed"),
    "other numbers of folds": ("folds", lambda a: a + 2, r"of 1, 0 and -1; got [23]$"),
    "transposed signatures": (
        "S",
        lambda a: a.T,
        r"3 names of attributes, but S has shape \(3, 6\); it looks transposed",
    ),
    "a name too few": ("attribute_names", lambda a: a[:-1], r"2 names of .* \(6, 3\); every column needs a name"),
    "rows without attributes": ("row_signatures", lambda a: a[:-1], r"29 rows, but 30 rows of features; every row"),
    "labels that are no names": (
        "y",
        lambda a: np.where(a == 0, "unicorn", "bat"),
        r"class 'unicorn' has no signature .*; names of classes are 'ox', 'mole', 'ant', \.\.\. and every label is one",
    ),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_what_is_wrong_with_arrays_says_what_is_there(tmp_path, case):
    key, change, pattern = ARRAYS[case]
    places = save(tmp_path, **{**WHOLE, key: change(WHOLE[key])})
    with pytest.raises(DataError, match=pattern):
        NpzSource(path="toy").load(places)


def test_a_file_of_another_kind_is_not_taken_for_pickled_objects(tmp_path):
    folder = write_npy(tmp_path / "d")
    (folder / "labels.npy").write_bytes(b"ant\nbat\n")
    with pytest.raises(DataError, match=r"labels\.npy: cannot be read .*the magic string is not correct"):
        NpySource(path=str(folder)).load(DataPlaces())


def test_an_attribute_that_holds_texts_is_not_left_out_in_silence(tmp_path):
    folder = write_parquet(tmp_path / "d")
    table = pq.read_table(folder / "signatures.parquet")
    pq.write_table(table.set_column(1, "wings", pa.array(["0,45"] * len(table))), folder / "signatures.parquet")
    with pytest.raises(
        DataError, match=r"signatures\.parquet: column 'wings' holds texts; every column beside 'class'"
    ):
        ParquetSource(path=str(folder)).load(DataPlaces())


def test_a_data_set_without_signatures_or_splits_is_told_what_to_give(tmp_path):
    places = save(tmp_path, ("S", "folds", *SPLITS), row_signatures=WHOLE["row_signatures"])
    dataset = NpzSource(path="toy").load(places)
    with pytest.raises(
        DataError, match=r"set 'rows' has a row per row of features; one with a row per class is needed"
    ):
        dataset.class_signatures()
    with pytest.raises(
        DataError,
        match=r"no split 'train', .* none; say which classes are tested and never train: --dataset .*unseen=2",
    ):
        split_rows(dataset, "train", "task zsl")
    places = save(tmp_path, ("S", "folds", *SPLITS))
    with pytest.raises(DataError, match=r"toy has no signatures, .*; give a row of attributes per class"):
        NpzSource(path="toy").load(places).class_signatures()
