"""Results are JSON that every reader takes: JSON has no numbers that are not finite."""

import json
from pathlib import Path

import numpy as np

from zslplat.cli.invocation import print_json
from zslplat.comparison.compare import Comparison
from zslplat.comparison.exports import export_each


def strictly(text):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_are_not_finite_are_null_wherever_they_stand(capsys):
    odd = float("nan"), float("inf"), -float("inf"), np.float64("nan"), 0.1, 3, None, True
    print_json({"a": odd, "b": [{"c": odd[0]}], "d": Path("x")})
    found = strictly(capsys.readouterr().out)
    assert found == {"a": [None, None, None, None, 0.1, 3, None, True], "b": [{"c": None}], "d": "x"}


def test_files_of_a_comparison_are_such_json_too(tmp_path):
    rows = [{"dataset": "a", "test": 0.5, "low": float("nan")}]
    export_each([Comparison("zsl", ("a",), "mAP", True, rows)], tmp_path / "table.json")
    (written,) = strictly((tmp_path / "table.json").read_text())
    assert written["rows"] == [{"dataset": "a", "test": 0.5, "low": None}]
