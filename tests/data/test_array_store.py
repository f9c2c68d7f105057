"""Entries of arrays are read as they were written, mapped, whatever their form."""

import json

import numpy as np
import pytest

from zslplat.data.store.array_store import file_of, open_entry, place_entry, read_entry, write_entry
from zslplat.keys import key_of

RNG = np.random.default_rng(0)
ARRAYS = {
    "rows": RNG.random((30, 7)),
    "columns first": np.asfortranarray(RNG.random((30, 7))),
    "one column": RNG.random((30, 1)).astype(np.float32),
    "one row, columns first": np.asfortranarray(RNG.random((1, 30))),
    "numbers": np.arange(12, dtype=">i4"),
    "a mask": np.array([True, False]),
    "texts": np.array(["a", "bcd"]),
    "three axes": RNG.random((2, 3, 4)),
    "one number": np.array(2.5),
    "nothing": np.zeros((0, 3)),
}


@pytest.fixture
def folder(tmp_path):
    def fill(writer):
        for name, array in ARRAYS.items():
            writer.save(name, array)
        writer.add("in blocks", ARRAYS["rows"])
        return {}

    place_entry(tmp_path / "entry", fill)
    return tmp_path / "entry"


def test_every_array_comes_back_read_only_and_tells_where_it_lies(folder):
    found, _ = open_entry(folder)
    for name, expected in {**ARRAYS, "in blocks": ARRAYS["rows"]}.items():
        array = found[name]
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)
        assert array.flags.fnc == expected.flags.fnc
        assert not array.flags.writeable
        if array.size:
            path, dtype, shape, offset, order = file_of(array)
            again = np.memmap(path, dtype, "r", offset, shape, order)
            assert np.array_equal(again, expected)
    # Slices are no files of their own.
    assert file_of(found["rows"][1:]) is None


def test_entries_without_layouts_are_read_alike(folder):
    entry = json.loads((folder / "entry.json").read_text())
    assert set(entry.pop("layouts")) == set(entry["arrays"].values())
    entry.pop("whole")
    (folder / "entry.json").write_text(json.dumps({**entry, "whole": key_of(entry)}))
    found, _ = open_entry(folder)
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())


def test_a_file_that_was_cut_short_is_an_error_and_no_crash(folder):
    entry = json.loads((folder / "entry.json").read_text())
    file = folder / entry["arrays"]["rows"]
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(ValueError, match="shorter than its array"):
        open_entry(folder)


@pytest.mark.parametrize("rows", [100, 600_000], ids=["small", "large"])
@pytest.mark.parametrize("where", [0.0, 0.5, 1.0], ids=["at its beginning", "inside", "at its end"])
def test_a_file_that_was_changed_is_no_entry(tmp_path, rows, where):
    kept = np.arange(rows, dtype=np.float64)

    def fill(entry):
        entry.save("X", kept)
        return {"made": "once"}

    write_entry(tmp_path, "key", fill)
    arrays, meta = read_entry(tmp_path, "key")
    assert np.array_equal(arrays["X"], kept)
    assert meta == {"made": "once"}
    (file,) = (path for path in (tmp_path / "key").rglob("*.npy"))
    with file.open("r+b") as opened:
        # A large file is looked at in 32 pieces of 64 KiB; a change of as much as lies between two of them is seen.
        size = file.stat().st_size
        wide = size // 20
        opened.seek(128 + int(where * (size - 128 - wide)))
        opened.write(b"\xff" * wide)
    assert file.stat().st_size == size
    assert read_entry(tmp_path, "key") is None
    assert not (tmp_path / "key").exists()
