"""Every kind of trouble of a trial is its own: it has a reason, and the others go on."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from support import one_line, runs_of

pytestmark = pytest.mark.long

TROUBLES = {
    "segfault": "SIGSEGV",
    "glutton": r"0\.\d+ GiB, above its 0\.60 GiB|out of memory",
    "undefined": "NaN",
    "exits": "exit code 3",
    "raises": "^ValueError: this goes wrong$",
    "unrecordable": "type object is no number",
    "nothing": "^$",
}


def tune_troubles(call, kinds, *options):
    space = f"trouble={'|'.join(kinds)}"
    return call(
        *("tune", "--method", "trouble", "--dataset", "marked", "--sampler", "grid", "--space", space, "--json"),
        *("--trials", len(kinds), "--workers", 2, *options),
    )


def records_of(store):
    connection = sqlite3.connect(store / "optuna.db")
    texts = connection.execute("select value_json from trial_user_attributes where key = 'record'")
    return [json.loads(json.loads(text)) for (text,) in texts]


def test_every_kind_of_trouble_fails_its_own_trial_with_a_reason(call, tmp_path):
    # A grid takes the kinds in their order: what comes last comes after all that went wrong.
    done = tune_troubles(call, TROUBLES, "--memory", 1.5)
    assert done.returncode == 0, done.stderr
    records = records_of(tmp_path / "mlruns")
    for record in records:
        trouble = record["parameters"]["trouble"]
        assert re.search(TROUBLES[trouble], record["reason"]), record
        assert record["state"] == ("complete" if trouble == "nothing" else "failed")
    assert {record["parameters"]["trouble"] for record in records} == set(TROUBLES)
    assert records[-1]["parameters"]["trouble"] == "nothing"
    assert json.loads(done.stdout)["trials"] == {"complete": 1, "pruned": 0, "failed": 6}
    runs = runs_of(tmp_path / "mlruns")
    assert [runs[f"trial-{r['number']}"][0] for r in records] == [
        "FINISHED" if r["state"] == "complete" else "FAILED" for r in records
    ]


def test_trials_without_end_are_stopped_at_their_deadline(call, tmp_path):
    done = tune_troubles(call, ("endless", "stuck"), "--trial-timeout", 3)
    one_line(done, 1, "all 2 trials failed", "deadline of 3 s")
    records = records_of(tmp_path / "mlruns")
    assert {record["parameters"]["trouble"] for record in records} == {"endless", "stuck"}
    for record in records:
        assert record["state"] == "failed"
        assert "deadline of 3 s" in record["reason"]
