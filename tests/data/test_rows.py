"""Rows are an array to whoever looks at them, and are read block by block from where they lie."""

import copy
import gc
import mmap
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from zslplat.data.dataset import Dataset
from zslplat.data.store.preprocessing import Preprocessing, fit_steps, preprocessed
from zslplat.data.store.rows import BLOCK, Rows, RowStream, Stored, _as_slice, blocks_of, rowwise, take_rows
from zslplat.data.store.stored_sets import storage_order, stored_dataset
from zslplat.errors import DataError, StoreError, UsageError

RNG = np.random.default_rng(0)
N = 2 * BLOCK + 500
SENTINEL = 7777.0


def in_memory(X, y=None):
    y = np.arange(len(X) if isinstance(X, np.ndarray) else X.shape[0]) % 5 if y is None else y
    return Dataset("toy", X, y, tuple("abcde"))


@pytest.fixture
def stored(tmp_path):
    """Two views in files, and what they hold."""
    views = {"left": RNG.normal(size=(N, 3)).astype(np.float32), "right": RNG.normal(size=(N, 2, 2))}
    dataset = stored_dataset(tmp_path, "toy", lambda: in_memory(Rows.of(views)))
    return dataset.X, np.hstack([views["left"], views["right"].reshape(N, -1)])


def test_rows_are_the_array_that_they_stand_for(stored):
    rows, expected = stored
    assert all(isinstance(source, Stored) for source in rows.matrices().values())
    assert rows.shape == (N, 7)
    assert rows.dtype == np.float64
    assert np.array_equal(rows, expected)
    index = RNG.permutation(N)[:1000]
    some = rows.take(index)
    assert np.array_equal(some, expected[index])
    assert np.array_equal(some[5:9], expected[index[5:9]])
    assert np.array_equal(some[3], expected[index[3]])
    assert np.array_equal(some[[7, 2]], expected[index[[7, 2]]])
    assert np.array_equal(some[:, [6, 0]], expected[index][:, [6, 0]])
    assert np.array_equal(some[index < N // 2], expected[index][index < N // 2])
    assert np.array_equal(some + 1, expected[index] + 1)
    assert some.mean() == expected[index].mean()


def test_blocks_hold_every_row_once_and_depend_on_the_rows_alone(stored):
    rows, expected = stored
    index = RNG.permutation(N)[: BLOCK + 100]
    found = [(where, np.array(block)) for where, block in rows.take(index).blocks()]
    assert [len(block) for _, block in found] == [BLOCK, 100]
    for where, block in found:
        assert np.array_equal(block, expected[index[where]])
    # The same rows in another order come in the same blocks.
    again = [block for _, block in rows.take(np.sort(index)).blocks()]
    assert all(np.array_equal(a, b) for (_, a), b in zip(found, again, strict=True))


def test_a_pass_reads_the_file_from_its_beginning_to_its_end(stored):
    rows, _ = stored
    some = rows.take(RNG.permutation(N)[:3000])
    visited = np.concatenate([some.index[where] for where, _ in some.blocks()])
    assert (np.diff(visited) > 0).all()


def test_what_is_computed_in_blocks_is_what_the_array_gives(stored):
    rows, expected = stored
    index = RNG.permutation(N)[:3000]
    X, y = rows.take(index), RNG.normal(size=3000)
    total = sum(block.T @ y[where] for where, block in blocks_of(X))
    assert np.allclose(total, expected[index].T @ y, rtol=1e-12)
    assert np.allclose(rowwise(X, lambda block: block @ np.arange(7.0)), expected[index] @ np.arange(7.0))
    assert np.array_equal(take_rows(X, np.arange(9)), expected[index[:9]])


@pytest.mark.long
def test_while_blocks_are_read_no_other_row_is_in_memory(tmp_path):
    marked = RNG.permutation(N)[: N // 3]

    def build():
        X = RNG.normal(size=(N, 4))
        X[marked] = SENTINEL
        return in_memory(X)

    rows = stored_dataset(tmp_path, "toy", build).X.take(np.setdiff1d(np.arange(N), marked))
    gc.collect()
    for _, block in rows.blocks():
        assert not (block == SENTINEL).any()
        for held in gc.get_objects():
            assert not isinstance(held, mmap.mmap) or SENTINEL not in np.frombuffer(held[: len(held) // 8 * 8])
            owner = held.base if isinstance(held, np.ndarray) and held.base is not None else held
            if isinstance(owner, np.ndarray) and owner.dtype == np.float64:
                assert SENTINEL not in owner


def test_the_order_on_disk_tells_nothing_of_the_classes():
    y = np.repeat(np.arange(20), 300)
    places = storage_order(y)
    assert np.array_equal(np.sort(places), np.arange(len(y)))
    assert abs(adjusted_mutual_info_score(y, places // 300)) < 0.02
    # Nor can the order of the file be found from the number of rows.
    other = storage_order(np.repeat(np.arange(30), 200))
    assert abs(np.corrcoef(places, other)[0, 1]) < 0.05
    # Who has which label of those that there are plays no part.
    assert np.array_equal(storage_order(np.random.default_rng(1).permutation(y)), places)


def test_a_stream_is_stored_in_one_pass_and_never_held(tmp_path):
    expected, passes = RNG.normal(size=(N, 3)).astype(np.float32), []

    def read():
        passes.append(1)
        for start in range(0, N, 700):
            yield expected[start : start + 700]

    stream = RowStream(expected.shape, expected.dtype, read, "file.bin")
    dataset = stored_dataset(tmp_path, "stream", lambda: in_memory(Rows.of({"": stream})))
    assert passes == [1]
    assert np.array_equal(dataset.X, expected)
    assert dataset.fingerprint == in_memory(expected).fingerprint
    beside = Rows.of({"a": stream, "b": expected[:, 0]})
    assert np.array_equal(np.concatenate([block for _, block in beside.blocks()]), np.c_[expected, expected[:, 0]])


@pytest.mark.parametrize("rows", [N - 1, N + 1])
def test_a_stream_of_another_length_is_refused(tmp_path, rows):
    stream = RowStream((N, 3), np.float32, lambda: iter([np.zeros((rows, 3), np.float32)]), "file.bin")
    with pytest.raises(DataError, match=rf"file.bin: {rows} rows"):
        stored_dataset(tmp_path, "stream", lambda: in_memory(Rows.of({"": stream})))


def test_a_row_that_is_not_finite_is_named(tmp_path):
    X = np.zeros((N, 3), np.float32)
    X[BLOCK + 7, 1] = np.nan
    stream = RowStream(X.shape, X.dtype, lambda: iter(np.array_split(X, 9)), "file.bin")
    with pytest.raises(DataError, match=rf"file.bin: row {BLOCK + 7} holds NaN"):
        stored_dataset(tmp_path, "stream", lambda: in_memory(Rows.of({"": stream})))


def test_views_of_different_length_are_refused():
    with pytest.raises(DataError, match="a 5, b 6"):
        Rows.of({"a": np.zeros((5, 2)), "b": np.zeros((6, 2))})


def test_a_view_is_found_by_the_columns_that_it_takes_up():
    views = {name: RNG.normal(size=(6, *shape)) for name, shape in (("a", (3,)), ("b", (3,)), ("c", (2, 2)))}
    rows = Rows.of(views).take(np.array([4, 1]))
    for name, columns in (("a", (0, 3)), ("b", (3, 6)), ("c", (6, 10))):
        found = rows.columns(*columns)
        assert found.shape == (2, *views[name].shape[1:])
        assert np.array_equal(found, views[name][[4, 1]])
    for columns in ((0, 6), (1, 4), (3, 5), (10, 13)):
        assert rows.columns(*columns) is None


def test_neighbours_in_order_are_a_slice_which_costs_no_copy():
    assert _as_slice(np.array([3, 4, 5])) == slice(3, 6)
    for some in ([], [3, 5], [5, 4], [3, 3, 5]):
        assert _as_slice(np.array(some, dtype=np.int64)).tolist() == some


def test_each_view_is_preprocessed_by_itself_from_its_training_rows(stored):
    rows, expected = stored
    train, other = np.arange(0, N, 2), np.arange(1, N, 2)
    spec = Preprocessing(features=("standardise",)).overridden("center,l2;right:unit", None)
    X, Z = preprocessed([rows.take(train), rows.take(other)], spec)
    left = fit_steps(("center", "l2"), expected[train, :3].astype(np.float32))
    right = fit_steps(("unit",), expected[train, 3:])
    for found, index in ((X, train), (Z, other)):
        assert np.allclose(found[:, :3], left.apply(expected[index, :3].astype(np.float32)), atol=1e-6)
        assert np.allclose(found[:, 3:], right.apply(expected[index, 3:]), atol=1e-14)
    plain = preprocessed([rows], Preprocessing(features=("l2",)))[0]
    assert np.array_equal(plain[:, 3:], expected[:, 3:]), "matrices are left alone where no steps are named for them"
    with pytest.raises(UsageError, match="view 'up', which the data set does not have; its views: left, right"):
        preprocessed([rows], Preprocessing().overridden("up:l2", None))


@pytest.mark.parametrize("width", [3, 2000])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.02])
def test_rows_near_and_far_apart_are_the_same(tmp_path, width, share):
    X = np.arange(600 * width, dtype=np.float32).reshape(600, width)
    rows = stored_dataset(tmp_path, "toy", lambda: in_memory(X)).X
    index = RNG.permutation(600)[: int(600 * share)]
    assert np.array_equal(rows.take(index), X[index])
    assert np.array_equal(np.concatenate(list(rows.take(index).in_order())), X[index])


@pytest.mark.parametrize("width", [3, 8000])
def test_a_row_may_be_asked_for_more_than_once(tmp_path, width):
    X = np.arange(40 * width, dtype=np.float32).reshape(40, width)
    rows = stored_dataset(tmp_path, "toy", lambda: in_memory(X)).X
    lies = np.argsort(rows.index)  # the rows in the order of the file
    # As many as there are from the first to the last, and yet not those.
    index = lies[[4, 4, 6, 9, 9, 9, 9]]
    assert np.array_equal(rows.take(index), X[index])
    assert np.array_equal(rows[lies[[4, 4, 6]]], X[lies[[4, 4, 6]]])


@pytest.mark.parametrize("width", [3, 8000])
@pytest.mark.parametrize("damage", ["gone", "short"])
def test_a_file_that_cannot_be_read_is_no_fault_of_who_reads_it(tmp_path, width, damage):
    rows = stored_dataset(tmp_path, "toy", lambda: in_memory(np.ones((400, width), np.float32))).X
    path = Path(rows.parts[0].source.file)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:300])
    for read in (lambda: np.asarray(rows), lambda: rows[[1, 390]], lambda: list(rows.in_order())):
        with pytest.raises(StoreError, match=r"cannot be read: .*; give the same command again"):
            read()


def test_rows_are_shown_by_shape_type_and_views():
    one = Rows.of({"": np.ones((4, 3))})
    assert repr(one) == "Rows(4, 3) of float64"
    two = Rows.of({"a": np.ones((4, 3)), "b": np.ones((4, 2))})
    assert repr(two) == f"Rows{two.shape} of float64: a (3,), b (2,)"


def test_rows_of_an_open_file_do_not_travel_to_another_process(tmp_path):
    np.arange(6.0).tofile(tmp_path / "rows")
    with (tmp_path / "rows").open("rb") as file:
        stored = Stored(file.fileno(), "float64", (3, 2), 0)
        assert stored.whole()[2].tolist() == [4.0, 5.0]
        assert copy.deepcopy(stored) is stored
        with pytest.raises(TypeError, match="hand on an array"):
            pickle.dumps(stored)
