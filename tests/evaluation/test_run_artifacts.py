"""What a single run leaves: figures of what was learned, maps of the scored rows, copies of artifacts by name."""

import csv
import json

import numpy as np
import pytest


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_figures_of_a_method_and_its_scores_by_step(call, tmp_path):
    done = call("run", "-m", "zskl(epochs=3)", "-q", "--export", tmp_path / "validation", "--workers", 1)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "validation" / "fold-1"
    assert (folder / "column_cosines.png").is_file()
    assert (folder / "by_step.png").is_file()
    steps = rows_of(folder / "by_step.csv")
    assert [row["step"] for row in steps] == ["1", "2", "3"]
    assert all(0 <= float(row["per_class_accuracy"]) <= 1 for row in steps)


@pytest.mark.long
def test_test_rows_choose_no_step(call, tmp_path):
    def run(epochs):
        done = call("run", "-m", f"zskl(epochs={epochs})", "--test", "--json", "-q", "--export", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["metrics"][0]["per_class_accuracy"]

    first, last = run(1), run(4)
    assert first > last  # or nothing is shown here
    validation_choices = (tmp_path / "out" / "run.toml").read_text() + "\n[carried]\nbest_step = 1.0\n"
    config = tmp_path / "told.toml"
    config.write_text(validation_choices)
    told = call("run", "--config", config, "--test", "--json", "-q")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["metrics"][0]["per_class_accuracy"] == first  # though it says epochs=4
    assert not (tmp_path / "out" / "by_step.csv").exists()


@pytest.mark.long
def test_matrices_are_those_of_the_step_that_is_kept(call, tmp_path):
    experiment = "kernel=gaussian(sigma=1.0)"
    for epochs in (4, 2):
        done = call(
            "run",
            "-m",
            f"zskl(epochs={epochs}, {experiment})",
            "-q",
            "--export",
            tmp_path / str(epochs),
            "--workers",
            1,
        )
        assert done.returncode == 0, done.stderr
    by_step = rows_of(tmp_path / "4" / "fold-1" / "by_step.csv")
    scores = [float(row["mean over folds of per_class_accuracy"]) for row in by_step]
    assert np.argmax(scores) == 1  # or nothing is shown here
    longer, shorter = (np.load(tmp_path / name / "fold-1" / "matrices" / "W.npy") for name in ("4", "2"))
    np.testing.assert_array_equal(longer, shorter)


@pytest.mark.long
def test_single_runs_map_the_rows_where_a_method_projects_them(call, tmp_path):
    done = call("run", "-m", "mfmr-joint(iterations=5)", "--test", "-q", "--export", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "projection.png").stat().st_size > 10_000
    points = rows_of(tmp_path / "out" / "projection.csv")
    assert {row["panel"] for row in points} == {"common scheme", "joint scheme"}
    assert len(points) == 2 * 800
    assert len({row["class"] for row in points}) == 20
    assert all(np.isfinite([float(row["x"]), float(row["y"])]).all() for row in points)
    assert len(rows_of(tmp_path / "out" / "replicates.csv")) == 1000


@pytest.mark.long
def test_one_artifact_is_exported_by_its_name(call, tmp_path):
    arguments = (
        "run",
        "-m",
        "variance",
        "-t",
        "feature-selection(last=10, repeats=2, validation_repeats=1)",
        "-q",
        "--workers",
        1,
    )
    done = call(*arguments, "--test", "--export", tmp_path / "made" / "features.csv")
    assert done.returncode == 0, done.stderr
    assert len(rows_of(tmp_path / "made" / "features.csv")) > 10
    wrong = call(*arguments, "--test", "--export", tmp_path / "feature.csv")
    assert wrong.returncode == 2
    assert "features.csv" in wrong.stderr
    several = call(*arguments, "--export", tmp_path / "features.csv")
    assert several.returncode == 2
    assert "folder" in several.stderr
    assert "evaluating" not in several.stderr


def test_what_cannot_be_exported_to_is_said_before_the_test_split_is_looked_at(call, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = call("run", "-m", "eszsl(alpha=1, gamma=1)", "--test", "--export", tmp_path / "file")
    assert done.returncode == 2
    assert "not a folder" in done.stderr
    again = call("run", "-m", "eszsl(alpha=1, gamma=1)", "--test", "--json", "-q", "--export", tmp_path / "results.v2")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["test_evaluations"] == 1
    assert (tmp_path / "results.v2" / "predictions.csv").is_file()


@pytest.mark.long
def test_validation_folds_are_mapped_only_where_artifacts_are_asked_for(call, tmp_path):
    run = ("run", "-m", "mfmr-joint(iterations=5)", "-d", "digit-pairs(rows=5)", "-q")
    assert call(*run).returncode == 0
    recorded = {path.name for path in (tmp_path / "mlruns").rglob("*.csv")}
    assert "confusion.csv" in recorded
    assert "projection.csv" not in recorded
    assert call(*run, "--export", tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "fold-1" / "projection.csv").is_file()
