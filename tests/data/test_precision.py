"""The numbers of a column stay different numbers, whichever way they come in; float32 where that holds them apart."""

from __future__ import annotations

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

import zslplat
from zslplat.checks.data_facts import data_facts
from zslplat.data.catalogue import open_source, parse_dataset
from zslplat.data.dataset import SignatureSet
from zslplat.data.source import DataPlaces
from zslplat.data.store.precision import DOUBLE, SINGLE, Narrowing, float_type, in_type, narrow_rows
from zslplat.data.store.preprocessing import FrozenFeatures, FrozenSteps, apply_steps
from zslplat.data.store.rows import RowStream, View
from zslplat.errors import DataError
from zslplat.methods.rows import unit_rows
from zslplat.models.predictions import RowFile, _signatures
from zslplat.pipelines.base import read_signatures
from zslplat.registry import ByName

ROWS, CLASSES = 60, 6
WHOLE = np.random.default_rng(0).integers(0, 20, (ROWS, 3))
REAL = np.random.default_rng(1).random((ROWS, 3)) * 5
Y = np.arange(ROWS) % CLASSES
S = np.eye(CLASSES)
NAMES = [f"c{k}" for k in range(CLASSES)]


def npz(folder, X):
    np.savez(folder / "d.npz", X=X, y=Y, S=S)
    return "npz(path=d.npz)"


def npy(folder, X):
    (folder / "d").mkdir()
    for name, array in {"features": X, "labels": Y, "signatures": S}.items():
        np.save(folder / "d" / f"{name}.npy", array)
    return "npy(path=d)"


def hdf5(folder, X):
    with h5py.File(folder / "d.h5", "w") as file:
        file["X"], file["y"], file["S"] = X, Y, S
    return "hdf5(path=d.h5)"


def parquet(folder, X):
    pq.write_table(pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])} | {"y": Y}), folder / "d.parquet")
    return "parquet(path=d.parquet)"


def parquet_lists(folder, X):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), X.shape[1])
    pq.write_table(pa.table({"X": lists, "y": Y}), folder / "d.parquet")
    return "parquet(path=d.parquet)"


def csv(folder, X):
    form = "%d" if X.dtype.kind == "i" else "%.17g"
    names = [f"x{column}" for column in range(X.shape[1])]
    np.savetxt(
        folder / "d.csv",
        np.column_stack([Y.astype(object), X.astype(object)]),
        fmt=["%d", *[form] * X.shape[1]],
        delimiter=",",
        header=",".join(["label", *names]),
        comments="",
    )
    return "csv(path=d.csv)"


def mat(folder, X):
    (folder / "d").mkdir()
    names = np.array([[name] for name in NAMES], dtype=object)
    splits = {"trainval_loc": np.flatnonzero(Y < 4) + 1, "test_unseen_loc": np.flatnonzero(Y >= 4) + 1}
    scipy.io.savemat(folder / "d" / "res101.mat", {"features": X.T, "labels": Y[:, None] + 1.0})
    scipy.io.savemat(folder / "d" / "att_splits.mat", {"att": S.T, "allclasses_names": names, **splits})
    return "xlsa17(path=d, test_seen=none)"


WAYS = {"npz": npz, "npy": npy, "hdf5": hdf5, "columns": parquet, "lists": parquet_lists, "csv": csv, "mat": mat}
VALUES = {
    "from 2^24 on": WHOLE + 2**24,
    "from 1e9 on": WHOLE + 10**9,
    "int32": (WHOLE + 10**8).astype(np.int32),
    "reals beside 1e9": REAL + 1e9,
    "denormal": REAL * 1e-310,
    "beyond float32": REAL * 1e300,
}


def loaded(way, folder, X):
    return zslplat.load_dataset(WAYS[way](folder, X), data_root=folder, store=folder / "store")


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_columns_that_float32_cannot_hold_are_float64_on_every_way_in(tmp_path, way, values):
    X = VALUES[values]
    data = loaded(way, tmp_path, X)
    assert data.X.dtype == np.float64
    assert np.array_equal(np.asarray(data.X), X.astype(np.float64))
    assert [len(np.unique(column)) for column in np.asarray(data.X).T] == [len(np.unique(c)) for c in X.T]


