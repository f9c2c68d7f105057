"""What a job starts ends with it, however it hides: no process is left, and its memory counts."""

import re
import sys
import threading
import time

import psutil
import pytest
from breeding_toys import BREEDER, MARK, QUIET, STARTED, job, left
from support import install_distribution

from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.jobs import Limits, WorkerSettings
from zslplat.evaluation.workers.worker import Worker
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.testing.truth_seekers import telling_nothing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no adoption of orphans")

KILLED = "its process was ended by SIGKILL"


@pytest.fixture
def worker(tmp_path, monkeypatch):
    install_distribution(tmp_path, "zslplat-breeder", "zslplat_breeder", BREEDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(MARK, str(tmp_path))
    save_problem(tmp_path / "problem", ZeroShot().test(telling_nothing()))
    made = Worker(WorkerSettings(tmp_path))
    yield made
    made.stop()


@pytest.mark.parametrize("way", QUIET)
def test_nothing_that_a_job_starts_outlives_it(worker, tmp_path, way):
    for _ in range(2):
        assert worker.run(job(way), Limits()).reason == STARTED
        assert left(str(tmp_path), worker) == []


def test_joblib_works_inside_and_leaves_nothing(worker, tmp_path):
    before = set(psutil.pids())
    assert worker.run(job("joblib_inside"), Limits()).reason == STARTED
    assert worker._child is None  # replaced: its pool would have been there for the next job
    assert not [p for p in set(psutil.pids()) - before if "loky" in " ".join(command_of(p))]


def command_of(pid):
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "reason"),
    [("kill_parent", KILLED), ("kill_group", KILLED), ("kill_itself", KILLED), ("exits", "exit code 3")],
)
def test_a_job_that_ends_its_own_processes_fails_with_its_reason(worker, tmp_path, way, reason):
    answer = worker.run(job(way), Limits())
    assert answer.result is None
    assert reason in answer.reason
    assert not answer.fatal
    assert left(str(tmp_path), worker) == []
    assert worker.run(job("plain"), Limits()).reason == STARTED


def test_the_deadline_ends_all_that_a_job_started(worker, tmp_path):
    assert "deadline" in worker.run(job("hangs"), Limits(seconds=1)).reason
    assert left(str(tmp_path), worker) == []


@pytest.mark.long
def test_the_memory_of_all_that_a_job_started_counts(worker, tmp_path):
    answer = worker.run(job("hoard"), Limits(seconds=120, bytes=500_000_000))
    assert re.search(r"GiB, above its .* GiB; more --memory, or fewer --workers", answer.reason)
    assert left(str(tmp_path), worker) == []


def test_what_a_job_started_ends_with_the_worker(worker, tmp_path):
    thread = threading.Thread(target=worker.run, args=(job("hangs"), Limits()))
    thread.start()
    while not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in (p.info["cmdline"] or [])]:
        time.sleep(0.02)
    worker.stop()
    thread.join(800)
    assert not thread.is_alive()
    assert left(str(tmp_path), worker) == []
