"""Rows of a comparison become facts, and looks at a test split that nothing has chosen are counted once each."""

from __future__ import annotations

import json

import pytest

from zslplat.checks.facts import RowFacts
from zslplat.comparison.leaderboard import OTHER_TEST_ROWS, row_facts, unchosen_looks, unequal
from zslplat.records.opening import existing_records
from zslplat.settings import resolve_settings


def row(method, **more):
    known = {"baseline": "eszsl", "verdict": "not enough data", "knows": "nothing", "from_memory": False, "code": ""}
    return {"method": method, **known, **more}


def test_facts_are_those_of_the_rows():
    tuned = row("mfmr(lam=0.001)", trials=60, test_seconds=9.0, code="mixed", data="d", test_rows="r", verdict="behind")
    facts = row_facts(tuned, {"mfmr(lam=0.001)": "mfmr", "eszsl": "eszsl"})
    assert facts == RowFacts("mfmr", 60, "r", "d", "mixed", 9.0, "behind", "nothing", False, "eszsl")
    # A leaderboard alone knows less, and nothing is made up.
    assert row_facts(row("eszsl")) == RowFacts("eszsl", verdict="not enough data", knows="nothing", baseline="eszsl")


def test_what_is_not_recorded_is_no_other_value():
    known = {"data": "d", "trials": None, "draws": None, "labels_exported": False, "code": ""}
    rows = [{**known, "test_rows": value} for value in (None, None, "a", "a", "b")]
    assert unequal(rows, "d", [True] * len(rows)) == ["", "", "", "", OTHER_TEST_ROWS]


@pytest.mark.long
def test_looks_are_settings_that_no_study_has_chosen(call, tmp_path):
    def carried_out(*arguments):
        done = call(*arguments, "-d", "marked", "--workers", 1, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    carried_out("tune", "-m", "plain(mix=0.5)", "--trials", 5, "--repeats", 1)
    carried_out("run", "-m", "plain(mix=0.25)", "--test")
    carried_out("run", "-m", "plain(mix=0.25)")
    carried_out("sweep", "-m", "plain", "-p", "ridge", "--range", "1..100:log", "--points", 3, "--test")
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    records = existing_records(settings, lambda text: None)
    data = next(content["experiment"]["data"] for _, _, content in records.all_evaluations() if "experiment" in content)
    assert unchosen_looks(records, data, "zsl") == 1 + 3
    assert unchosen_looks(records, data, "gzsl") == 0
    records.close()
    carried_out("tune", "-m", "plain(mix=0.25)", "--trials", 3, "--repeats", 1)
    shown = call("compare", "-d", "marked")
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("warning: ZSP301 unequal budgets")]
    assert "searched 5 trials" in line
    silent = call("compare", "-d", "marked", "--silence", "ZSP301", "--json")
    (result,) = json.loads(silent.stdout)
    assert "ZSP301" in {one["code"] for one in result["findings"]}
    assert not any(line.startswith("ZSP301") for line in result["warnings"])
    assert result["silenced"] == 1
