"""What a job starts ends with it, however it hides: no process is left, and its memory counts."""

import pickle
import sys
import threading
import time

import psutil
import pytest
from support import install_distribution

from zslplat.evaluation.jobs import save_problem
from zslplat.evaluation.wanted import Place, PrepareJob
from zslplat.evaluation.worker import Limits, Worker
from zslplat.tasks.zsl import ZeroShot
from zslplat.testing.truth_seekers import telling_nothing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no adoption of orphans")

BREEDER = """
import os, signal, subprocess, sys, time
import numpy as np
from zslplat.api import Choice, MethodError, Parameter, ZeroShotMethod, hookimpl

SLEEP = "import time, sys; sys.argv; time.sleep(600)"
HOARD = "import time; hoard = b'x' * 600_000_000; time.sleep(600)"


def busy(*names):
    return subprocess.Popen([sys.executable, "-c", SLEEP, *names])


def plain(mark):
    busy(mark)


def session(mark):
    subprocess.Popen([sys.executable, "-c", SLEEP, mark], start_new_session=True)


def grandchild(mark):
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}, {mark!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)


def double_fork(mark):
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.execv(sys.executable, [sys.executable, "-c", SLEEP, mark])
        os._exit(0)
    os.waitpid(first, 0)


def double_fork_alone(mark):
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            time.sleep(600)
        os._exit(0)
    os.waitpid(first, 0)


def deaf(mark):
    code = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; " + SLEEP
    subprocess.Popen([sys.executable, "-c", code, mark], start_new_session=True)


def breeding(mark):
    # Each process leaves its session and has two successors: 256 of them when nobody stops it.
    code = (
        "import os, sys, time\\n"
        "for _ in range(8):\\n"
        "    if os.fork() == 0:\\n"
        "        os.setsid()\\n"
        "    time.sleep(0.001)\\n"
        "time.sleep(600)\\n"
    )
    subprocess.Popen([sys.executable, "-c", code, mark])


def hopping(mark):
    # Whoever looks finds a process that ends, and misses its successor.
    code = (
        "import os, sys, time\\n"
        "for _ in range(5000):\\n"
        "    time.sleep(0.001)\\n"
        "    if os.fork(): os._exit(0)\\n"
        "    os.setsid()\\n"
        "time.sleep(600)\\n"
    )
    for _ in range(2):
        subprocess.Popen([sys.executable, "-c", code, mark])


def joblib_inside(mark):
    from joblib import Parallel, delayed
    found = Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))
    assert os.getpid() not in found


def hoard(mark):
    subprocess.Popen([sys.executable, "-c", HOARD, mark], start_new_session=True)
    time.sleep(600)


def kill_parent(mark):
    session(mark)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def kill_group(mark):
    session(mark)
    os.killpg(0, signal.SIGKILL)


def kill_itself(mark):
    session(mark)
    os.kill(os.getpid(), signal.SIGKILL)


def exits(mark):
    session(mark)
    os._exit(3)


def hangs(mark):
    session(mark)
    time.sleep(600)


WAYS = {f.__name__: f for f in (plain, session, grandchild, double_fork, double_fork_alone, deaf, breeding,
        hopping, joblib_inside, hoard, kill_parent, kill_group, kill_itself, exits, hangs)}


class Breeder(ZeroShotMethod):
    parameters = {"way": Parameter("how it starts processes", Choice(tuple(WAYS)))}

    def __init__(self, way="plain"):
        self.way = way

    def prepare_fit(self, X, y, S, *, space):
        WAYS[self.way](os.environ["ZSLPLAT_TEST_MARK"])
        raise MethodError("it has started them")

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ X[: len(S)].T


@hookimpl
def zslplat_methods():
    return {"breeder": Breeder}
"""
STARTED = "it has started them"
QUIET = ("plain", "session", "grandchild", "double_fork", "double_fork_alone", "deaf", "breeding", "hopping")
KILLED = "its process was ended by SIGKILL"


@pytest.fixture
def worker(tmp_path, monkeypatch):
    install_distribution(tmp_path, "zslplat-breeder", "zslplat_breeder", BREEDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ZSLPLAT_TEST_MARK", str(tmp_path))
    save_problem(tmp_path / "problem", ZeroShot().test(telling_nothing()))
    made = Worker(Place(tmp_path))
    yield made
    made.stop()


def job(way):
    return pickle.dumps(PrepareJob("breeder", {"way": way}, {}, "zsl", "problem", "nowhere"))


def left(mark, worker):
    """Return what runs and was started by a job: by the mark on its command line, or below a worker that is idle."""
    found = [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]
    if worker._child is not None:
        guardian = psutil.Process(worker._child.process.pid)
        found += [p for p in guardian.children(recursive=True) if p not in known(worker)]
    return found


def known(worker):
    return [psutil.Process(pid) for pid in worker._child.memory._known]


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


def test_the_memory_of_all_that_a_job_started_counts(worker, tmp_path):
    answer = worker.run(job("hoard"), Limits(seconds=120, bytes=500_000_000))
    assert "GiB, above its" in answer.reason
    assert left(str(tmp_path), worker) == []


def test_what_a_job_started_ends_with_the_worker(worker, tmp_path):
    thread = threading.Thread(target=worker.run, args=(job("hangs"), Limits()))
    thread.start()
    while not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in (p.info["cmdline"] or [])]:
        time.sleep(0.02)
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert left(str(tmp_path), worker) == []
