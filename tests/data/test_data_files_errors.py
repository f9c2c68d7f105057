"""What is wrong with ``.npy`` folders, Parquet and HDF5 files is said with file, field, what was found and expected."""

from __future__ import annotations

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_toys import NAMES, toy
from file_toys import lists_of, table, write_hdf5, write_npy, write_parquet

from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UnknownNameError, UsageError


def load(source, cache=None):
    """Load a data set and read all of its rows, as whoever keeps it does."""
    dataset = source.load(DataPlaces(None, cache))
    np.asarray(dataset.X)
    return dataset


# -- .npy -------------------------------------------------------------------------------------------------------------


def npy(folder, **changes):
    drop = [key for key, value in changes.items() if value is None]
    return NpySource(path=str(write_npy(folder / "d", drop, **changes)))


NPY = {
    "lengths": (
        {"y": toy()["y"][:29]},
        r"d: 30 rows of features but 29 labels, in features and labels; every",
    ),
    "transposed": ({"X": np.asarray(toy()["X"].T)}, r"4 rows of features but 30 labels.*looks transposed"),
    "no labels": (
        {"y": None},
        r"d: no file y or labels or label.*; the folder holds .*say which it is with y=",
    ),
    "no features": ({"X": None}, r"d: no file X or features; the folder holds class_names.*say which it is with X="),
    "objects": ({"X": np.array([[1], None] * 15, dtype=object)}, r"features\.npy: cannot be read .*Python objects"),
    "texts": ({"X": np.full((30, 4), "a")}, r"features\.npy: features are of type <U1; expected numbers"),
    "shape": ({"X": np.ones((30, 2, 3))}, r"d: features have shape \(30, 2, 3\); expected \(rows, dimensions\) or"),
    "groups": ({"groups": np.arange(29)}, r"d: 30 rows but 29 groups"),
}


@pytest.mark.parametrize("case", NPY)
def test_what_is_wrong_with_a_folder_of_npy_files(tmp_path, case):
    changes, pattern = NPY[case]
    with pytest.raises(DataError, match=pattern):
        load(npy(tmp_path, **changes))


