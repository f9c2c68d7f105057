"""A study whose leader, worker or child is killed ends with the same trials, test scores and runs."""

from __future__ import annotations

import json
import os
import signal
import time

import psutil
import pytest
from test_study import COMMON, evaluations_of, reference, runs_of, trials_of

__all__ = ["reference"]
TRIALS = ("--trials", "12", "--workers", "2")
# Where the leader is killed: after this many lines of progress have been seen, and this many seconds more.
POINTS = [(1, 0.0), (3, 0.2), (7, 0.0), (8, 0.1), (10, 0.0), (2, 0.4), (3, 0.9), (4, 0.05), (5, 0.3), (6, 0.6)]


def kill_at(process, lines, pause):
    """Kill the process once it has printed so many lines; tell whether it was still running."""
    for _ in range(lines):
        if not process.stderr.readline():
            break
    time.sleep(pause)
    alive = process.poll() is None
    children = psutil.Process(process.pid).children(recursive=True) if alive else []
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Nobody is left behind: workers and children end when the leader is gone.
    _, left = psutil.wait_procs([c for c in children if "resource_tracker" not in " ".join(_command(c))], timeout=5)
    assert not left
    return alive


def _command(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def check_same(store, result, reference):
    expected_store, expected = reference
    assert trials_of(store) == trials_of(expected_store)
    assert evaluations_of(store) == evaluations_of(expected_store)
    assert result["test"] == expected["test"]
    assert runs_of(store) == runs_of(expected_store)


def test_leader_killed_at_ten_points(reference, start_program, program, tmp_path):
    killed = 0
    arguments = [a for a in COMMON if a != "--json"]
    for lines, pause in POINTS:
        killed += kill_at(start_program(*arguments, *TRIALS), lines, pause)
    assert killed >= 8
    done = program(*COMMON, *TRIALS)
    assert done.returncode == 0, done.stderr
    check_same(tmp_path / "mlruns", json.loads(done.stdout), reference)


@pytest.mark.parametrize("depth", ["worker", "child"])
def test_worker_or_child_killed(reference, start_program, tmp_path, depth):
    process = start_program(*COMMON, *TRIALS, "--set", "pause=0.02")
    killed, end = set(), time.monotonic() + 100
    while process.poll() is None and len(killed) < 2 and time.monotonic() < end:
        time.sleep(0.3)
        victims = [p for p in _tree(process.pid, depth) if p.pid not in killed]
        if victims and (tmp_path / "mlruns" / "optuna.db").exists():
            os.kill(victims[0].pid, signal.SIGKILL)
            killed.add(victims[0].pid)
            time.sleep(2.0)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert killed
    found = trials_of(tmp_path / "mlruns")
    expected = trials_of(reference[0])
    assert len(found) == len(expected)
    runs = runs_of(tmp_path / "mlruns")
    assert not [key for key, (status, _) in runs.items() if status == "RUNNING"]
    assert [(t[1], t[3], t[4]) for t in found] == [(t[1], t[3], t[4]) for t in expected]
    assert evaluations_of(tmp_path / "mlruns") == evaluations_of(reference[0])


def _tree(pid, depth):
    try:
        leader = psutil.Process(pid)
        workers = [p for p in leader.children() if "spawn_main" in " ".join(_command(p))]
        if depth == "worker":
            return workers
        return [c for w in workers for c in w.children() if "spawn_main" in " ".join(_command(c))]
    except psutil.Error:
        return []
