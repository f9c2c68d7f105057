"""Properties of the array cache: whole entries or none, keys of inputs, a bound that spares what is in use."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from zslplat.data.store.array_store import read_entry
from zslplat.errors import StoreError
from zslplat.evaluation.cache.arrays import ArrayCache, read_arrays, write_arrays, write_entry
from zslplat.evaluation.cache.problems import _fold
from zslplat.keys import key_of

HOURS = 3600


def test_arrays_come_back_bit_for_bit_and_read_only(tmp_path):
    generator = np.random.default_rng(0)
    arrays = {
        "a/b:c": generator.normal(size=(5, 3)),
        "empty": np.empty((0, 4), np.float32),
        "flag": np.array([True, False]),
        "fortran": np.asfortranarray(generator.normal(size=(4, 6))),
        "odd": np.array([np.nan, -np.inf, -0.0]),
        "number": np.array(3),
    }
    write_arrays(tmp_path / "x" / "entry", arrays, {"name": "n"})
    found, meta = read_arrays(tmp_path / "x" / "entry")
    assert meta == {"name": "n"}
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        found["a/b:c"][0, 0] = 1


def test_keys_depend_on_content_alone_and_on_all_of_it():
    parts = ("a", 1, {"x": 1.5, "y": [1, 2]})
    same = ("a", 1, {"y": [1, 2], "x": 1.5})
    assert key_of(*parts) == key_of(*same)
    others = [("a", 2, parts[2]), ("a", "1", parts[2]), ("a", 1, {"x": 1.5}), ("a1", {"x": 1.5, "y": [1, 2]}), ()]
    assert len({key_of(*parts), *(key_of(*other) for other in others)}) == 1 + len(others)
    code = "from zslplat.keys import key_of; print(key_of('a', 1, {'x': 1.5, 'y': [1, 2]}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert other.stdout.strip() == key_of(*parts)


def test_the_first_writer_wins_and_nothing_else_remains(tmp_path):
    folder = tmp_path / "entry"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: write_arrays(folder, {"x": np.full(1000, i)}, {"i": i}), range(16)))
    arrays, meta = read_arrays(folder)
    assert (arrays["x"] == meta["i"]).all()
    assert [p.name for p in tmp_path.iterdir()] == ["entry"]


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "entry", {"good": np.ones(3), "bad": np.array([object()])}, {})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreError, OSError)):
        write_arrays(tmp_path / "file" / "entry", {}, {})


def _flip(path, write_entry):
    content = bytearray(path.read_bytes())
    content[write_entry] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "no index": lambda folder: (folder / "entry.json").unlink(),
    "cut index": lambda folder: (folder / "entry.json").write_text('{"arrays": {"x"'),
    "other index": lambda folder: (folder / "entry.json").write_text('["x"]'),
    "changed index": lambda folder: (folder / "entry.json").write_text(
        (folder / "entry.json").read_text().replace('"here"', '"there"')
    ),
    "cut array": lambda folder: os.truncate(folder / "0.npy", 500),
    "empty array": lambda folder: os.truncate(folder / "0.npy", 0),
    "lost array": lambda folder: (folder / "0.npy").unlink(),
    "changed array": lambda folder: _flip(folder / "0.npy", 500),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_counts_as_missing_and_is_removed(tmp_path, damage):
    cache = ArrayCache(tmp_path, 1e9)
    write_arrays(cache.path("k"), {"x": np.ones(1000)}, {"where": "here"})
    assert cache.has("k")
    DAMAGE[damage](tmp_path / "k")
    assert not cache.has("k")
    assert not (tmp_path / "k").exists()
    write_arrays(cache.path("k"), {"x": np.zeros(10)}, {})
    assert cache.has("k")


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "changed array"])
def test_an_entry_that_is_damaged_while_it_is_in_use_makes_way_for_a_new_one(tmp_path, damage):
    folder = tmp_path / "k"
    write_arrays(folder, {"x": np.ones(1000)}, {"where": "here"})
    DAMAGE[damage](folder)
    with pytest.raises(StoreError, match="is removed and will be made anew; give the same command again"):
        read_arrays(folder)
    assert not folder.exists()


def test_large_arrays_are_checked_by_pieces_that_reach_from_start_to_end(tmp_path):
    cache = ArrayCache(tmp_path, 1e9)
    for number, byte in enumerate((200, -1)):
        write_arrays(cache.path(f"k{number}"), {"x": np.zeros(500_000)}, {})
        assert cache.has(f"k{number}")
        _flip(tmp_path / f"k{number}" / "0.npy", byte)
        assert not cache.has(f"k{number}")


def age(folder, hours):
    moment = time.time() - hours * HOURS
    os.utime(folder, (moment, moment))


def test_eviction_removes_what_was_not_used_for_longest_until_the_bound_holds(tmp_path):
    for number in range(5):
        write_arrays(tmp_path / f"k{number}", {"x": np.ones(1000)}, {})
        age(tmp_path / f"k{number}", 100 - number)
    size = sum(f.stat().st_size for f in (tmp_path / "k0").iterdir())
    cache = ArrayCache(tmp_path, 3 * size)
    cache.path("k0")
    assert cache.evict() == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k0", "k3", "k4"]
    assert cache.evict() == 0


def test_one_bound_holds_for_several_folders_together(tmp_path):
    for root, number in (("prepared", 0), ("data", 1), ("prepared", 2), ("data", 3)):
        write_arrays(tmp_path / root / f"k{number}", {"x": np.ones(1000)}, {})
        age(tmp_path / root / f"k{number}", 100 - number)
    size = sum(f.stat().st_size for f in (tmp_path / "data" / "k1").iterdir())
    assert ArrayCache(tmp_path / "prepared", 2 * size).evict(tmp_path / "data") == 2
    assert [p.name for p in sorted(tmp_path.glob("*/k*"))] == ["k3", "k2"]


def test_what_another_command_removes_meanwhile_hides_no_entry(tmp_path):
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "gone").symlink_to(tmp_path / "nowhere")
    for number in range(3):
        write_arrays(tmp_path / "data" / f"k{number}", {"x": np.ones(1000)}, {})
        age(tmp_path / "data" / f"k{number}", 100 - number)
    size = sum(f.stat().st_size for f in (tmp_path / "data" / "k0").iterdir())
    assert ArrayCache(tmp_path / "prepared", 2 * size).evict(tmp_path / "data") == 1


def test_what_any_process_has_just_used_is_not_evicted(tmp_path):
    for key in ("old", "read"):
        write_arrays(tmp_path / key, {"x": np.ones(1000)}, {})
        age(tmp_path / key, 100)
    read_arrays(tmp_path / "read")
    ArrayCache(tmp_path, 0).evict()
    assert [p.name for p in tmp_path.iterdir()] == ["read"]


def test_an_entry_is_put_in_its_place_by_a_rename_and_not_piece_by_piece(tmp_path):
    places = {}

    def fill(writer):
        writer.save("x", np.ones(1000))
        places.update({"folder": writer.folder.stat().st_ino, "array": next(writer.folder.iterdir()).stat().st_ino})
        return {}

    write_entry(tmp_path / "entry", fill)
    # What a reader finds is what was whole before anybody could find it; a copy would grow under his eyes.
    assert (tmp_path / "entry").stat().st_ino == places["folder"]
    assert (tmp_path / "entry" / "0.npy").stat().st_ino == places["array"]


LACKING = [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EIO, errno.EACCES, errno.ESTALE]
READERS = {
    "a worker": lambda folder: read_arrays(folder),
    "a leader": lambda folder: ArrayCache(folder.parent, 1e9).has(folder.name),
    "a data set": lambda folder: read_entry(folder.parent, folder.name),
    "a fold": lambda folder: _fold(folder, lambda: pytest.fail("its rows are looked for")),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("file", ["entry.json", "0.npy"])
def test_an_entry_that_the_system_cannot_read_now_stays(tmp_path, monkeypatch, reader, file):
    folder = tmp_path / "entry"
    write_arrays(folder, {"rows": np.arange(6.0)}, {})
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    opened = io.open

    def refused(path, *arguments, **options):
        if str(path).endswith(file):
            raise OSError(number, os.strerror(number))
        return opened(path, *arguments, **options)

    for number in LACKING:
        with monkeypatch.context() as patch:
            patch.setattr("io.open", refused)
            patch.setattr("builtins.open", refused)
            if reader == "a cluster" and file != "entry.json":
                READERS[reader](folder)  # reads the index alone
            else:
                with pytest.raises((OSError, StoreError), match=re.escape(os.strerror(number))):
                    READERS[reader](folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("reader", ["a worker", "a leader", "a data set"])
def test_an_entry_that_lacks_a_file_goes(tmp_path, reader):
    folder = tmp_path / "entry"
    write_arrays(folder, {"rows": np.arange(6.0)}, {})
    (folder / "0.npy").unlink()
    with contextlib.suppress(StoreError):
        assert not READERS[reader](folder)
    assert not folder.exists()
