"""A cluster gives what local workers give, whatever its workers and its scheduler go through."""

import json
import os
import re
import signal
import threading
import time
from types import SimpleNamespace

import psutil
import pytest
from cluster_toys import DaskCluster, free_port, require_dask
from commands import runs
from support import REFERENCE, evaluations_of, one_line, records_of, trials_of

from zslplat_dask import worker as cluster_worker
from zslplat_dask.cluster import Cluster

require_dask()
pytestmark = [pytest.mark.services, pytest.mark.long]
DECLARATIONS = tuple(argument for argument in REFERENCE if argument != "--json")  # which is silent


@pytest.fixture
def new_cluster(tmp_path_factory, program_environment):
    made = []

    def make():
        made.append(DaskCluster(tmp_path_factory.mktemp("cluster"), program_environment))
        made[-1].start_scheduler()
        return made[-1]

    yield make
    for cluster in made:
        cluster.stop()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory, program_environment):
    """Two workers in separate folders: a nanny's, with two threads, and one by itself."""
    cluster = DaskCluster(tmp_path_factory.mktemp("cluster"), program_environment)
    cluster.start_scheduler()
    cluster.start_worker("nannied", "--nthreads", 2)
    cluster.start_worker("alone", "--no-nanny")
    cluster.wait_for_workers(2)
    yield cluster
    cluster.stop()


def files_of(store):
    """Return the files that evaluations left in a store, and the contents of matrices; folders are named by run.

    Scores per class are computed where a command shows them, which one with --json does not.
    """
    files = [path for kind in ("evaluations", "artifacts") for path in (store / kind).rglob("*.*")]
    files = [path for path in files if path.name != "classes.npz"]
    names = ["/".join(path.relative_to(store).parts[2:]) for path in files]
    matrices = [path.read_bytes() for path in files if path.suffix == ".npy"]
    return sorted(names), sorted(matrices)


def equal_to(reference, store):
    """Check that a store holds the trials and test evaluations of the reference, artifacts included."""
    assert trials_of(store) == trials_of(reference[0])
    assert evaluations_of(store) == evaluations_of(reference[0])
    (names, matrices), expected = files_of(store), files_of(reference[0])
    assert names == expected[0]
    assert matrices == expected[1]
    assert len(matrices) > 12


def test_workers_in_separate_folders_give_the_trials_of_local_ones(two_workers, reference, call, tmp_path, monkeypatch):
    asked = []
    ask = Cluster._call

    def counted(self, client, worker, function, *arguments):
        found = ask(self, client, worker, function, *arguments)
        if function is cluster_worker.offer and found:
            asked.append((worker, arguments[0]))
        return found

    monkeypatch.setattr(Cluster, "_call", counted)
    done = call(*REFERENCE, "--trials", 12, "--cluster", two_workers.address)
    assert done.returncode == 0, done.stderr
    equal_to(reference, tmp_path / "mlruns")
    # Each input went to each worker once, and is what the leader has.
    assert len(asked) == len(set(asked))
    assert len({worker for worker, _ in asked}) == 2
    for name in two_workers.workers:
        held = two_workers.held(name)
        assert len(held) > 5
        assert all((tmp_path / "mlruns" / "cache" / entry).is_dir() for entry in held)
    assert {record["processor"].partition(" ")[0] for record in records_of(tmp_path / "mlruns")} == {os.uname().machine}
    # What was learned comes home, too.
    assert models_of(tmp_path / "mlruns") == models_of(reference[0]) != []
    # Nothing of what jobs made is left with the workers.
    for path in two_workers.folder.rglob("made"):
        assert not list(path.iterdir())


def models_of(store):
    # Runs are named by the store that they are in: their order says nothing.
    return sorted(json.loads(path.read_text())["digest"] for path in store.glob("evaluations/*/model/model.json"))


def test_a_worker_that_is_killed_costs_the_trials_it_ran(two_workers, reference, leader, tmp_path):
    started = leader(*REFERENCE, "--trials", "12", "--cluster", two_workers.address, TROUBLE_PAUSE="0.2")
    end = time.monotonic() + 800
    while not two_workers.evaluating("nannied"):
        assert time.monotonic() < end
        time.sleep(0.05)
    started_by = two_workers.evaluating("nannied")
    two_workers.serving("nannied").kill()
    done = started.wait(800)
    assert done.returncode == 0, done.stderr
    equal_to(reference, tmp_path / "mlruns")
    _, left = psutil.wait_procs(started_by, timeout=800)
    assert not left


