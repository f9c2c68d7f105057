"""Which folders are taken as ``.npy`` folders, and which are not although something in them has such a name."""

import numpy as np
import pytest

from zslplat.data.formats.npy_folder import NpySource


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["features.npy"], True),
        (["features-1.npy"], True),
        (["features/part-1.npy"], False),
        (["features/part-1.parquet"], False),
        (["features_of_old/notes.txt"], False),
        (["features.csv"], False),
        (["labels.npy"], False),
    ],
    ids=str,
)
def test_features_in_npy_files_make_the_layout(tmp_path, files, expected):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, np.ones(3)) if name.endswith(".npy") else (tmp_path / name).write_text("1")
    assert NpySource.is_folder(tmp_path) == expected


def test_hdf5_data_that_memory_does_not_hold_are_refused_before_they_are_read(tmp_path, monkeypatch):
    import h5py

    from zslplat.data.formats import bounds, hdf5
    from zslplat.errors import DataError

    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["labels"] = np.arange(3_000_000.0)
    assert len(hdf5.whole(tmp_path / "d.h5", "labels")) == 3_000_000
    monkeypatch.setattr(bounds, "free_bytes", lambda: 20_000_000)
    with pytest.raises(DataError, match=r"'labels': says that it holds 0\.024 GB, and 0\.02 GB of memory are free"):
        hdf5.whole(tmp_path / "d.h5", "labels")
