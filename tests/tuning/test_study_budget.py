"""What a study is allowed: trials as asked for, one where nothing is searched, time per trial but not for the end."""

from __future__ import annotations

import json
import time

import pytest
from support import evaluations_of, one_line, trials_of


def test_a_grid_never_has_more_trials_than_asked_for(call, new_store):
    wide = ("tune", "-m", "idle", "-d", "marked", "--sampler", "grid", "--space", "fail_above=0..1")
    one_line(call(*wide, "--trials", 5), 2, "343 points", "--trials is 5", "--trials 343", "--space", "--set")
    huge = (*wide, "--space", "seed=0..99")
    one_line(call(*huge), 2, "2401 points", "more than 1000 must be asked for")
    assert not (new_store() / "studies").exists() or trials_of(new_store()) == []


@pytest.mark.long
def test_a_small_grid_is_searched_whole(call, tmp_path):
    grid = ("tune", "-m", "idle(ridge=1)", "-d", "marked", "--sampler", "grid", "--repeats", 1)
    done = call(*grid, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert len({trial[2]["mix"] for trial in trials_of(tmp_path / "mlruns")}) == 7


@pytest.mark.long
def test_a_method_with_nothing_to_search_takes_one_trial(call, tmp_path):
    done = call("tune", "-m", "plain(ridge=1,mix=0.5)", "-d", "marked", "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert len(trials_of(tmp_path / "mlruns")) == 1
    assert json.loads(done.stdout)["trials"] == {"complete": 1, "pruned": 0, "failed": 0}
    assert "does not matter" not in done.stderr


@pytest.mark.long
def test_the_time_of_a_trial_does_not_stop_the_final_evaluation(call, tmp_path):
    slow = ("tune", "-m", "slow-final(pause=4)", "-d", "marked", "--trials", 1, "--repeats", 1, "--workers", 1)
    done = call(*slow, "--trial-timeout", 3)
    assert done.returncode == 0, done.stderr
    assert list(evaluations_of(tmp_path / "mlruns")) == ["trial-0/repeat-0"]


@pytest.mark.long
def test_a_clock_that_is_set_does_not_end_a_study(call, tmp_path, monkeypatch):
    true = time.time
    looks = iter(range(10**9))
    # A day passes after the command has looked at the clock for the first time.
    monkeypatch.setattr(time, "time", lambda: true() + (86400 if next(looks) else 0))
    done = call("tune", "-m", "plain", "-d", "marked", "--trials", 2, "--timeout", 3600, "--workers", 1, "-q", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    assert len(trials_of(tmp_path / "mlruns")) == 2
