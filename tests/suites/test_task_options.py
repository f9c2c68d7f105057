"""Tasks of a suite are what their options say, however these are written."""

import json

import pytest

from zslplat.spec import Spec

UNSORTED = """
tasks = ["zsl(top_k=3, folds=2)"]
[metrics]
zsl = ["per_class_accuracy"]
[[data]]
name = "toy"
dataset = "marked"
[[row]]
name = "plain"
method = "plain(mix=0.3, ridge=1)"
"""


@pytest.mark.long
def test_options_of_a_task_stand_in_any_order(call, tmp_path):
    (tmp_path / "suite.toml").write_text(UNSORTED)
    done = call("bench", "suite.toml", "--json", "--trials", 1, "--repeats", 1, "--workers", 1)
    assert done.returncode == 0, done.stdout
    (score,) = json.loads(done.stdout)["scores"]
    assert score["task"] == "zsl(top_k=3, folds=2)"
    assert str(Spec.parse(score["task"])) == "zsl(folds=2, top_k=3)"
    assert score["test"] > 0
