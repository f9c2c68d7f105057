"""Kept arrays that have changed since are noticed wherever they have, small files and large ones."""

import numpy as np
import pytest

from zslplat.data.store.array_store import read_entry, write_entry


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
