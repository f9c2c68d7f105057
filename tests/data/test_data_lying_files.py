"""Files that lie: what they declare beyond what they hold, and what they say lies in other files, is refused unread."""

from __future__ import annotations

import tracemalloc
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_toys import write_hdf5

from zslplat.data.formats import arrow_files, bounds, npz
from zslplat.data.formats.arrow_files import ParquetPart, read_table
from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.hdf5_files import MOST_LINKS, local_item
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


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_an_npz_member_that_declares_more_than_it_holds_takes_no_memory(tmp_path, version):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", with_header((1 << 28, 3), bytes(240), version))
    file = NpzFile(tmp_path / "d.npz")
    tracemalloc.start()
    with pytest.raises(DataError, match=r"key 'X'.* declares an array of shape \(268435456, 3\).* 240 follow it"):
        file.read("X")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_a_member_that_unpacks_to_far_more_than_packing_can_do_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", with_header(HUGE, bytes(240)))
    content = (tmp_path / "d.npz").read_bytes()
    size = len(with_header(HUGE)) + 240
    lie = (1 << 31).to_bytes(4, "little")
    place = content.rindex(size.to_bytes(4, "little"))  # of the directory, which comes last
    (tmp_path / "d.npz").write_bytes(content[:place] + lie + content[place + 4 :])
    with pytest.raises(DataError, match="says that it holds 2147483648 bytes, packed into"):
        NpzFile(tmp_path / "d.npz").read("X")


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
    with pytest.raises(DataError, match="240 follow it"):
        npz.load_npy(tmp_path / "features.npy")


def external_link(file, beside):
    del file["labels"]
    file["labels"] = h5py.ExternalLink(beside, "/labels")


def external_link_behind_a_soft_one(file, beside):
    del file["labels"]
    file["hidden"] = h5py.ExternalLink(beside, "/labels")
    file["labels"] = h5py.SoftLink("/hidden")


def external_storage(file, beside):
    del file["labels"]
    file.create_dataset("labels", shape=(30,), dtype="i8", external=[(beside, 0, 240)])


def virtual(file, beside):
    del file["labels"]
    layout = h5py.VirtualLayout((30,), "i8")
    layout[:] = h5py.VirtualSource(beside, "labels", shape=(30,))
    file.create_virtual_dataset("labels", layout)


def circle(file, beside):
    del file["labels"]
    file["a"], file["labels"] = h5py.SoftLink("/labels"), h5py.SoftLink("/a")


def boundless(file, beside):
    del file["labels"]
    file.create_dataset("labels", shape=(1 << 40,), dtype="i8", chunks=(1024,))


ELSEWHERE = {
    external_link: "'labels' is a link to the file .*other files are never read",
    external_link_behind_a_soft_one: "is a link to the file",
    external_storage: "'/labels' keeps its content in the file",
    virtual: "'/labels' is a virtual data set",
    circle: "leads in a circle",
    boundless: r"'labels' says that it holds .* in a file of",
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


def test_soft_links_inside_and_groups_that_hold_themselves_are_read(tmp_path):
    path = write_hdf5(tmp_path / "d.h5")
    before = Hdf5Source(path=str(path)).load(DataPlaces())
    with h5py.File(path, "a") as file:
        label = "labels" if "labels" in file else "y"
        file.move(label, "kept/hidden")
        file[label] = h5py.SoftLink("kept/hidden")
        file["kept/again"] = file["/"]
    assert np.array_equal(Hdf5Source(path=str(path)).load(DataPlaces()).y, before.y)


def test_soft_links_lead_to_one_another_for_a_while(tmp_path):
    path = write_hdf5(tmp_path / "d.h5")
    before = Hdf5Source(path=str(path)).load(DataPlaces())
    with h5py.File(path, "a") as file:
        label = "labels" if "labels" in file else "y"
        file.move(label, f"kept-{MOST_LINKS}")
        for number in range(1, MOST_LINKS):
            file[f"kept-{number}"] = h5py.SoftLink(f"kept-{number + 1}")
        file[label] = h5py.SoftLink("kept-1")
    assert MOST_LINKS == 16
    assert np.array_equal(Hdf5Source(path=str(path)).load(DataPlaces()).y, before.y)
    with h5py.File(path, "a") as file:
        file["further"] = h5py.SoftLink(label)
        with pytest.raises(DataError, match="leads in a circle"):
            local_item(path, file, "further")


def test_links_of_kinds_that_are_not_known_are_refused(tmp_path):
    class Odd(h5py.Group):
        def get(self, name, default=None, **asked):
            raise TypeError("Unknown link type")  # as h5py does of links that programs define

    with h5py.File(write_hdf5(tmp_path / "d.h5")) as file:
        odd = Odd(file["/"].id)
        with pytest.raises(DataError, match="'a' is a link of an unknown kind"):
            local_item(tmp_path / "d.h5", odd, "a")


def test_a_parquet_column_that_memory_does_not_hold_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pq.write_table(pa.table({"label": ["ox"] * 8}), tmp_path / "d.parquet")
    zeros = pa.table({"label": pa.array(np.zeros(1 << 22, dtype=np.int64))})
    pq.write_table(zeros, tmp_path / "many.parquet", compression="zstd")
    assert (tmp_path / "many.parquet").stat().st_size < 1 << 17
    monkeypatch.setattr(bounds, "free_bytes", lambda: 1 << 20)
    assert len(arrow_files.column(tmp_path / "d.parquet", "label", "it", None)) == 8
    with pytest.raises(DataError, match=r"it, column 'label': says that it holds 0\.03355 GB"):
        arrow_files.column(tmp_path / "many.parquet", "label", "it, column 'label'", None)


def test_no_parquet_file_is_decoded_in_this_process(tmp_path, monkeypatch):
    pq.write_table(pa.table({"label": ["ox"] * 8, "x": [[1.0, 2.0]] * 8}), tmp_path / "d.parquet")
    for name in ("ParquetFile", "read_table", "read_schema"):
        monkeypatch.setattr(pq, name, None)
    part = ParquetPart(tmp_path / "d.parquet")
    assert (part.rows, part.schema.names) == (8, ["label", "x"])
    assert part.row_shape("x") == (2,)
    assert part.column("label").tolist() == ["ox"] * 8
    (block,) = part.blocks(["x"], 100, (2,), np.dtype(np.float32))
    assert block.tolist() == [[1, 2]] * 8
    assert read_table(tmp_path / "d.parquet").num_rows == 8


def test_a_parquet_file_with_a_damaged_name_is_one_clear_error(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"label": ["ox", "cow"], "size": [1.0, 2.0]}), path)
    whole = path.read_bytes()
    for place in (place for place in range(len(whole)) if whole.startswith(b"label", place)):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with pytest.raises(DataError, match="cannot be read as a Parquet file"):
            ParquetPart(path).column("size")