@pytest.mark.parametrize("values", ["int32", "reals beside 1e9"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_that_are_not_kept_are_the_same(tmp_path, way, values):
    kept = loaded(way, tmp_path, VALUES[values])
    spec = parse_dataset(str(kept.source["loaded as"][0]))
    streamed = open_source(spec, DataPlaces(tmp_path), ByName("datasets")).load(DataPlaces(tmp_path))
    assert streamed.X.dtype == np.float64
    assert np.array_equal(np.asarray(streamed.X), np.asarray(kept.X))
    assert streamed.fingerprint == kept.fingerprint


@pytest.mark.parametrize("way", WAYS)
def test_small_whole_numbers_are_float32(tmp_path, way):
    assert loaded(way, tmp_path, WHOLE).X.dtype == np.float32


@pytest.mark.parametrize("way", ["csv", "mat"])
def test_ordinary_reals_are_float32_where_they_were(tmp_path, way):
    assert loaded(way, tmp_path, REAL).X.dtype == np.float32


def test_arrays_in_memory_are_kept_as_files_are():
    for values, X in VALUES.items():
        data = zslplat.make_dataset(X, Y, S, unseen=[])
        assert np.array_equal(np.asarray(data.X), X.astype(np.float64)), values
    assert zslplat.make_dataset(WHOLE, Y, S, unseen=[]).X.dtype == np.float32


# -- what is lost, and what is not ------------------------------------------------------------------------------------


def loss_of(X, blocks=7):
    narrowing = Narrowing()
    for block in np.array_split(X, blocks):
        with np.errstate(over="ignore"):
            assert np.array_equal(narrowing.add(block), block.astype(np.float32))
    return narrowing.loss


def test_equal_numbers_by_chance_are_no_loss():
    X = np.random.default_rng(0).random((100_000, 4))
    X[:, 1] = np.maximum(X[:, 1] - 0.5, 0)
    X[:, 2] = 1 + X[:, 2]
    X[:, 3] = np.exp(20 * X[:, 3])
    single = X.astype(np.float32)
    assert all(len(np.unique(single[:, j])) < len(np.unique(X[:, j])) for j in range(4))
    assert loss_of(X) == ""
    assert narrow_rows(X, "X").dtype == np.float32


def test_rounding_of_the_writer_is_no_loss():
    X = np.full((50, 2), 0.1)
    X[::3] = 0.1 + 1.4e-17
    X[::5] = 0.30000000000000004 - 0.2
    assert len(np.unique(X[:, 0])) > 1
    assert loss_of(X) == ""


def test_a_common_value_far_away_hides_no_loss():
    """Half of a column is 0, the other half lies close together at 1e9: its range is no measure of the rest."""
    X = np.random.default_rng(0).random((400, 1)) * 10 + 1e9
    X[::2] = 0
    assert "column 0" in loss_of(X)


def test_one_value_among_many_rows_is_found():
    X = np.random.default_rng(0).random((20_000, 3))
    for value, told in ((1e-60, "1e-60 would be 0"), (1e60, "1e+60 would be inf")):
        own = X.copy()
        own[12_345, 1] = value
        assert loss_of(own) == f"column 1: {told}"
    whole = np.zeros((20_000, 3), dtype=np.int64)
    whole[12_345, 2] = 2**24 + 1
    assert loss_of(whole) == "column 2: 16777217 would be 16777216"


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_columns_near_zero_for_their_range_are_float32(offset):
    assert loss_of(np.random.default_rng(0).random((5000, 6)) + offset) == ""


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e9, 1e12])
def test_columns_far_from_zero_for_their_range_are_float64(offset):
    assert "different numbers would be" in loss_of(np.random.default_rng(0).random((5000, 6)) + offset)


def test_types_that_float32_holds_are_never_looked_at():
    for kind in (np.uint8, np.int16, np.float16, bool, np.float32, ">f4"):
        assert float_type(np.dtype(kind)) == SINGLE
    for kind in (np.int32, np.uint32, np.int64, np.float64, ">f8", np.longdouble):
        assert float_type(np.dtype(kind)) == DOUBLE


def test_a_stream_is_read_once_where_its_first_pass_settles_the_type(tmp_path):
    passes = []

    def read():
        passes.append(1)
        yield from np.array_split(WHOLE, 4)

    stream = RowStream(WHOLE.shape, WHOLE.dtype, read, "rows")
    ((dtype, blocks),) = ((dtype, list(blocks)) for dtype, blocks in stream.passes())
    assert (dtype, len(passes)) == (SINGLE, 1)
    assert np.array_equal(np.concatenate(blocks), WHOLE)


# -- beyond float64 ---------------------------------------------------------------------------------------------------

BEYOND = WHOLE + 2**53
LOST = r"90071992547\d+ is 90071992547\d+ as float64"


@pytest.mark.parametrize("way", ["npz", "npy", "hdf5", "columns", "lists", "csv"])
def test_whole_numbers_that_float64_has_others_for_are_refused(tmp_path, way):
    with pytest.raises(DataError, match=LOST):
        loaded(way, tmp_path, BEYOND)


def test_even_numbers_beyond_2_53_are_kept(tmp_path):
    even = 2 * WHOLE + 2**53
    assert np.array_equal(np.asarray(loaded("npz", tmp_path, even).X), even.astype(float))


def test_columns_of_two_types_lose_nothing_side_by_side(tmp_path):
    codes = np.arange(ROWS) * 3 + 10**9
    columns = {"a": pa.array(REAL[:, 0], pa.float32()), "b": codes, "y": Y}
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    data = zslplat.load_dataset("parquet(path=d.parquet)", data_root=tmp_path, store=tmp_path / "store")
    assert np.array_equal(np.asarray(data.X)[:, 1], codes)
    with pytest.raises(DataError, match=LOST):
        zslplat.make_dataset(pd.DataFrame({"a": REAL[:, 0], "b": BEYOND[:, 0]}), Y, S, unseen=[])
    with pytest.raises(DataError, match=LOST):
        zslplat.make_dataset([[0.5, 2**53 + 1 + 2 * k] for k in range(ROWS)], Y, S, unseen=[])


