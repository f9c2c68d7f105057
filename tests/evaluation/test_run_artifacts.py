"""What a single run leaves in MLflow: figures of what was learned, maps of the scored rows, matrices."""

import csv
import json

import numpy as np
import pytest


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def artifacts(tmp_path):
    """Return the folder of the artifacts that MLflow got last."""
    return lambda: max(tmp_path.glob("mlruns/artifacts/*/artifacts"), key=lambda folder: folder.stat().st_ctime_ns)


@pytest.mark.long
def test_figures_of_a_method_and_its_scores_by_step(call, artifacts):
    done = call("run", "-m", "zskl(epochs=3)", "-q", "--workers", 1)
    assert done.returncode == 0, done.stderr
    folder = artifacts() / "fold-1"
    assert (folder / "column_cosines.png").is_file()
    assert (folder / "by_step.png").is_file()
    steps = rows_of(folder / "by_step.csv")
    assert [row["step"] for row in steps] == ["1", "2", "3"]
    assert all(0 <= float(row["per_class_accuracy"]) <= 1 for row in steps)


@pytest.mark.long
def test_test_rows_choose_no_step(call, artifacts, tmp_path):
    def run(epochs):
        done = call("run", "-m", f"zskl(epochs={epochs})", "--test", "--json", "-q")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["metrics"][0]["per_class_accuracy"]

    first, last = run(1), run(4)
    assert first > last  # or nothing is shown here
    validation_choices = (artifacts() / "run.toml").read_text() + "\n[carried]\nbest_step = 1.0\n"
    config = tmp_path / "told.toml"
    config.write_text(validation_choices)
    told = call("run", "--config", config, "--test", "--json", "-q")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["metrics"][0]["per_class_accuracy"] == first  # though it says epochs=4
    assert not (artifacts() / "by_step.csv").exists()


@pytest.mark.long
def test_matrices_are_those_of_the_step_that_is_kept(call, artifacts):
    experiment = "kernel=gaussian(sigma=1.0)"
    matrices = {}
    for epochs in (2, 4):
        done = call("run", "-m", f"zskl(epochs={epochs}, {experiment})", "-q", "--workers", 1)
        assert done.returncode == 0, done.stderr
        matrices[epochs] = np.load(artifacts() / "fold-1" / "matrices" / "W.npy")
    by_step = rows_of(artifacts() / "fold-1" / "by_step.csv")
    scores = [float(row["mean over folds of per_class_accuracy"]) for row in by_step]
    assert np.argmax(scores) == 1  # or nothing is shown here
    np.testing.assert_array_equal(matrices[4], matrices[2])


@pytest.mark.long
def test_single_runs_map_the_rows_where_a_method_projects_them(call, artifacts):
    done = call("run", "-m", "mfmr-joint(iterations=5)", "--test", "-q")
    assert done.returncode == 0, done.stderr
    assert (artifacts() / "projection.png").stat().st_size > 10_000
    points = rows_of(artifacts() / "projection.csv")
    assert {row["panel"] for row in points} == {"common scheme", "joint scheme"}
    assert len(points) == 2 * 800
    assert len({row["class"] for row in points}) == 20
    assert all(np.isfinite([float(row["x"]), float(row["y"])]).all() for row in points)
    assert len(rows_of(artifacts() / "replicates.csv")) == 1000


@pytest.mark.long
def test_validation_folds_are_not_mapped(call, tmp_path):
    run = ("run", "-m", "mfmr-joint(iterations=5)", "-d", "digit-pairs(rows=5)", "-q")
    assert call(*run).returncode == 0
    recorded = {path.name for path in (tmp_path / "mlruns").rglob("*.csv")}
    assert "confusion.csv" in recorded
    assert "projection.csv" not in recorded
