"""``.npy`` folders, Parquet and HDF5: the same data as in an ``.npz`` file, whatever the format and number of files."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_toys import NAMES, save, toy
from file_toys import (
    SPLITS,
    lists_of,
    signature_table,
    split_names,
    table,
    write_hdf5,
    write_npy,
    write_parquet,
)

from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.data.store.rows import RowStream


def as_npz(folder, **changes):
    save(folder, **changes)
    return NpzSource(path=str(folder / "toy.npz")).load(DataPlaces())


def same(found, expected):
    """Whether two data sets have the same rows, splits, signatures, folds and groups."""
    assert np.array_equal(np.asarray(found.X), np.asarray(expected.X))
    assert found.X.dtype == expected.X.dtype
    assert np.array_equal(found.y, expected.y)
    assert found.class_names == expected.class_names
    assert found.folds == expected.folds
    assert np.array_equal(found.groups, expected.groups)
    assert {k: sorted(v) for k, v in found.splits.items()} == {k: sorted(v) for k, v in expected.splits.items()}
    assert list(found.signatures) == list(expected.signatures)
    for name, signatures in found.signatures.items():
        assert np.array_equal(signatures.values, expected.signatures[name].values)
        assert signatures.per_row == expected.signatures[name].per_row


WAYS = {
    "npy": lambda folder: NpySource(path=str(write_npy(folder / "d"))),
    "npy, rows in Fortran order": lambda folder: NpySource(
        path=str(write_npy(folder / "d", X=np.asfortranarray(toy()["X"])))
    ),
    "parquet": lambda folder: ParquetSource(path=str(write_parquet(folder / "d"))),
    "parquet, 12 files": lambda folder: ParquetSource(path=str(write_parquet(folder / "d", 12))),
    "parquet, columns": lambda folder: ParquetSource(path=str(write_parquet(folder / "d", 3, features="columns"))),
    "parquet, lists": lambda folder: ParquetSource(path=str(write_parquet(folder / "d", 3, features="ragged type"))),
    "parquet, numbers": lambda folder: ParquetSource(path=str(write_parquet(folder / "d", 3, labels="numbers"))),
    "hdf5": lambda folder: Hdf5Source(path=str(write_hdf5(folder / "d.h5"))),
    "hdf5, chunks": lambda folder: Hdf5Source(path=str(write_hdf5(folder / "d.h5", chunks=(7, 3)))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cached", [False, True])
def test_every_format_gives_what_an_npz_file_gives(tmp_path, way, cached):
    source = WAYS[way](tmp_path)
    places = DataPlaces(None, tmp_path / "cache" if cached else None)
    found, expected = source.load(places), as_npz(tmp_path)
    same(found, expected)
    if "parquet" not in way:  # whose splits are in the order of the rows
        assert found.fingerprint == expected.fingerprint
    if cached:
        assert source.load(places).fingerprint == found.fingerprint
    else:
        assert all(isinstance(stream, RowStream) for stream in found.features().values())


def test_signatures_of_parquet_keep_the_names_of_their_columns(tmp_path):
    dataset = ParquetSource(path=str(write_parquet(tmp_path / "d"))).load(DataPlaces())
    assert dataset.signature_set().names == ("a0", "a1", "a2")


# -- views ------------------------------------------------------------------------------------------------------------


def views():
    """Two vector views and one of matrices."""
    rng = np.random.default_rng(3)
    spd = rng.random((30, 2, 2))
    return {"cq": toy()["X"], "phog": rng.random((30, 3)), "cov": spd + spd.transpose(0, 2, 1)}


def npz_views(folder):
    save(folder, drop=["X"], **{f"X_{name}": values for name, values in views().items()})
    return lambda **options: NpzSource(path=str(folder / "toy.npz"), **options)


def npy_views(folder):
    write_npy(folder / "d", drop=["X"])
    for name, values in views().items():
        np.save(folder / "d" / f"features-{name}.npy", values)
    return lambda **options: NpySource(path=str(folder / "d"), **options)


def parquet_views(folder):
    columns = table(toy()).drop_columns(["features"])
    for name, values in views().items():
        flat = lists_of(values.reshape(30, -1)) if values.ndim == 2 else pa.array(values.tolist())
        columns = columns.append_column(name, flat)
    pq.write_table(columns, folder / "d.parquet")
    pq.write_table(signature_table(toy()), folder / "d.signatures.parquet")
    return lambda **options: ParquetSource(path=str(folder / "d.parquet"), **options)


def hdf5_views(folder):
    path = write_hdf5(folder / "d.h5")
    with h5py.File(path, "a", track_order=True) as file:
        del file["features"]
        group = file.create_group("views", track_order=True)
        for name, values in views().items():
            group[name] = values
    return lambda **options: Hdf5Source(path=str(path), **options)


VIEWS = {"npz": npz_views, "npy": npy_views, "parquet": parquet_views, "hdf5": hdf5_views}


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("cached", [False, True])
def test_named_feature_sets_are_views_of_the_rows(tmp_path, kind, cached):
    make = VIEWS[kind](tmp_path)
    places = DataPlaces(None, tmp_path / "cache" if cached else None)
    dataset = make().load(places)
    assert {view.name: view.shape for view in dataset.views} == {"cq": (4,), "phog": (3,), "cov": (2, 2)}
    chosen = make(features="phog+cov").load(places)
    assert [view.name for view in chosen.views] == ["phog", "cov"]
    expected = np.hstack([views()["phog"], views()["cov"].reshape(30, 4)])
    assert np.array_equal(np.asarray(chosen.X), expected)
    turned = make(features="cov+phog").load(places)
    assert [view.name for view in turned.views] == ["cov", "phog"]
    alone = make(features="cov").load(places)
    assert alone.views == ()
    assert np.array_equal(np.asarray(alone.X), views()["cov"])
    plain = make(X="cq").load(places)
    same(plain, as_npz(tmp_path))


@pytest.mark.parametrize("kind", VIEWS)
def test_views_have_the_same_fingerprint_in_every_format(tmp_path, kind):
    npz = npz_views(tmp_path)(features="cq+cov").load(DataPlaces())
    (tmp_path / "other").mkdir()
    found = VIEWS[kind](tmp_path / "other")(features="cq+cov").load(DataPlaces(None, tmp_path / "cache"))
    assert found.views == npz.views
    assert np.array_equal(np.asarray(found.X), np.asarray(npz.X))
    if kind != "parquet":
        assert found.fingerprint == npz.fingerprint


# -- what else files say ----------------------------------------------------------------------------------------------


def test_signatures_of_an_npy_folder_may_be_a_table_that_names_classes(tmp_path):
    arrays = toy()
    folder = write_npy(tmp_path / "d", drop=["y", "S", "class_names"])
    np.save(folder / "labels.npy", np.array(NAMES)[arrays["y"]])
    lines = [",".join([n, *map(str, r)]) for n, r in zip(NAMES, arrays["S"].tolist(), strict=True)]
    (folder / "signatures.csv").write_text("\n".join(["class,a,b,c", *lines]) + "\n")
    (folder / "notes.txt").write_text("left alone")
    (folder / "labels.csv").write_text("left alone")
    found = NpySource(path=str(folder)).load(DataPlaces())
    same(found, as_npz(tmp_path))
    assert found.signature_set().names == ("a", "b", "c")


def test_further_signature_sets_and_those_of_rows_are_kept(tmp_path):
    words, rows = np.random.default_rng(1).random((6, 2)), np.random.default_rng(2).random((30, 3))
    expected = as_npz(tmp_path, S_words=words, row_signatures=rows)
    npy = write_npy(tmp_path / "npy", row_signatures=rows)
    np.save(npy / "signatures-words.npy", words)
    same(NpySource(path=str(npy)).load(DataPlaces()), expected)
    parquet = write_parquet(tmp_path / "parquet")
    columns = table(toy()).append_column("row_signatures", lists_of(rows))
    pq.write_table(columns, parquet / "part-0.parquet")
    pq.write_table(pa.table({"name": NAMES, "v": lists_of(words)}), parquet / "signatures-words.parquet")
    same(ParquetSource(path=str(parquet)).load(DataPlaces()), expected)
    hdf5 = write_hdf5(tmp_path / "d.h5", signatures_words=words, row_signatures=rows)
    same(Hdf5Source(path=str(hdf5)).load(DataPlaces()), expected)


def test_several_signatures_of_a_class(tmp_path):
    folder = write_parquet(tmp_path / "d")
    S = signature_table(toy())
    pq.write_table(pa.concat_tables([S, S.slice(1, 2)]), folder / "signatures.parquet")
    found = ParquetSource(path=str(folder)).load(DataPlaces()).signature_set()
    assert np.array_equal(found.classes, [0, 1, 2, 3, 4, 5, 1, 2])


@pytest.mark.parametrize("form", ["names", "masks", "indices"])
def test_splits_of_any_form(tmp_path, form):
    arrays, expected = toy(), as_npz(tmp_path)
    path = write_hdf5(tmp_path / "d.h5")
    parquet = write_parquet(tmp_path / "parquet")
    with h5py.File(path, "a") as file:
        if form != "indices":
            del file["splits"]
        if form == "names":
            file["split"] = [str(name) for name in split_names(arrays)]
        for split in SPLITS if form == "masks" else ():
            file[split] = np.isin(np.arange(30), arrays[split])
    same(Hdf5Source(path=str(path)).load(DataPlaces()), expected)
    if form == "masks":
        columns = table(arrays).drop_columns(["split"])
        for split in SPLITS:
            columns = columns.append_column(split, pa.array(np.isin(np.arange(30), arrays[split])))
        pq.write_table(columns, parquet / "part-0.parquet")
        same(ParquetSource(path=str(parquet)).load(DataPlaces()), expected)


def test_parts_are_renamed_by_options(tmp_path):
    arrays, expected = toy(), as_npz(tmp_path)
    columns = table(arrays, labels="numbers").rename_columns(
        ["rf504", "species", "side", "video", "path", "held_out_in"]
    )
    folder = write_parquet(tmp_path / "parquet")
    pq.write_table(columns, folder / "part-0.parquet")
    renamed = {"X": "rf504", "y": "species", "split": "side", "groups": "video", "folds": "held_out_in"}
    same(ParquetSource(path=str(folder), **renamed).load(DataPlaces()), expected)
    npy = write_npy(tmp_path / "npy", drop=["X", "y"])
    np.save(npy / "rf504.npy", arrays["X"])
    np.save(npy / "species.npy", arrays["y"] + 1)
    same(NpySource(path=str(npy), X="rf504", y="species", base=1).load(DataPlaces()), expected)


def test_columns_that_are_no_features_can_be_left_out(tmp_path):
    folder = write_parquet(tmp_path / "d", features="columns")
    columns = table(toy(), features="columns").append_column("id", pa.array(np.arange(30)))
    pq.write_table(columns, folder / "part-0.parquet")

    def load(**options):
        return ParquetSource(path=str(folder), **options).load(DataPlaces())

    assert load(leave_out="f0+f3").X.shape == (30, 2)
    same(load(leave_out="id"), as_npz(tmp_path))
    assert np.array_equal(np.asarray(load(features="f2+f0").X), toy()["X"][:, [2, 0]])
    assert np.array_equal(np.asarray(load(features="f2").X), toy()["X"][:, [2]])
    assert load(leave_out="id").source["keys"]["X"] == "columns f0 to f3 (4)"


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path):
    folder = write_parquet(tmp_path / "d", features="columns")
    columns = table(toy(), features="columns").append_column("__index_level_0__", pa.array(np.arange(30)))
    written = {"pandas": json.dumps({"index_columns": ["__index_level_0__"]})}
    pq.write_table(columns.replace_schema_metadata(written), folder / "part-0.parquet")
    same(ParquetSource(path=str(folder)).load(DataPlaces()), as_npz(tmp_path))


@pytest.mark.parametrize("metadata", ["class_names", "huggingface"])
def test_names_of_classes_and_texts_in_metadata_are_kept(tmp_path, metadata):
    label = {"_type": "ClassLabel", "names": NAMES}
    said = {
        "class_names": json.dumps(NAMES),
        "huggingface": json.dumps({"info": {"features": {"label": label}}}),
    }
    columns = table(toy(), labels="numbers").drop_columns(["fold", "split"])
    texts = {"licence": "CC0", "citation": "me", metadata: said[metadata]}
    pq.write_table(columns.replace_schema_metadata(texts), tmp_path / "d.parquet")
    dataset = ParquetSource(path=str(tmp_path / "d.parquet")).load(DataPlaces())
    assert dataset.class_names == tuple(NAMES)
    assert (dataset.licence, dataset.citation) == ("CC0", "me")
    path = write_hdf5(tmp_path / "d.h5")
    with h5py.File(path, "a") as file:
        del file["class_names"]
        file["labels"].attrs["class_names"] = NAMES
        file["signatures"].attrs["names"] = ["a", "b", "c"]
        file.attrs["licence"] = "CC0"
    dataset = Hdf5Source(path=str(path)).load(DataPlaces())
    assert dataset.class_names == tuple(NAMES)
    assert dataset.signature_set().names == ("a", "b", "c")
    assert dataset.licence == "CC0"


def test_tensors_and_several_labels_per_row(tmp_path):
    matrices, y = views()["cov"], np.eye(6, dtype=np.int8)[toy()["y"]] | np.eye(6, dtype=np.int8)[::-1][toy()["y"]]
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(matrices)
    pq.write_table(pa.table({"X": tensors, "y": lists_of(y)}), tmp_path / "d.parquet")
    dataset = ParquetSource(path=str(tmp_path / "d.parquet")).load(DataPlaces())
    assert np.array_equal(np.asarray(dataset.X), matrices)
    assert np.array_equal(dataset.y, y)


def test_other_types_of_numbers_become_the_same_as_in_an_array(tmp_path):
    X = np.random.default_rng(0).integers(0, 200, (30, 4))
    for kind in (np.uint8, np.int64, np.float16, ">f8", ">f4"):
        expected = as_npz(tmp_path, X=X.astype(kind)) if np.dtype(kind).kind != "f" else None
        np.save(tmp_path / "X.npy", X.astype(kind))
        folder = tmp_path / np.dtype(kind).name / str(np.dtype(kind).byteorder == ">")
        write_npy(folder, X=X.astype(kind))
        found = NpySource(path=str(folder)).load(DataPlaces())
        assert found.X.dtype == (np.float64 if kind == ">f8" else np.float32)
        assert np.array_equal(np.asarray(found.X), X)
        if expected is not None:
            assert found.fingerprint == expected.fingerprint
