"""What only some need is not installed with zslplat: who asks for it is told the command that brings it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import zslplat
from zslplat.errors import UsageError

FILES = r"needs the package {}, which is not installed; pip install 'zslplat\[files\]'"


@pytest.fixture
def hidden(monkeypatch):
    """Return a function that hides a package, as if it had never been installed."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


def test_tables_name_pyarrow(tmp_path, hidden):
    (tmp_path / "birds.csv").write_text("label,width\ncat,1\ndog,2\n")
    hidden("pyarrow")
    with pytest.raises(UsageError, match=r"birds\.csv: reading csv " + FILES.format("pyarrow")):
        zslplat.load_dataset(str(tmp_path / "birds.csv"))


def test_hdf5_files_name_h5py(tmp_path, hidden):
    import h5py

    with h5py.File(tmp_path / "birds.h5", "w") as file:
        file["features"], file["labels"] = np.eye(4), np.arange(4)
    hidden("h5py")
    with pytest.raises(UsageError, match="reading HDF5 " + FILES.format("h5py")):
        zslplat.load_dataset(str(tmp_path / "birds.h5"))


def test_matlab_files_of_version_73_name_h5py(tmp_path, hidden):
    from zslplat.data.formats import matlab

    hidden("h5py")
    with pytest.raises(UsageError, match=r"\.mat file of version 7\.3 " + FILES.format("h5py")):
        matlab.variables(tmp_path / "res101.mat", is_hdf5=True)


def test_predictions_as_parquet_name_pyarrow(tmp_path, hidden):
    from zslplat.models.predictions import RowFile

    (tmp_path / "rows.parquet").touch()
    hidden("pyarrow")
    with pytest.raises(UsageError, match=r"rows\.parquet: reading parquet " + FILES.format("pyarrow")):
        RowFile(tmp_path / "rows.parquet", ())


def test_the_pages_of_mlflow_name_their_extra(call, tmp_path, hidden):
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "mlruns" / "mlflow.db").touch()
    hidden("flask")
    done = call("ui")
    assert done.returncode == 2
    assert "the MLflow UI needs the package flask, which is not installed; pip install 'zslplat[ui]'" in done.stderr