def test_files_that_contradict_each_other_or_are_damaged(tmp_path):
    source = npy(tmp_path)
    (tmp_path / "d" / "signatures.csv").write_text("ox,1\n")
    with pytest.raises(DataError, match=r"signatures\.csv and signatures\.npy say the same; leave one out"):
        load(source)
    (tmp_path / "d" / "signatures.csv").unlink()
    np.save(tmp_path / "d" / "split.npy", np.full(30, "train"))
    with pytest.raises(DataError, match=r"split and train both say which rows .* split=none or train=none"):
        load(source)
    assert len(load(NpySource(path=str(tmp_path / "d"), split=None)).splits) == 3
    (tmp_path / "d" / "split.npy").unlink()
    np.save(tmp_path / "d" / "labels.npy", np.zeros(1, dtype=int))
    with pytest.raises(DataError, match="30 rows of features but 1 labels, in features and labels"):
        load(source)
    (tmp_path / "d" / "features.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match=r"features\.npy: .*save it"):
        load(source)


def test_a_single_number_is_no_feature_set(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.float32(1), y=np.arange(3))
    with pytest.raises(DataError, match=r"features have shape \(\)"):
        load(NpzSource(path=str(tmp_path / "d.npz")))
    with pytest.raises(DataError, match=r"features\.npy: holds a single value; expected rows"):
        load(npy(tmp_path, X=np.float32(1)))


def test_views_of_different_lengths_are_refused(tmp_path):
    source = npy(tmp_path, X=None)
    np.save(tmp_path / "d" / "features-cq.npy", np.ones((30, 2)))
    np.save(tmp_path / "d" / "features-lss.npy", np.ones((29, 2)))
    with pytest.raises(DataError, match=r"d: views have different numbers of rows: features-cq 30, features-lss 29"):
        load(source)
    with pytest.raises(DataError, match=r"no file 'phog' for X; .*named feature sets: cq, lss"):
        load(NpySource(path=str(tmp_path / "d"), features="cq+phog"))
    with pytest.raises(UsageError, match="names a feature set twice"):
        load(NpySource(path=str(tmp_path / "d"), features="cq+cq"))
    with pytest.raises(UsageError, match="X=cq and features=lss say the same"):
        load(NpySource(path=str(tmp_path / "d"), features="lss", X="cq"))


# -- Parquet ----------------------------------------------------------------------------------------------------------


def parquet(folder, change, parts=3, part=1, **how):
    """Change the table of one of several files."""
    path = write_parquet(folder / "d", parts, **how)
    rows = np.array_split(np.arange(30), parts)[part]
    pq.write_table(change(table(toy(), rows, **how)), path / f"part-{part}.parquet", row_group_size=4)
    return ParquetSource(path=str(path))


def replaced(name, values):
    return lambda given: given.set_column(given.schema.names.index(name), name, values)


X = toy()["X"][10:20]
HOLED = [*X[:3].tolist(), None, *X[4:].tolist()]
PARQUET = {
    "schema, missing": (
        lambda t: t.drop_columns(["group"]),
        {},
        r"part-1\.parquet: no column 'group', which part-0",
    ),
    "schema, more": (
        lambda t: t.append_column("new", t["group"]),
        {},
        r"part-1\.parquet: column 'new' is not in part-0\.parquet",
    ),
    "schema, type": (
        replaced("group", pa.array(["a"] * 10)),
        {},
        r"part-1\.parquet: column 'group' is string, but int64 in part-0\.parquet",
    ),
    "ragged": (
        replaced("features", pa.array([*X[:5].tolist(), [1.0], *X[6:].tolist()], pa.list_(pa.float32()))),
        {"features": "ragged type"},
        r"part-1\.parquet, column 'features': row 5 has 1 values but row 4 has 4; every row needs as many",
    ),
    "ragged from the start": (
        replaced("features", pa.array([[1.0], *X[1:].tolist()], pa.list_(pa.float32()))),
        {"features": "ragged type"},
        r"part-1\.parquet, column 'features': row 1 has 4 values but row 0 has 1; every row needs as many",
    ),
    "other width": (
        replaced("features", pa.array(np.hstack([X, X]).tolist(), pa.list_(pa.float32()))),
        {"features": "ragged type"},
        r"part-1\.parquet, column 'features': row 0 has values of shape \(8,\), expected \(4,\)",
    ),
    "null list": (
        replaced("features", pa.array(HOLED, pa.list_(pa.float32()))),
        {"features": "ragged type"},
        r"part-1\.parquet, column 'features': row 3 is empty .null.; every row needs a list",
    ),
    "null in a list": (
        replaced("features", pa.array([*X[:6].tolist(), [1, None, 2, 3], *X[7:].tolist()], pa.list_(pa.float32()))),
        {"features": "ragged type"},
        r"part-1\.parquet, column 'features': row 6 holds a null",
    ),
    "null number": (
        replaced("f2", pa.array([*X[:8, 2].tolist(), None, 1.0], pa.float32())),
        {"features": "columns"},
        r"part-1\.parquet, column 'f2': row 8 is empty .null.; every row needs a value",
    ),
    "null label": (
        replaced("label", pa.array(["ox"] * 9 + [None])),
        {},
        r"part-1\.parquet, column 'label': row 9 is empty",
    ),
    "unknown label": (replaced("label", pa.array(["yak"] * 10)), {}, r"class 'yak' has no signature or name"),
    "unknown split": (
        replaced("split", pa.array(["trian"] * 10)),
        {},
        r"split: unknown split 'trian'; did you mean",
    ),
    "NaN": (
        replaced("features", lists_of(np.where(np.arange(10)[:, None] == 7, np.nan, X).astype(np.float32))),
        {},
        r"part-1\.parquet, column 'features': row 7 holds NaN or infinity",
    ),
}


@pytest.mark.parametrize("case", PARQUET)
@pytest.mark.parametrize("cached", [False, True])
def test_what_is_wrong_with_parquet_files(tmp_path, case, cached):
    change, how, pattern = PARQUET[case]
    with pytest.raises(DataError, match=pattern):
        load(parquet(tmp_path, change, **how), tmp_path / "cache" if cached else None)


def test_parquet_files_of_no_use_are_told_apart(tmp_path):
    path = tmp_path / "d.parquet"

    def load_it(**options):
        return load(ParquetSource(path=str(path), **options))

    pq.write_table(pa.table({"features": ["a"], "label": [1]}), path)
    with pytest.raises(DataError, match=r"column 'features': is of type string; expected lists of numbers"):
        load_it()
    pq.write_table(pa.table({"words": [["a"]], "label": [1]}), path)
    with pytest.raises(DataError, match=r"d\.parquet: no column X or features; the file holds words, label"):
        load_it()
    pq.write_table(pa.table({"f0": [1.0, 2.0], "f1": [1.0, 3.0], "l": [[1.0], [2.0]], "label": [1, 0]}), path)
    with pytest.raises(DataError, match=r"features=f0\+l mixes columns of numbers \(f0\) with others"):
        load_it(features="f0+l")
    with pytest.raises(DataError, match=r"no column 'id' to leave out; the columns are f0"):
        load_it(leave_out="id")
    with pytest.raises(DataError, match=r"no column 'lable' for y; .*did you mean label"):
        load_it(y="lable")
    pq.write_table(pa.table({"f0": [1.0, 2.0], "label": [1, 0], "train": [0, 1]}), path)
    with pytest.raises(DataError, match=r"column 'train': is of type int64; .*must hold truth values, or be one"):
        load_it()
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"d\.parquet: cannot be read as a Parquet file"):
        load_it()


