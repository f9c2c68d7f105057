"""Trials that failed can be tried again, and MLflow shows what they gave then."""

import os
import sqlite3
from contextlib import closing

import pytest
from support import install_distribution, runs_of

METHOD = '''
"""A method that fails until a file is there."""
from pathlib import Path
from zslplat.api import ZeroShotMethod, hookimpl


class Hindered(ZeroShotMethod):
    """Needs its file."""

    def fit(self, X, y, S, *, statistics=None):
        if not Path("FILE").exists():
            raise ValueError("the file is missing")
        self.W_ = X.T @ S[y]
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ self.W_ @ S.T


@hookimpl
def zslplat_methods():
    return {"hindered": Hindered}
'''


@pytest.mark.long
def test_a_trial_that_is_tried_again_is_shown_as_it_ended_then(forked, plugin_path, tmp_path):
    file = tmp_path / "file"
    source = METHOD.replace("FILE", str(file))
    folder = install_distribution(tmp_path / "plugin", "zslplat-hindered", "zslplat_hindered", source)
    path = os.pathsep.join([str(folder), str(plugin_path)])
    command = ("tune", "-m", "hindered", "-d", "marked", "--workers", 1, "-q")
    assert forked(*command, PYTHONPATH=path).returncode == 1
    store = tmp_path / "mlruns"
    assert {key: status for key, (status, _) in runs_of(store).items()} == {"study": "FAILED", "trial-0": "FAILED"}
    # Whoever looks next finds it as it ended.
    assert forked("run", "-m", "plain", "-d", "marked", "-q", PYTHONPATH=path).returncode == 0
    assert runs_of(store)["study"][0] == "FAILED"
    file.touch()
    done = forked(*command, "--retry-failed", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    runs = runs_of(store)
    assert {key: runs[key][0] for key in ("study", "trial-0")} == {"study": "FINISHED", "trial-0": "FINISHED"}
    assert runs["trial-0"][1]["val_per_class_accuracy"] == runs["study"][1]["val_per_class_accuracy"]
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        assert not connection.execute("select * from tags where key = 'zslplat.reason'").fetchall()
