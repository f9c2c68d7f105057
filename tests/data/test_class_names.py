"""What is no name is refused with its place, whichever way it comes in; nothing becomes a name by being written out."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
from xlsa17_toys import NAMES, write_folder

import zslplat
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.matlab import MatlabFile
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat.families.zero_shot.model import NewClasses

Y, X, S = np.arange(8) % 4, np.arange(16.0).reshape(8, 2), np.eye(4)


def cells(entries):
    found = np.empty((len(entries), 1), dtype=object)
    for number, entry in enumerate(entries):
        found[number, 0] = entry
    return found


def in_a_cell(entry):
    return cells([entry])


# -- MATLAB -----------------------------------------------------------------------------------------------------------


def write_v73(path, entries):
    """Write a cell array as MATLAB 7.3 does: {entry} of what is text, a number, a struct, a cell or empty."""
    with h5py.File(path, "w", userblock_size=512) as file:
        count = 0

        def stored(entry):
            nonlocal count
            count += 1
            name = f"#refs#/{count}"
            if isinstance(entry, dict):
                return file.create_group(name)
            if isinstance(entry, str):
                item = file.create_dataset(name, data=np.array([[ord(c)] for c in entry], dtype=np.uint16))
                item.attrs["MATLAB_class"] = np.bytes_("char")
            elif isinstance(entry, np.ndarray) and entry.dtype == object:
                references = np.array([[stored(one).ref for one in entry.ravel()]], dtype=h5py.ref_dtype)
                item = file.create_dataset(name, data=references, dtype=h5py.ref_dtype)
                item.attrs["MATLAB_class"] = np.bytes_("cell")
            else:
                values = np.asarray(entry, dtype=float)
                item = file.create_dataset(name, data=values if values.size else np.zeros(2, dtype=np.uint64))
                item.attrs["MATLAB_class"] = np.bytes_("double")
                if not values.size:
                    item.attrs["MATLAB_empty"] = np.uint8(1)
            return item

        file["names"] = stored(cells(entries))


def write_v5(path, entries):
    scipy.io.savemat(path, {"names": cells(entries)})


WRITERS = {"v5": write_v5, "v7.3": write_v73}
REFUSED = {
    "number": (3.0, "cell 2 of 'names' is the number 3.0; expected one text"),
    "numbers": (np.array([65.0, 66.0]), "cell 2 of 'names' is 2 numbers; expected one text"),
    "struct": ({"name": "ox"}, "cell 2 of 'names' is a struct; expected one text"),
    "empty": (np.zeros((0, 0)), "cell 2 of 'names' is empty; expected one text"),
    "several": (cells(["ox", "bull"]), "cell 2 of 'names' is 2 cells; expected one text"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_cells_in_cells_are_taken_out(tmp_path, writer):
    WRITERS[writer](tmp_path / "c.mat", ["ox", in_a_cell("mole"), in_a_cell(in_a_cell("ant"))])
    assert MatlabFile(tmp_path / "c.mat").strings("names") == ["ox", "mole", "ant"]
    WRITERS[writer](tmp_path / "d.mat", [cells(["ox", "mole"])])
    assert MatlabFile(tmp_path / "d.mat").strings("names") == ["ox", "mole"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("case", REFUSED)
def test_cells_without_one_text_are_refused_with_their_place(tmp_path, writer, case):
    entry, message = REFUSED[case]
    WRITERS[writer](tmp_path / "c.mat", ["ox", entry, "ant"])
    with pytest.raises(DataError, match=message):
        MatlabFile(tmp_path / "c.mat").strings("names")


def test_an_empty_class_name_is_refused_with_its_place(tmp_path):
    names = [*NAMES[:3], "", *NAMES[4:]]
    places = write_folder(tmp_path / "toy", splits={"allclasses_names": names})
    with pytest.raises(DataError, match="allclasses_names: entry 3 is empty; give every class a name"):
        Xlsa17(path="toy").load(DataPlaces(places.root))


# -- named fields -----------------------------------------------------------------------------------------------------

NO_NAMES = {
    "numbers with a point": [0.0, 1.0, 2.0, 3.0],
    "truth values": [True, False, True, False],
}


@pytest.mark.parametrize("case", NO_NAMES)
def test_files_of_arrays_refuse_names_that_are_none(tmp_path, case):
    names = np.array(NO_NAMES[case])
    np.savez(tmp_path / "d.npz", X=X, y=Y, S=S, class_names=names)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["X"], file["y"], file["S"], file["class_names"] = X, Y, S, names
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"], file["y"], file["S"] = X, Y, S
        file.attrs["class_names"] = names
    pq.write_table(pa.table({"a": X[:, 0], "y": Y}), tmp_path / "d.parquet")
    pq.write_table(pa.table({"class": names, "s": S[:, 0]}), tmp_path / "d.signatures.parquet")
    for spec in ("npz(path=d.npz)", "hdf5(path=d.h5)", "hdf5(path=a.h5)", "parquet(path=d.parquet)"):
        with pytest.raises(DataError, match=r"class.*: entry 0 is .*; expected a name, a text or a whole number"):
            zslplat.load_dataset(spec, data_root=tmp_path, store=tmp_path / "store")
    np.savez(tmp_path / "n.npz", X=X, y=Y, S=S, attribute_names=names)
    with pytest.raises(DataError, match="attribute_names: entry 0 is"):
        zslplat.load_dataset("npz(path=n.npz)", data_root=tmp_path, store=tmp_path / "store")


@pytest.mark.parametrize("names", [["a", "b", None, "d"], ["a", ["b"], "c", "d"], "abcd", {"a": 0}, [0.5, 1, 2, 3]])
def test_metadata_of_parquet_are_a_list_of_names(tmp_path, names):
    table = pa.table({"a": X[:, 0], "y": Y}).replace_schema_metadata({"class_names": json.dumps(names)})
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"d\.parquet.*class_names in the metadata"):
        zslplat.load_dataset("parquet(path=d.parquet)", data_root=tmp_path, store=tmp_path / "store")


def test_whole_numbers_and_bytes_are_names(tmp_path):
    assert names_of(np.array([7, 10, 8]), "n") == ["7", "10", "8"]
    assert names_of(np.array(["Löwe".encode(), b" ox "]), "n") == ["Löwe", "ox"]
    np.savez(tmp_path / "d.npz", X=X, y=Y, S=S, class_names=np.array([7, 10, 8, 9]))
    data = zslplat.load_dataset("npz(path=d.npz)", data_root=tmp_path, store=tmp_path / "store")
    assert data.class_names == ("7", "10", "8", "9")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(DataError, match=r"n: entry 1 is .*, of type bytes"):
        names_of(np.array([b"ox", b"\xff\xfe"]), "n")


@pytest.mark.parametrize("wrong", [None, np.nan, 0.5, ("a", "b"), {"name": "a"}, True])
def test_objects_in_memory_are_refused_with_their_place(wrong):
    given = ["a", wrong, "c", "d"]
    with pytest.raises(DataError, match=r"class_names: entry 1 is"):
        zslplat.make_dataset(X, Y, S, class_names=given)
    with pytest.raises(DataError, match=r"names of classes: entry 1 is"):
        NewClasses.of(pd.DataFrame(S, index=pd.Index(given, dtype=object)))
    labels = np.empty(8, dtype=object)
    labels[:] = [given[label] for label in Y]
    with pytest.raises(DataError, match=r"y: entry 1 is"):
        zslplat.make_dataset(X, labels)


def test_empty_and_repeated_names_are_refused_with_their_place():
    with pytest.raises(DataError, match="class names: entry 2 is empty; give every class a name"):
        zslplat.make_dataset(X, Y, S, class_names=["a", "b", " ", "d"])
    with pytest.raises(DataError, match="class 'a' is listed twice"):
        zslplat.make_dataset(X, Y, S, class_names=["a", "b", "a", "d"])
