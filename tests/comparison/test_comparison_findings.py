"""Rows of a comparison become facts, and looks at a test split that nothing has chosen are counted once each."""

from __future__ import annotations

import json

from zslplat.comparison.findings import comparison_findings, row_facts, unchosen_looks
from zslplat.settings import resolve_settings
from zslplat.tracking.stores import existing_records


def row(method, **more):
    known = {"baseline": "eszsl", "verdict": "level", "knows": "nothing", "from_memory": False, "code": ""}
    return {"method": method, **known, **more}


def test_findings_are_those_of_the_rows(tmp_path):
    settings = resolve_settings({"store": tmp_path})
    rows = [row("eszsl", trials=20, test_seconds=0.5), row("mfmr", trials=60, test_seconds=9.0, code="mixed")]
    findings = comparison_findings(settings, rows, task="zsl", dataset="digit-pairs", metric="per_class_accuracy")
    assert [finding.code for finding in findings] == ["ZSP301", "ZSP304", "ZSP305"]
    assert {finding.subject for finding in findings} == {"task zsl on digit-pairs"}
    # A leaderboard alone knows less, and nothing is made up.
    assert row_facts(row("eszsl")).trials is None
    bare = [row("eszsl"), row("gfhf", knows="transductive")]
    findings = comparison_findings(settings, bare, task="zsl", dataset="digit-pairs", metric="per_class_accuracy")
    assert [finding.code for finding in findings] == ["ZSP306"]


def test_looks_are_settings_that_no_study_has_chosen(call, tmp_path):
    def carried_out(*arguments):
        done = call(*arguments, "-d", "marked", "--workers", 1, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    carried_out("tune", "-m", "plain(mix=0.5)", "--trials", 1, "--repeats", 1)
    carried_out("run", "-m", "plain(mix=0.25)", "--test")
    carried_out("run", "-m", "plain(mix=0.25)")
    carried_out("sweep", "-m", "plain", "-p", "ridge", "--range", "1..100:log", "--points", 3)
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    records = existing_records(settings, lambda text: None)
    data = next(content["setting"]["data"] for _, _, content in records.all_evaluations() if "setting" in content)
    assert unchosen_looks(records, data, "zsl") == 1 + 3
    assert unchosen_looks(records, data, "gzsl") == 0
    records.close()
