"""Files that lie: what they declare beyond what they hold, and what they say lies in other files, is refused unread."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from file_toys import write_hdf5

from zslplat.data.formats import bounds, npz
from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzFile
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError

HUGE = (1 << 40, 3)


def with_header(shape, content=b"", version=(1, 0), descr="<f8"):
    """Return the bytes of an ``.npy`` file that declares a shape."""
    import io

    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(file, header)
    return file.getvalue() + content


def test_an_array_that_memory_does_not_hold_is_refused_before_it_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros(3 << 20))
    assert NpzFile(tmp_path / "d.npz").read("X").shape == (3 << 20,)
    monkeypatch.setattr(bounds, "free_bytes", lambda: 1 << 24)
    with pytest.raises(DataError, match=r"holds 0\.02517 GB, and 0\.0168 GB of memory are free"):
        NpzFile(tmp_path / "d.npz").read("X")


def test_an_npy_file_that_declares_more_than_it_holds_is_refused(tmp_path):
    (tmp_path / "features.npy").write_bytes(with_header(HUGE, bytes(240)))
    np.save(tmp_path / "labels.npy", np.arange(10) % 2)
    with pytest.raises(DataError, match=r"features\.npy: cannot be read"):
        NpySource(path=str(tmp_path)).load(DataPlaces())
    with pytest.raises((ValueError, MemoryError)):
        npz.load_npy(tmp_path / "features.npy")


def external_link(file, beside):
    del file["labels"]
    file["labels"] = h5py.ExternalLink(beside, "/labels")


def external_storage(file, beside):
    del file["labels"]
    file.create_dataset("labels", shape=(30,), dtype="i8", external=[(beside, 0, 240)])


def virtual(file, beside):
    del file["labels"]
    layout = h5py.VirtualLayout((30,), "i8")
    layout[:] = h5py.VirtualSource(beside, "labels", shape=(30,))
    file.create_virtual_dataset("labels", layout)


ELSEWHERE = {
    external_link: "no data set y or labels",
    external_storage: "'labels' keeps its content in another file",
    virtual: "'labels' keeps its content in another file",
}


@pytest.mark.parametrize("case", ELSEWHERE, ids=lambda case: case.__name__)
def test_nothing_that_an_hdf5_file_says_lies_elsewhere_is_read(tmp_path, case):
    secret = write_hdf5(tmp_path / "secret.h5")
    path = write_hdf5(tmp_path / "d.h5")
    with h5py.File(path, "a") as file:
        for old, new in (("X", "features"), ("y", "labels")):
            if old in file and new not in file:
                file.move(old, new)
        case(file, str(secret))
    with pytest.raises(DataError, match=ELSEWHERE[case]):
        # Loaded by whoever keeps it, the rows would be written.
        Hdf5Source(path=str(path)).load(DataPlaces(cache=tmp_path / "cache"))


def test_soft_links_inside_are_followed(tmp_path):
    path = write_hdf5(tmp_path / "d.h5")
    before = Hdf5Source(path=str(path)).load(DataPlaces())
    with h5py.File(path, "a") as file:
        label = "labels" if "labels" in file else "y"
        file.move(label, "kept/hidden")
        file[label] = h5py.SoftLink("kept/hidden")
    assert np.array_equal(Hdf5Source(path=str(path)).load(DataPlaces()).y, before.y)
