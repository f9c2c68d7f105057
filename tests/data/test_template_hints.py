"""What is wrong with the arrays of a file is said with what is there and what was expected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zslplat.data.formats.csv_source import CsvSource
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.formats.templates import write_template
from zslplat.data.importing import import_arrays
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat.tasks.splits import split_rows

ARRAYS = {
    "transposed folds": ("folds", lambda a: a.T, r"got shape \(12, 3\), which looks transposed"),
    "other numbers of folds": ("folds", lambda a: a + 2, r"of 1, 0 and -1; got [23]$"),
    "transposed signatures": (
        "S",
        lambda a: a.T,
        r"6 names of attributes, but S has shape \(6, 12\); it looks transposed",
    ),
    "a name too few": ("attribute_names", lambda a: a[:-1], r"5 names of .* \(12, 6\); every column needs a name"),
    "rows without attributes": ("row_signatures", lambda a: a[:-1], r"239 rows, but 240 rows of features; every row"),
    "labels that are no names": (
        "y",
        lambda a: np.where(a == 0, "unicorn", "bat"),
        r"class 'unicorn' has no signature .*; names of classes are 'ant', 'bat', 'bee', \.\.\. and every label is one",
    ),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_what_is_wrong_with_arrays_says_what_is_there(tmp_path, case):
    key, change, pattern = ARRAYS[case]
    path, *_ = write_template("npz", tmp_path / "d.npz")
    with np.load(path) as file:
        arrays = {**file, key: change(file[key])}
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=pattern):
        NpzSource(path=str(path)).load(DataPlaces())


def test_a_file_of_another_kind_is_not_taken_for_pickled_objects(tmp_path):
    folder, *_ = write_template("npy", tmp_path / "d")
    (folder / "labels.npy").write_bytes(b"ant\nbat\n")
    with pytest.raises(DataError, match=r"labels\.npy: cannot be read .*the magic string is not correct"):
        NpySource(path=str(folder)).load(DataPlaces())


def test_splits_in_json_may_begin_with_a_byte_order_mark(tmp_path):
    folder, *_ = write_template("npy", tmp_path / "d")
    expected = NpySource(path=str(folder)).load(DataPlaces()).splits
    (folder / "splits.json").write_bytes(b"\xef\xbb\xbf" + (folder / "splits.json").read_bytes())
    found = NpySource(path=str(folder)).load(DataPlaces()).splits
    assert {name: rows.tolist() for name, rows in found.items()} == {k: rows.tolist() for k, rows in expected.items()}


def test_an_attribute_that_holds_texts_is_not_left_out_in_silence(tmp_path):
    folder, *_ = write_template("parquet", tmp_path / "d")
    table = pq.read_table(folder / "signatures.parquet")
    pq.write_table(table.set_column(1, "wings", pa.array(["0,45"] * len(table))), folder / "signatures.parquet")
    with pytest.raises(
        DataError, match=r"signatures\.parquet: column 'wings' holds texts; every column beside 'class'"
    ):
        ParquetSource(path=str(folder)).load(DataPlaces())


def test_one_table_is_told_from_a_folder_of_them(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "all.csv").write_text("label,f0,f1\nant,0.5,1\nbee,1,2\n")
    with pytest.raises(
        DataError, match=r"give one table with label and split, such as .*all\.csv; .*data template csv"
    ):
        import_arrays(folder, tmp_path / "root", "mine")
    assert import_arrays(folder / "all.csv", tmp_path / "root", "mine").dataset.class_names == ("ant", "bee")


def test_a_data_set_without_signatures_or_splits_is_told_what_to_give(tmp_path):
    folder, *_ = write_template("csv", tmp_path / "d")
    for file in ("signatures", "splits", "folds"):
        (folder / f"{file}.csv").unlink()
    dataset = CsvSource(path=str(folder)).load(DataPlaces())
    with pytest.raises(
        DataError, match=r"set 'rows' has a row per row of features; one with a row per class is needed"
    ):
        dataset.class_signatures()
    with pytest.raises(
        DataError,
        match=r"no split 'train', .* none; say which classes are tested and never train: --dataset .*unseen=0.2",
    ):
        split_rows(dataset, "train", "task zsl")
    (folder / "row_signatures.csv").unlink()
    with pytest.raises(DataError, match=r"d has no signatures, .*; give a row of attributes per class"):
        CsvSource(path=str(folder)).load(DataPlaces()).class_signatures()