def test_folds_of_rows_hold_out_whole_classes(tmp_path):
    folds = np.arange(30) % 2
    source = parquet(tmp_path, lambda t: t.set_column(5, "fold", pa.array(folds)), parts=1, part=0)
    with pytest.raises(DataError, match=r"class '\w+' has training rows in folds '0' and '1'.*folds=none"):
        load(source)


def test_signatures_need_a_column_that_names_the_class(tmp_path):
    folder = write_parquet(tmp_path / "d")
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), folder / "signatures.parquet")
    with pytest.raises(DataError, match=r"signatures\.parquet: no column that names the class; it holds a, b"):
        load(ParquetSource(path=str(folder)))
    pq.write_table(pa.table({"class": NAMES}), folder / "signatures.parquet")
    with pytest.raises(DataError, match=r"signatures\.parquet: expected attributes as columns of numbers or one"):
        load(ParquetSource(path=str(folder)))
    for file in folder.glob("part-*"):
        file.unlink()
    with pytest.raises(DataError, match="signatures alone are no data set"):
        load(ParquetSource(path=str(folder)))


# -- HDF5 -------------------------------------------------------------------------------------------------------------


def put(name, values):
    def change(file):
        file.pop(name, None)
        file[name] = values

    return change


RAGGED = np.array([np.arange(3.0), np.arange(2.0)] * 5, dtype=object)


def put_ragged(file):
    del file["features"]
    file.create_dataset("features", data=RAGGED, dtype=h5py.vlen_dtype(np.float64))


def test_what_is_wrong_with_one_hdf5_file(tmp_path):
    path = write_hdf5(tmp_path / "d.h5")
    with h5py.File(path, "a") as file:
        put_ragged(file)
    with pytest.raises(
        DataError, match=r"d\.h5: 'features' holds lists of different lengths or references; expected f"
    ):
        load(Hdf5Source(path=str(path)))
    with h5py.File(path, "a") as file:
        put("features", 1.0)(file)
    with pytest.raises(DataError, match=r"'features' is a single value; expected rows of features"):
        load(Hdf5Source(path=str(path)))
    path.write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    with pytest.raises(DataError, match=r"d\.h5: cannot be read as an HDF5 file"):
        load(Hdf5Source(path=str(path)))


def test_a_filter_that_is_not_installed_is_named(tmp_path):
    path = write_hdf5(tmp_path / "d.h5")
    with h5py.File(path, "a") as file:
        values = file["features"][()]
        del file["features"]
        nobody = {"compression": 32767, "allow_unknown_filter": True}
        made = file.create_dataset("features", values.shape, values.dtype, chunks=values.shape, **nobody)
        made.id.write_direct_chunk((0, 0), values.tobytes())
    with pytest.raises(
        DataError, match=r"'features' is compressed by HDF5's filter 32767 .* not installed; pip install"
    ):
        load(Hdf5Source(path=str(path)))


# -- all --------------------------------------------------------------------------------------------------------------


def test_a_place_must_be_given_and_exist(tmp_path):
    for source in (NpySource, ParquetSource, Hdf5Source, NpzSource):
        with pytest.raises(UsageError, match=rf"path is missing; write {source.kind}\(path=mydata\)"):
            source().load(DataPlaces())
        with pytest.raises(DataError, match="no such"):
            source(path=str(tmp_path / "none")).load(DataPlaces())
        with pytest.raises(UnknownNameError, match="in data root"):
            source(path="none").load(DataPlaces(tmp_path))
