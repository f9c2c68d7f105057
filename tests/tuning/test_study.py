"""Properties of a study: the same trials whatever the workers and interruptions, no leak, no loss."""

from __future__ import annotations

import json
import sqlite3

import pytest
from support import REFERENCE, runs_of, trials_of

pytestmark = pytest.mark.long

COMMON = (*REFERENCE, "--workers", 1)


def test_the_result_is_above_chance_and_its_trials_are_nested(reference):
    store, result = reference
    assert result["validation"]["per_class_accuracy"] > result["chance"] + 0.1
    assert len(result["test"]) == 5
    runs = runs_of(store)
    assert set(runs) == {
        "study",
        *(f"trial-{i}" for i in range(12)),
        *(f"trial-{result['winner']}/repeat-{r}" for r in range(5)),
    }
    assert {status for status, _ in runs.values()} == {"FINISHED"}
    connection = sqlite3.connect(store / "mlflow.db")
    parents = connection.execute("select count(*) from tags where key = 'mlflow.parentRunId'").fetchone()[0]
    assert parents == 12  # final evaluations stand beside their study


@pytest.mark.parametrize("workers", [1, 4])
def test_trials_do_not_depend_on_the_number_of_workers(reference, call, tmp_path, workers):
    done = call(*REFERENCE, "--trials", 12, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(reference[0])
    assert json.loads(done.stdout)["test"] == reference[1]["test"]


def test_an_extended_study_equals_a_long_one(reference, call, tmp_path):
    assert call(*COMMON, "--trials", 5).returncode == 0
    done = call(*COMMON, "--trials", 12)
    assert done.returncode == 0, done.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(reference[0])
    assert json.loads(done.stdout)["test"] == reference[1]["test"]


def test_without_repeats_the_test_split_is_left_alone_until_it_is_asked_for(reference, call, tmp_path):
    done = call(*COMMON, "--trials", 12, "--repeats", 0)
    result = json.loads(done.stdout)
    assert (result["test"], result["test_evaluations"], result["final_run_ids"]) == ([], 0, [])
    assert "warning: listener" not in done.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(reference[0])
    assert {status for status, _ in runs_of(tmp_path / "mlruns").values()} == {"FINISHED"}
    words = [word for word in COMMON if word != "--json"]
    assert "not tested (--repeats 0)" in call(*words, "--trials", 12, "--repeats", 0).stdout
    done = call(*COMMON, "--trials", 12)
    assert json.loads(done.stdout)["test"] == reference[1]["test"]


@pytest.mark.parametrize("command", [("tune", "--class-folds", 5), ("cross-validate", "--task", "coding")])
def test_what_is_scored_by_its_tests_is_refused_without_them(call, tmp_path, command):
    done = call(*command, "--method", "plain", "--dataset", "marked", "--repeats", 0)
    assert (done.returncode, "--repeats 0 tests nothing" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "mlruns" / "studies").exists()


def test_another_seed_gives_other_trials(reference, call, tmp_path):
    assert call(*COMMON, "--trials", 4, "--seed", 1).returncode == 0
    assert trials_of(tmp_path / "mlruns")[:4] != trials_of(reference[0])[:4]


@pytest.mark.parametrize("change", ["noise_seed=1", "permuted=3"])
def test_tuning_decisions_do_not_see_the_test_split(reference, call, tmp_path, change):
    dataset = f"marked({change})"
    done = call("tune", "--method", "plain", "--dataset", dataset, "--json", "--trials", 12, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(reference[0])
    assert json.loads(done.stdout)["test"] != reference[1]["test"]


def test_a_spying_method_finds_no_test_data(call, tmp_path):
    done = call(
        *("tune", "--method", "spy", "--dataset", "marked(marked=1)"),
        *("--trials", 2, "--repeats", 1, "--workers", 1, "--json"),
    )
    # The search succeeds, so nothing was found; the refit is given the test rows to score, and sees them.
    trials = trials_of(tmp_path / "mlruns")
    assert [t[1] for t in trials] == ["COMPLETE", "COMPLETE"], done.stderr
    assert "found" in done.stderr


def test_a_failing_trial_is_recorded_with_its_reason_and_ends_nothing(call, tmp_path):
    done = call(*COMMON, "--set", "fail_above=0.5", "--trials", 12)
    assert done.returncode == 0, done.stderr
    states = [t[1] for t in trials_of(tmp_path / "mlruns")]
    assert {"COMPLETE", "FAIL"} == set(states)
    assert json.loads(done.stdout)["trials"]["failed"] == states.count("FAIL")
    connection = sqlite3.connect(tmp_path / "mlruns" / "mlflow.db")
    reasons = [row[0] for row in connection.execute("select value from tags where key = 'zslplat.reason'")]
    assert len(reasons) == states.count("FAIL")
    assert all("more than this method can take" in reason for reason in reasons)


@pytest.mark.parametrize(("fixed", "searched"), [((), True), (("--set", "form=plain"), False)])
def test_conditions_hold_for_defaults_too(call, tmp_path, fixed, searched):
    done = call("tune", "-m", "conditional", "-d", "marked", "--trials", 2, "--workers", 1, *fixed)
    assert done.returncode == 0, done.stderr
    # Where the condition does not hold there is nothing to search.
    assert [("mix" in t[2]) for t in trials_of(tmp_path / "mlruns")] == ([True, True] if searched else [False])


def test_a_fixed_seed_leaves_nothing_to_repeat(call):
    done = call(*COMMON, "--trials", 1, "--set", "seed=3", "--repeats", 3)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["test"]) == 1
