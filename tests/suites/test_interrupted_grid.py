"""A suite that is stopped leaves the tables of what is done, as a finished one does."""

import csv

import pytest

from zslplat.evaluation.reporter import Interrupted
from zslplat.suites import runners

SUITE = """
trials = 1
repeats = 1
workers = 1
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
[[data]]
name = "toy"
dataset = "marked"
[[row]]
name = "plain"
method = "plain(mix=0.3)"
[[row]]
name = "weighted"
method = "plain"
"""


@pytest.mark.long
def test_tables_of_what_is_done_are_written_on_ctrl_c(call, tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(SUITE)
    compute = runners.PieceRunner._compute

    def stopped(self, piece, cell, parameters):
        if cell.row == "weighted":
            raise Interrupted("stopped")
        compute(self, piece, cell, parameters)

    monkeypatch.setattr(runners.PieceRunner, "_compute", stopped)
    done = call("bench", "mine.toml", "--out", "tables")
    assert done.returncode == 130, done.stderr
    with open(tmp_path / "tables" / "scores.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(line["row"], line["task"]) for line in lines] == [("plain", "zsl"), ("plain", "retrieval")]
