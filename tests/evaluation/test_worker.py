"""Workers' processes come from one fork server of zslplat's own, and are replaced when they, or it, are killed."""

import subprocess
import sys
from multiprocessing import forkserver

import psutil
import pytest
from commands import runs
from support import install_distribution

from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.code import CodeReader
from zslplat.evaluation.jobs import Limits, PrepareJob, WorkerSettings
from zslplat.evaluation.workers import worker as worker_module
from zslplat.evaluation.workers.worker import Worker
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.testing.truth_seekers import telling_nothing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each worker's process starts afresh")
JOB = PrepareJob("eszsl", {}, {}, "zsl", "nothing", "nowhere")


@pytest.fixture
def workers(tmp_path):
    made = [Worker(WorkerSettings(tmp_path)) for _ in range(2)]
    yield made
    for worker in made:
        worker.stop()


def answered(worker):
    answer = worker.run(JOB, Limits())
    assert "nothing cannot be read" in answer.reason
    (scorer,) = psutil.Process(worker._child.process.pid).children()
    return scorer


def fork_server_of(scorer):
    return scorer.parent().parent()


def test_all_workers_have_one_fork_server_and_others_keep_theirs(workers):
    theirs = forkserver._forkserver._forkserver_pid
    first, second = map(answered, workers)
    assert first.pid != second.pid
    assert fork_server_of(first).pid == fork_server_of(second).pid != theirs
    assert forkserver._forkserver._forkserver_pid == theirs
    (method_process,) = first.children()
    assert method_process.ppid() == first.pid


def test_a_worker_that_is_stopped_between_two_jobs_runs_the_second_no_more(workers):
    scorer = answered(workers[0])
    workers[0]._stopped = True  # by another thread, which has yet to end the process
    answer = workers[0].run(JOB, Limits())
    assert (answer.reason, answer.killed) == ("stopped", True)
    psutil.wait_procs([scorer], timeout=600)
    assert not runs(scorer)


TELLING = """
import os
from zslplat.api import MethodError, ZeroShotMethod, hookimpl


class Telling(ZeroShotMethod):
    def prepare_fit(self, X, y, S, *, space):
        raise MethodError(f"the mark is {os.environ['ZSLPLAT_TEST_MARK']}")

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ X[: len(S)].T


@hookimpl
def zslplat_methods():
    return {"telling": Telling}
"""


def test_plugins_and_environment_are_those_of_now(workers, tmp_path, monkeypatch):
    answered(workers[0])
    install_distribution(tmp_path, "zslplat-telling", "zslplat_telling", TELLING)
    monkeypatch.syspath_prepend(str(tmp_path))
    save_problem(tmp_path / "problem", ZeroShot().test(telling_nothing()))
    job = PrepareJob("telling", {}, {}, "zsl", "problem", "nowhere")
    monkeypatch.setenv("ZSLPLAT_TEST_MARK", "a new one")
    assert workers[1].run(job, Limits()).reason == "the mark is a new one"


def test_what_a_method_prints_is_in_the_log_of_workers(tmp_path, monkeypatch):
    printing = TELLING.replace("telling", "printing").replace("raise MethodError(f", "print(f")
    install_distribution(tmp_path, "zslplat-printing", "zslplat_printing", printing)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ZSLPLAT_TEST_MARK", "on paper")
    save_problem(tmp_path / "problem", ZeroShot().test(telling_nothing()))
    worker = Worker(WorkerSettings(tmp_path, tmp_path / "workers.log"))
    worker.run(PrepareJob("printing", {}, {}, "zsl", "problem", "nowhere"), Limits())
    guardian = psutil.Process(worker._child.process.pid)
    worker.stop()
    psutil.wait_procs([guardian], timeout=600)
    assert "the mark is on paper" in (tmp_path / "workers.log").read_text()


