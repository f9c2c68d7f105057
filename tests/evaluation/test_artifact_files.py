"""What a method has to show becomes files, whatever it is called."""

import csv

import numpy as np

from zslplat.evaluation.scoring.artifacts import write_artifacts
from zslplat.figures import Curve, Table
from zslplat.tasks.base import Outcome


def test_names_of_a_hundred_letters_of_three_bytes_become_files_of_their_own(tmp_path):
    first, second = "曲" * 100, "曲" * 99 + "線"
    outcome = Outcome({"accuracy": 0.5})
    outcome.tables = {first: Table({"a": [1]}), second: Table({"a": [2]})}
    outcome.figures = {first: Curve({"one": ([0, 1], [0.0, 1.0])}, "x", "y", first)}
    write_artifacts(tmp_path / "run", {second: np.eye(2)}, {}, outcome, 1000)
    tables = sorted((tmp_path / "run").glob("*.csv"))
    assert len(tables) == 2
    assert {next(csv.DictReader(path.open()))["a"] for path in tables} == {"1", "2"}
    assert len(list((tmp_path / "run").glob("*.png"))) == 1
    assert len(list((tmp_path / "run" / "matrices").glob("*.npy"))) == 1