@pytest.mark.parametrize(
    "asked",
    [
        ("run", "--method", "plain(mix=0.5)", "--dataset", "marked"),
        ("sweep", "--method", "plain", "--param", "mix", "--points", "3", "--dataset", "marked"),
        ("sweep", "--method", "plain", "--param", "imbalance", "--range", "1|2", "--dataset", "marked"),
    ],
    ids=["run", "sweep", "sweep of the task"],
)
def test_other_commands_go_to_the_cluster_too(two_workers, call, tmp_path, monkeypatch, asked):
    sent = []
    send = Cluster.submit
    monkeypatch.setattr(Cluster, "submit", lambda self, *given, **named: sent.append(1) or send(self, *given, **named))
    found = []
    for place in ((), ("--cluster", two_workers.address)):
        done = call(*asked, *place, "--store", tmp_path / f"store-{len(found)}", "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        found.append({name: told[name] for name in ("metrics", "validation", "test") if name in told})
        assert bool(sent) == bool(place)
    assert found[0] == found[1] != {}


def test_a_leader_that_is_killed_leaves_no_trial_running(two_workers, leader):
    started = leader(
        "tune", "--method", "plain(pause=600)", "--dataset", "marked", "--cluster", two_workers.address, "--trials", "4"
    )
    names = list(two_workers.workers)
    before = {p.pid for name in names for p in two_workers.evaluating(name)}
    started.wait_for("tuning plain")
    started.kill()
    running = [p for name in names for p in two_workers.evaluating(name) if p.pid not in before]
    end = time.monotonic() + 800
    while busy := [p for p in running if runs(p) and _scores(p)]:
        assert time.monotonic() < end, busy
        time.sleep(0.1)


def _scores(process):
    """Tell whether a process is one in which trials are evaluated, or the fork server of these, which stays."""
    try:
        return "forkserver" in " ".join(process.parent().cmdline())
    except (psutil.Error, AttributeError):
        return False


def test_a_scheduler_that_is_killed_and_started_again_costs_the_running_trials(
    new_cluster, reference, leader, tmp_path
):
    cluster = new_cluster()
    cluster.start_worker("first")
    cluster.start_worker("second")
    started = leader(*DECLARATIONS, "--trials", "12", "--cluster", cluster.address)
    started.wait_for("trial 2 ")
    cluster.kill_scheduler()
    started.wait_for("waiting for the Dask scheduler")
    cluster.start_scheduler()
    # Workers end with their scheduler; others join.
    cluster.start_worker("third")
    done = started.wait(800)
    assert done.returncode == 0, done.stderr
    equal_to(reference, tmp_path / "mlruns")


def test_a_command_waits_for_workers_and_takes_those_that_join(new_cluster, reference, leader, tmp_path):
    cluster = new_cluster()
    started = leader(*DECLARATIONS, "--trials", "12", "--cluster", cluster.address)
    started.wait_for("waiting for workers: none has joined")
    cluster.start_worker("late")
    started.wait_for("trial 1 ")
    cluster.start_worker("later")
    done = started.wait(800)
    assert done.returncode == 0, done.stderr
    equal_to(reference, tmp_path / "mlruns")


def test_a_job_that_was_sent_back_to_a_worker_that_is_lost_goes_to_one_that_joins_later(
    new_cluster, reference, call, tmp_path, monkeypatch
):
    cluster = new_cluster()
    cluster.start_worker("first")
    deliver, look, sent, lost = Cluster._deliver, Cluster._look_for_workers, [], []

    def delivered(self, client, worker, *entry):
        deliver(self, client, worker, *entry)
        sent.append(worker)

    def looked(self, client):
        look(self, client)
        # Its inputs are there, so it runs where they are: Dask keeps what was running for this worker.
        if sent and not lost and any(client.processing().values()):
            lost.append(cluster.workers.pop("first"))
            os.killpg(lost[0].pid, signal.SIGKILL)
            while client.nthreads():
                time.sleep(0.02)
            cluster.start_worker("later")

    monkeypatch.setattr("zslplat_dask.cluster._LOOK_SECONDS", 0.1)
    monkeypatch.setattr(Cluster, "_deliver", delivered)
    monkeypatch.setattr(Cluster, "_look_for_workers", looked)
    done = call(*REFERENCE, "--trials", 12, "--workers", 1, "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert lost
    equal_to(reference, tmp_path / "mlruns")


def test_a_worker_with_other_libraries_is_an_error_that_names_them(two_workers, call, monkeypatch):
    ours = cluster_worker.software()
    monkeypatch.setattr(cluster_worker, "software", lambda: {**ours, "numpy": "1.0"})
    done = call(*REFERENCE, "--trials", 2, "--cluster", two_workers.address)
    one_line(done, 1, rf"worker tcp://\S+ of the cluster has numpy {re.escape(ours['numpy'])}, not 1.0")


def test_a_scheduler_that_is_not_there_is_an_error_that_says_so(call):
    done = call(*REFERENCE, "--trials", 2, "--cluster", f"tcp://127.0.0.1:{free_port()}")
    one_line(done, 1, r"no Dask scheduler answers at tcp://127\.0\.0\.1")


def test_a_cluster_inside_a_program_gives_the_same(reference, call, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None) as cluster:
        done = call(*REFERENCE, "--trials", 12, "--cluster", cluster.scheduler_address)
    assert done.returncode == 0, done.stderr
    equal_to(reference, tmp_path / "mlruns")
    # With its worker go the processes, and the thread that watches them.
    end = time.monotonic() + 800
    while any(thread.name == "watch-tasks" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_worker_that_finds_its_scheduler_again_keeps_what_it_holds(tmp_path):
    running = SimpleNamespace(name="running")
    first, again = (
        SimpleNamespace(local_directory=str(tmp_path), address="tcp://here:1", status=running) for _ in range(2)
    )
    depot = cluster_worker._store_of(first, "store")
    assert cluster_worker._store_of(first, "store") is depot
    (depot.settings.cache / "entry").mkdir()
    anew = cluster_worker._store_of(again, "store")
    assert anew is not depot
    assert (anew.settings.cache / "entry").is_dir()
    for one in (depot, anew):
        one.end()
