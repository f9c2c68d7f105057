"""A study whose leader, worker or child is killed ends with the same trials, test scores and runs."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from support import REFERENCE, evaluations_of, runs_of, trials_of

pytestmark = pytest.mark.long

TRIALS = ("--trials", 12)
# Where the leader is killed: after this many lines of progress have been seen, and this many seconds more.
POINTS = [(1, 0.0), (2, 0.3), (5, 0.0), (6, 0.1), (6, 0.3), (3, 0.0), (4, 0.2), (5, 0.4), (3, 0.9), (6, 0.1)]


def check_same(store, result, reference):
    expected_store, expected = reference
    assert trials_of(store) == trials_of(expected_store)
    assert evaluations_of(store) == evaluations_of(expected_store)
    assert result["test"] == expected["test"]
    assert runs_of(store) == runs_of(expected_store)


def test_leader_killed_at_ten_points(reference, leader, call, tmp_path):
    killed = 0
    arguments = [a for a in REFERENCE if a != "--json"]
    for number, (lines, pause) in enumerate(POINTS):
        # Later trials are longer, so that a kill that comes late still finds something to do.
        workers, seconds = (2 if number % 5 == 4 else 1), ("0.1" if number < 4 else "0.4")
        running = leader(*arguments, *TRIALS, "--workers", workers, TROUBLE_PAUSE=seconds)
        running.wait_for_lines(lines)
        time.sleep(pause)
        killed += running.process.is_alive()
        # Nobody is left behind: workers and children end when the leader is gone.
        running.kill()
    assert killed >= 5
    done = call(*REFERENCE, *TRIALS, "--workers", 1)
    assert done.returncode == 0, done.stderr
    check_same(tmp_path / "mlruns", json.loads(done.stdout), reference)


@pytest.mark.parametrize("victims", ["guardians", "workers", "children"])
def test_a_worker_its_child_or_its_guardian_killed(reference, leader, tmp_path, victims):
    running = leader(*REFERENCE, *TRIALS, "--workers", 2, TROUBLE_PAUSE="0.1")
    killed, end = set(), time.monotonic() + 800
    while running.process.is_alive() and len(killed) < 2 and time.monotonic() < end:
        time.sleep(0.1)
        found = [p.pid for p in getattr(running, victims)() if p.pid not in killed]
        if found and (not killed or trials_of(tmp_path / "mlruns")):
            os.kill(found[0], signal.SIGKILL)
            killed.add(found[0])
    done = running.wait(800)
    assert done.returncode == 0, done.stderr
    assert killed
    check_same(tmp_path / "mlruns", json.loads(done.stdout), reference)
