"""Features of large files are never held whole: a few blocks at a time, every chunk read once per pass."""

from __future__ import annotations

import tracemalloc
from itertools import product

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_toys import lists_of

from zslplat.data.formats import feature_files
from zslplat.data.formats.hdf5 import Hdf5Source, blocks
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.data.store.rows import BLOCK, RowStream

ROWS, WIDTH = 16 * BLOCK, 64
BLOCK_BYTES = BLOCK * WIDTH * 4
LABELS = np.arange(ROWS) % 5


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).random((ROWS, WIDTH), dtype=np.float32)


def npy(folder, X):
    folder.mkdir()
    np.save(folder / "features.npy", X)
    np.save(folder / "labels.npy", LABELS)
    return NpySource(path=str(folder)), folder


def parquet(folder, X, columns=False):
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(ROWS), 3)):
        features = {f"f{j}": X[rows, j] for j in range(WIDTH)} if columns else {"features": lists_of(X[rows])}
        pq.write_table(
            pa.table({**features, "label": LABELS[rows]}), folder / f"{number}.parquet", row_group_size=BLOCK // 2
        )
    return ParquetSource(path=str(folder)), folder


def hdf5(folder, X, chunks=(300, 24)):
    with h5py.File(folder.with_suffix(".h5"), "w") as file:
        file.create_dataset("X", data=X, chunks=chunks, compression="lzf" if chunks else None)
        file["y"] = LABELS
    return Hdf5Source(path=str(folder.with_suffix(".h5"))), folder.with_suffix(".h5")


FORMATS = {
    "npy": npy,
    "parquet, lists": parquet,
    "parquet, columns": lambda folder, X: parquet(folder, X, columns=True),
    "hdf5, chunks": hdf5,
    "hdf5, contiguous": lambda folder, X: hdf5(folder, X, None),
}


def most_memory(work):
    """Return what work allocates at most, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_pass_holds_a_few_blocks(tmp_path, X, kind):
    source, _ = FORMATS[kind](tmp_path / "d", X)
    stream = source.load(DataPlaces()).features()[""]
    assert isinstance(stream, RowStream)
    start, arrow = 0, []
    base = pa.total_allocated_bytes()

    def read():
        nonlocal start
        for block in stream.blocks():
            assert len(block) <= BLOCK
            assert np.array_equal(block, X[start : start + len(block)])
            start += len(block)
            arrow.append(pa.total_allocated_bytes() - base)

    assert most_memory(read) < 4 * BLOCK_BYTES
    assert start == ROWS
    assert max(arrow) < 4 * BLOCK_BYTES


@pytest.mark.long
@pytest.mark.parametrize("kind", FORMATS)
def test_loading_holds_a_few_blocks(tmp_path, X, kind):
    source, _ = FORMATS[kind](tmp_path / "d", X)
    source.load(DataPlaces(None, tmp_path / "warm"))  # what is imported at the first use is not counted
    of_load = most_memory(lambda: source.load(DataPlaces(None, tmp_path / "cache")))
    assert X.nbytes == 16 * BLOCK_BYTES
    assert of_load < 7 * BLOCK_BYTES


@pytest.mark.parametrize("chunks", [(300, 24), (5000, 64), (1, 64), (ROWS, 1)])
def test_every_chunk_of_hdf5_is_decompressed_once(tmp_path, X, monkeypatch, chunks):
    X = X[: ROWS // 4] if chunks[0] == 1 else X
    _, path = hdf5(tmp_path / "d", X, (min(chunks[0], len(X)), chunks[1]))
    touched = {}
    plain = h5py.Dataset.__getitem__

    def counted(item, selection, *more):
        ranges = selection if isinstance(selection, tuple) else (selection,)
        ranges = [*ranges, *[slice(None)] * (item.ndim - len(ranges))]
        bounds = [r.indices(length)[:2] for r, length in zip(ranges, item.shape, strict=True)]
        spans = [range(a // c, -(-b // c)) for (a, b), c in zip(bounds, item.chunks, strict=True)]
        for chunk in product(*spans):
            touched[chunk] = touched.get(chunk, 0) + 1
        return plain(item, selection, *more)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    found = np.concatenate(list(blocks(path, "X")))
    assert np.array_equal(found, X)
    assert set(touched.values()) == {1}


def test_long_rows_are_read_in_shorter_blocks():
    assert feature_files.rows_of_a_block((64,), 4) == BLOCK
    assert feature_files.rows_of_a_block((1 << 20,), 4) == 4
    assert feature_files.rows_of_a_block((1 << 26,), 8) == 1


def test_files_follow_each_other_by_the_value_of_their_numbers(tmp_path):
    names = ["part-10.h5", "part-2.h5", "part-1.h5", "a.h5", "a².h5"]
    ordered = feature_files.in_natural_order([tmp_path / name for name in names])
    assert [path.name for path in ordered] == ["a.h5", "a².h5", "part-1.h5", "part-2.h5", "part-10.h5"]
