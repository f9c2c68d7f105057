"""What a method says or answers that cannot be shown, recorded or written fails its trial, and nothing else."""

from __future__ import annotations

import json
import re

import pytest
from support import records_of, runs_of

NAMED = r"of the method is named .*; expected 1 to 100 letters"
EXPECTED = {
    "sound": "^$",
    "warns": "^$",
    "unspeakable": "^Unspeakable: its text cannot be made: RuntimeError$",
    "unprintable": r"^ValueError: lone \\ud800, \\x00 and \\x1b\[31m$",
    "long": r"^ValueError: x{1000}\.\.\. \(20000000 characters\)$",
    "complex": "returned scores of type complex128; expected real numbers",
    "objects": "returned scores of type object; expected real numbers|no number",
    "texts": "returned scores of type <U32; expected real numbers",
    "m": f"^a matrix {NAMED}",
    "d": f"^a diagnostic {NAMED}",
}


@pytest.mark.long
def test_odd_texts_names_and_numbers_fail_their_trials_cleanly(call, tmp_path):
    kinds = [*(kind for kind in EXPECTED if len(kind) > 1), "path-d", "path-m", "endless-m"]
    outside = {path for path in tmp_path.rglob("*") if "mlruns" not in path.parts}
    done = call(
        *("tune", "-m", "odd", "-d", "marked", "--sampler", "grid", "--space", f"odd={'|'.join(kinds)}"),
        *("--repeats", 1, "--workers", 1, "--memory", 2, "--json"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 50_000
    records = {record["parameters"]["odd"]: record for record in records_of(tmp_path / "mlruns")}
    assert set(records) == set(kinds)
    for kind, record in records.items():
        expected = EXPECTED.get(kind) or EXPECTED[kind[-1]]
        assert re.search(expected, record["reason"]), (kind, record["reason"][:500])
        assert record["state"] == ("complete" if expected == "^$" else "failed")
    (warning,) = records["warns"]["warnings"]
    assert warning["text"].startswith(r"lone \ud800, \x00 and \x1b[31myyy")
    assert len(warning["text"]) < 400
    statuses = [status for status, _ in runs_of(tmp_path / "mlruns").values()]
    assert set(statuses) == {"FINISHED", "FAILED"}
    assert {path for path in tmp_path.rglob("*") if "mlruns" not in path.parts} == outside
    shown = call("compare", "-d", "marked")
    assert shown.returncode == 0, shown.stderr


def test_a_figure_by_a_name_that_is_a_path_is_refused(call, tmp_path):
    done = call("run", "-m", "odd(odd=path-f)", "-d", "marked", "--workers", 1)
    assert done.returncode == 1
    assert re.search(f"a figure {NAMED}", done.stderr), done.stderr
    assert not list(tmp_path.rglob("*etc*"))


@pytest.mark.long
def test_a_figure_that_cannot_be_drawn_costs_a_warning(call, tmp_path):
    done = call("tune", "-m", "odd(odd=torn-f)", "-d", "marked", "--trials", 1, "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["test"]) == 1
    (line,) = [line for line in result["warnings"] if line.startswith("ZSP200")]
    assert line.startswith("ZSP200 test: the picture plain.png is not drawn: ValueError: x and y must have same first")
    assert list(tmp_path.rglob("confusion.png"))
    assert not list(tmp_path.rglob("plain.png"))
