"""What a single run leaves: figures of what was learned, maps of the scored rows, copies of artifacts by name."""

import csv


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_figures_of_a_method_and_its_scores_by_step(call, tmp_path):
    done = call("run", "-m", "zskl(epochs=3)", "-q", "--export", tmp_path / "validation", "--workers", 1)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "validation" / "fold-1"
    assert (folder / "column_cosines.png").is_file()
    assert (folder / "by_step.png").is_file()
    steps = rows_of(folder / "by_step.csv")
    assert [row["step"] for row in steps] == ["1", "2", "3"]
    assert all(0 <= float(row["per_class_accuracy"]) <= 1 for row in steps)


def test_single_runs_map_the_rows_where_a_method_projects_them(call, tmp_path):
    done = call("run", "-m", "mfmr-joint(iterations=5)", "--test", "-q", "--export", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "projection.png").stat().st_size > 10_000
    assert len(rows_of(tmp_path / "out" / "replicates.csv")) == 1000


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