def test_a_process_that_starts_after_an_edit_refuses_and_one_that_started_before_goes_on(
    workers, tmp_path, monkeypatch
):
    install_distribution(tmp_path, "zslplat-edited", "zslplat_edited", TELLING.replace("telling", "edited"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ZSLPLAT_TEST_MARK", "this")
    save_problem(tmp_path / "problem", ZeroShot().test(telling_nothing()))
    sources = {"zslplat_edited": CodeReader().digest({"zslplat_edited"})}
    job = PrepareJob("edited", {}, {}, "zsl", "problem", "nowhere", sources=sources)
    assert workers[0].run(job, Limits()).reason == "the mark is this"
    (tmp_path / "zslplat_edited.py").write_text(TELLING.replace("telling", "edited").replace("X @ X", "-X @ X"))
    assert workers[0].run(job, Limits()).reason == "the mark is this"
    refused = workers[1].run(job, Limits())
    assert refused.fatal
    assert "zslplat_edited, or what it imports, was edited while this command ran" in refused.reason


@pytest.mark.long
def test_killed_processes_are_replaced(workers):
    scorer = answered(workers[0])
    server = fork_server_of(scorer)
    scorer.kill()
    again = answered(workers[0])
    assert again.pid != scorer.pid
    assert fork_server_of(again) == server
    server.kill()
    psutil.wait_procs([server, again], timeout=800)
    last = answered(workers[0])
    assert fork_server_of(last) != server


LEADER = """
import sys, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from zslplat.evaluation.workers import worker
worker.FORKED_WITH = ("takes_an_hour_to_import",)
from zslplat.evaluation.workers.pool import Workers
from zslplat.evaluation.jobs import Limits, PrepareJob, WorkerSettings

workers = Workers(1, WorkerSettings(Path(sys.argv[1])))
job = PrepareJob("eszsl", {}, {}, "zsl", "nothing", "nowhere")
runner = threading.Thread(target=lambda: workers.run([job], Limits()), daemon=True)
runner.start()
while not workers._workers:
    time.sleep(0.001)
workers.stop()
print("stopped")
"""


def test_processes_that_are_ended_as_they_start_are_started_again_for_a_while(workers, monkeypatch):
    """A fork server that was killed takes its time to end, and lets down who asks it meanwhile."""
    child, failed = worker_module.Child, []

    def let_down(place):
        if len(failed) < 4:
            failed.append(place)
            raise ConnectionResetError
        return child(place)

    monkeypatch.setattr(worker_module, "Child", let_down)
    monkeypatch.setattr(worker_module, "_START_PAUSES", (0.001,) * 5)
    answered(workers[0])
    assert len(failed) == 4
    failed.clear()
    monkeypatch.setattr(worker_module, "_START_PAUSES", (0.001,) * 2)
    answer = workers[1].run(JOB, Limits())
    assert (answer.result, answer.killed) == (None, True)
    assert "ended as it started" in answer.reason


@pytest.mark.long
def test_who_stops_while_the_first_process_starts_does_not_wait_for_its_imports(tmp_path):
    (tmp_path / "takes_an_hour_to_import.py").write_text("import time\ntime.sleep(3600)\n")
    done = subprocess.run([sys.executable, "-c", LEADER, str(tmp_path)], capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "stopped"


CHILD = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()']); print('started', flush=True); input()"
)


@pytest.mark.parametrize("ended", [False, True])
def test_a_worker_that_was_not_forked_is_killed_by_its_own_object_and_only_while_it_runs(monkeypatch, ended):
    """Windows gives what another kills an exit code of a crash, and the number of an ended process may be another's."""
    root = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    root.stdout.readline()
    (below,) = psutil.Process(root.pid).children()
    kill, killed = psutil.Process.kill, []
    monkeypatch.setattr(psutil.Process, "kill", lambda process: killed.append(process.pid) or kill(process))
    monkeypatch.setattr(worker_module, "FORKS", False)
    child = worker_module.Child.__new__(worker_module.Child)
    root.exitcode = 0 if ended else None
    child.process = root
    child.signal_end()
    assert killed == ([] if ended else [below.pid])
    if not ended:
        assert root.wait(600) == -9
        psutil.wait_procs([below], timeout=600)
        assert not runs(below)
    root.kill()
    root.communicate()
