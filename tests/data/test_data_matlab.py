"""MATLAB files: both formats give the same variables, and errors name file and field."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from xlsa17_toys import WRITERS, write_v5

from zslplat.data.formats.matlab import MatlabFile, variables
from zslplat.errors import DataError

VARIABLES = {
    "features": np.arange(12, dtype=np.uint16).reshape(3, 4),
    "column": np.array([[3.0], [1.0], [2.0]]),
    "row": np.array([[7, 8, 9]], dtype=np.int32),
    "single": np.array([[2.5]], dtype=np.float32),
    "names": ["killer+whale", "ox", "", " 002.Laysan_Albatross "],
    "sparse": scipy.sparse.csc_matrix(np.array([[0.0, 2.0, 0.0], [5.0, 0.0, 0.0]])),
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    WRITERS[request.param](tmp_path / "a.mat", VARIABLES)
    return MatlabFile(tmp_path / "a.mat")


def test_matrices_keep_matlabs_orientation_and_values(file):
    assert np.array_equal(file.numbers("features"), VARIABLES["features"])
    assert file.numbers("features").dtype.kind == "u"


def test_vectors_of_either_direction_become_flat(file):
    assert file.vector("column").tolist() == [3, 1, 2]
    assert file.vector("row").tolist() == [7, 8, 9]
    assert file.vector("single").tolist() == [2.5]


def test_a_vector_without_a_direction_is_a_row_as_matlab_has_no_other(tmp_path):
    """Programs other than MATLAB write HDF5 of one axis."""
    WRITERS["v7.3"](tmp_path / "a.mat", {"loc": np.array([1.0, 2.0, 3.0])})
    assert variables(tmp_path / "a.mat", is_hdf5=True) == {"loc": [1, 3]}
    assert MatlabFile(tmp_path / "a.mat").vector("loc").tolist() == [1, 2, 3]


def test_cell_arrays_become_stripped_strings_in_order(file):
    assert file.strings("names") == ["killer+whale", "ox", "", "002.Laysan_Albatross"]


def test_sparse_matrices_become_dense(file):
    assert np.array_equal(file.numbers("sparse"), VARIABLES["sparse"].toarray())


def test_missing_variable_is_named_with_what_the_file_holds(file):
    with pytest.raises(DataError, match=r"a\.mat: no variable 'labels'; the file holds .*features"):
        file.numbers("labels")


def test_wrong_kinds_are_refused(file):
    with pytest.raises(DataError, match="'names' is no numeric matrix"):
        file.numbers("names")
    with pytest.raises(DataError, match=r"'features'.* cell array of strings"):
        file.strings("features")
    with pytest.raises(DataError, match="'features' is 3 x 4; expected a vector"):
        file.vector("features")


def test_character_matrix_gives_its_rows(tmp_path):
    scipy.io.savemat(tmp_path / "c.mat", {"names": np.array(["ox  ", "mole"])})
    assert MatlabFile(tmp_path / "c.mat").strings("names") == ["ox", "mole"]


def test_missing_file_lists_the_files_that_are_there(tmp_path):
    write_v5(tmp_path / "mnv2.mat", VARIABLES)
    with pytest.raises(DataError, match=r"res101\.mat: no such file; the folder has mnv2\.mat"):
        MatlabFile(tmp_path / "res101.mat")


@pytest.mark.parametrize("content", [b"", b"no MATLAB file " * 50, b"\x89HDF\r\n\x1a\n" + b"x" * 600])
def test_garbage_is_one_clear_line(tmp_path, content):
    (tmp_path / "g.mat").write_bytes(content)
    with pytest.raises(DataError, match=r"g\.mat: cannot be read as a MATLAB file") as caught:
        MatlabFile(tmp_path / "g.mat")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("writer", WRITERS)
def test_truncated_file_is_one_clear_line(tmp_path, writer):
    path = tmp_path / "t.mat"
    WRITERS[writer](path, {"features": np.random.default_rng(0).random((200, 200))})
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match=r"t\.mat: cannot be read as a MATLAB file"):
        MatlabFile(path).numbers("features")