def test_extreme_whole_numbers_are_compared_without_running_over():
    for kind in (np.int64, np.uint64):
        with pytest.raises(DataError, match="as float64"):
            in_type(np.array([np.iinfo(kind).max]), DOUBLE, "X")
    assert in_type(np.array([np.iinfo(np.int64).min]), DOUBLE, "X")[0] == -(2.0**63)


# -- signatures, rows of models, scores -------------------------------------------------------------------------------


def test_signatures_are_float64_and_refused_beyond():
    far = np.eye(CLASSES, dtype=np.int64) + 10**9
    assert np.array_equal(zslplat.make_dataset(REAL, Y, far, unseen=[]).signatures["S"].values, far)
    assert isinstance(zslplat.make_dataset(REAL, Y, far, unseen=[]).signatures["S"], SignatureSet)
    lost = np.eye(CLASSES, dtype=np.int64) + 2**53
    with pytest.raises(DataError, match=LOST):
        zslplat.make_dataset(REAL, Y, lost, unseen=[])
    with pytest.raises(DataError, match=LOST):
        read_signatures(lost, None)
    with pytest.raises(DataError, match=LOST):
        _signatures(["a"], [2**53 + 1, 2])


def test_rows_of_a_model_are_refused_where_its_numbers_do_not_reach():
    model = FrozenFeatures.of_array(REAL.astype(np.float32), FrozenSteps())
    assert model.apply(REAL).dtype == np.float32
    with pytest.raises(DataError, match=r"1e\+300 is inf as float32"):
        model.apply(np.full((2, 3), 1e300))
    wide = FrozenFeatures.of_array(REAL, FrozenSteps())
    assert np.array_equal(wide.apply(WHOLE + 10**9), WHOLE + 10**9)
    with pytest.raises(DataError, match=LOST):
        wide.apply(BEYOND)


def test_rows_in_files_of_a_model_are_refused_beyond_float64(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n0.5,9007199254740993\n")
    with pytest.raises(DataError, match=LOST):
        list(RowFile(tmp_path / "rows.csv", (View("", (2,)),)).blocks(10))


def test_numbers_of_many_digits_in_text_are_refused_as_infinite(tmp_path):
    spec = csv(tmp_path, REAL)
    text = (tmp_path / "d.csv").read_text()
    (tmp_path / "d.csv").write_text(text.replace(text.split(",")[-1], "9" * 400 + "\n", 1))
    with pytest.raises(DataError, match="NaN or infinity"):
        zslplat.load_dataset(spec, data_root=tmp_path, store=tmp_path / "store")


def test_the_check_says_it_once_and_names_a_column():
    assert data_facts(zslplat.make_dataset(WHOLE + 10**9, Y, S, unseen=[])).float32_loss.startswith("column 0: ")
    assert data_facts(zslplat.make_dataset(REAL, Y, S, unseen=[])).float32_loss == ""
    assert data_facts(zslplat.make_dataset(WHOLE, Y, S, unseen=[])).float32_loss == ""


# -- what comes after -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("steps", [("l2",), ("l1",), ("standardise",), ("center", "l2"), ("unit",), ("hellinger",)])
def test_steps_make_of_tiny_and_huge_rows_what_they_make_of_others(steps, size):
    (expected,), (found,) = apply_steps(steps, REAL), apply_steps(steps, REAL * size)
    if steps == ("standardise",):  # by the range, where squares leave float64
        varied = REAL / np.ptp(REAL, axis=0)
        expected, found = varied - varied.mean(axis=0), found
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_length_one_are_so_at_any_scale(dtype):
    for size in (1e-30, 1e-20, 1.0, 1e20, 1e30):
        rows = (REAL * size).astype(dtype)
        assert np.allclose(unit_rows(rows), unit_rows(REAL), rtol=1e-5)
    assert not unit_rows(np.zeros((2, 3), dtype=dtype)).any()


@pytest.mark.parametrize("method", ["eszsl", "sae", "eszsl-smoothed", "exem-1nn"])
def test_methods_find_in_float64_what_an_offset_would_hide_in_float32(method):
    """A large number that all values of a column share changes nothing once the rows are centred."""
    rng = np.random.default_rng(0)
    signatures = rng.random((CLASSES, 4))
    near = signatures[np.repeat(np.arange(CLASSES), 20)] @ rng.normal(size=(4, 8)) + 0.05 * rng.normal(size=(120, 8))
    y, seen = np.repeat(np.arange(CLASSES), 20), np.arange(CLASSES) < 4
    scores = []
    for offset in (0, 1e9):
        data = zslplat.make_dataset(near + offset, y, signatures, unseen=[4, 5])
        model = zslplat.make(method, features="standardise")
        train = data.rows("train")
        model.fit(np.asarray(data.X)[train], y[train], signatures)
        scores.append(model.decision_function(np.asarray(data.X)[data.rows("test_unseen")]))
    assert seen.sum() == 4
    assert np.allclose(scores[0], scores[1], rtol=1e-3, atol=1e-3)
