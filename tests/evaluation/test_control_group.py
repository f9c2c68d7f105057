"""Control groups: made where the system allows it, ended whole, removed; without them a search ends what started."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from zslplat.evaluation.workers.guardian import ControlGroup

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux'")

# Each process has two successors, 64 in all: all of them in sessions of their own, and deaf.
BREEDER = """
import os, signal, sys, time
from pathlib import Path
from zslplat.evaluation.workers.guardian import ControlGroup
ControlGroup(Path(sys.argv[1])).join()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("in", flush=True)
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
time.sleep(600)
"""
SWEEPER = """
import os, subprocess, sys, time
import psutil
from zslplat.evaluation.workers.guardian import end_descendants
from zslplat.evaluation.workers.processes import adopt_orphans
adopt_orphans()
hop = "import os, time\\nwhile True:\\n    time.sleep(0.002)\\n    if os.fork(): os._exit(0)\\n    os.setsid()\\n"
many = "import os, time\\nfor _ in range(5):\\n    if os.fork() == 0: os.setsid()\\ntime.sleep(600)\\n"
for code in (hop, many):
    subprocess.Popen([sys.executable, "-c", code])
time.sleep(0.2)
end_descendants()
print(len(psutil.Process().children(recursive=True)))
"""


@pytest.fixture
def group():
    made = ControlGroup.made()
    if made is None:
        pytest.skip("no control group can be made here")
    yield made
    made.end(10)


def test_all_of_a_group_ends_at_once_and_the_group_is_removed(group):
    breeder = subprocess.Popen([sys.executable, "-c", BREEDER, str(group.folder)], stdout=subprocess.PIPE)
    assert breeder.stdout.readline() == b"in\n"
    time.sleep(0.05)
    members = (group.folder / "cgroup.procs").read_text().split()
    assert str(breeder.pid) in members
    group.end(10)
    assert breeder.wait() < 0
    assert [pid for pid in members if psutil.pid_exists(int(pid)) and running(int(pid))] == []
    assert not group.folder.exists()


def running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_empty_group_of_a_killed_process_is_removed_by_the_next(group):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = group.folder.parent / f"zslplat-{ended.pid}"
    stale.mkdir()
    group.remove()
    again = ControlGroup.made()
    assert again is not None
    assert not stale.exists()


def test_where_no_group_can_be_made_there_is_none(tmp_path):
    assert ControlGroup.made(tmp_path) is None
    assert ControlGroup.made(tmp_path / "missing") is None
    (tmp_path / "cgroup.procs").touch()  # as before Linux 5.14: nothing kills a group
    assert ControlGroup.made(tmp_path) is None
    assert not (tmp_path / f"zslplat-{os.getpid()}").exists()


def test_without_a_group_a_search_ends_what_hops_from_process_to_process():
    told = subprocess.run([sys.executable, "-c", SWEEPER], capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"
