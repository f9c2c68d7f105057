"""Entries travel in pieces and arrive whole, or not at all; jobs on a worker elsewhere get their own answers."""

import multiprocessing
import pickle
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cluster_toys import require_dask
from zero_shot_toys import toy

from zslplat.data.store.array_store import open_entry
from zslplat.data.store.stored_sets import in_files
from zslplat.errors import OutageError, StoreError
from zslplat.evaluation.cache.arrays import write_arrays
from zslplat.evaluation.cache.problems import load_problem, save_problem
from zslplat.evaluation.jobs import Answer, EvaluateJob, Limits, PrepareJob, WorkerSettings
from zslplat.evaluation.workers.worker import Worker
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat_dask import cluster, transfer
from zslplat_dask import worker as cluster_worker
from zslplat_dask.worker import RemoteJob, Reply, _WorkerStore


def sent(source, root, name):
    """Send an entry to a cache piece by piece."""
    temporary = transfer.begin_entry(root, name)
    for file, offset in transfer.list_files(source).pieces():
        transfer.write_piece(temporary, file, offset, transfer.read_piece(source, file, offset))
    transfer.end_entry(root, name, temporary)


def test_an_entry_arrives_in_pieces_as_it_was_sent(tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "PIECE_BYTES", 100)
    arrays = {"inputs/X": np.arange(60.0).reshape(20, 3), "empty": np.zeros((0, 2)), "small": np.arange(3)}
    write_arrays(tmp_path / "here" / "key", arrays, {"told": [1, 2]}, apart=("inputs",))
    sent(tmp_path / "here" / "key", tmp_path / "there", "prepared/key")
    found, meta = open_entry(tmp_path / "there" / "prepared" / "key", contents=True)
    assert meta == {"told": [1, 2]}
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert [path.name for path in (tmp_path / "there" / "prepared").iterdir()] == ["key"]


def test_an_entry_that_is_damaged_on_the_way_is_refused(tmp_path):
    write_arrays(tmp_path / "here", {"A": np.arange(100)}, {})
    temporary = transfer.begin_entry(tmp_path, "prepared/key")
    for file, offset in transfer.list_files(tmp_path / "here").pieces():
        content = bytearray(transfer.read_piece(tmp_path / "here", file, offset))
        content[-1] ^= 1
        transfer.write_piece(temporary, file, offset, bytes(content))
    with pytest.raises(ValueError, match=r"changed|Expecting|delimiter"):
        transfer.end_entry(tmp_path, "prepared/key", temporary)
    assert list((tmp_path / "prepared").iterdir()) == []


@pytest.mark.parametrize("name", ["../key", "/etc/key", "a/../../key", ""])
def test_no_name_leads_out_of_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="leads out"):
        transfer.write_piece(tmp_path, name, 0, b"")
    with pytest.raises(ValueError, match="leads out"):
        transfer.begin_entry(tmp_path, name)


def test_entries_are_told_apart_by_content_and_not_by_name(tmp_path):
    for place, value in (("here", 1), ("there", 2)):
        write_arrays(tmp_path / place / "prepared" / "key", {"A": np.full(3, value)}, {})
    here, there = (tmp_path / place / "prepared" / "key" for place in ("here", "there"))
    wanted = {"prepared/key": transfer.digest_of(here)}
    assert transfer.missing_entries(tmp_path / "here", wanted) == []
    assert transfer.missing_entries(tmp_path / "there", wanted) == ["prepared/key"]
    sent(here, tmp_path / "there", "prepared/key")
    assert transfer.missing_entries(tmp_path / "there", wanted) == []
    assert np.array_equal(open_entry(there)[0]["A"], np.full(3, 1))


def test_content_comes_along_where_it_fits_into_one_piece(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "b").write_bytes(b"67890")
    for bytes_of_a_piece, content in ((10, {"a": b"12345", "b": b"67890"}), (9, None)):
        monkeypatch.setattr(transfer, "PIECE_BYTES", bytes_of_a_piece)
        assert transfer.pack_files(tmp_path) == transfer.FileList({"a": 5, "b": 5}, content)


def test_of_two_that_send_the_same_the_second_changes_nothing(tmp_path):
    write_arrays(tmp_path / "here" / "key", {"A": np.arange(3)}, {})
    for _ in range(2):
        sent(tmp_path / "here" / "key", tmp_path / "there", "prepared/key")
    assert np.array_equal(open_entry(tmp_path / "there" / "prepared" / "key")[0]["A"], np.arange(3))
    assert [path.name for path in (tmp_path / "there" / "prepared").iterdir()] == ["key"]


@pytest.mark.parametrize("data", ["cache/data", "data"])  # as it was loaded, and as it was given
@pytest.mark.parametrize("blocks", [True, False])
def test_a_problem_is_whole_with_what_is_said_to_be_needed(tmp_path, blocks, data):
    here, there = tmp_path / "here" / "cache" / "prepared", tmp_path / "there" / "cache" / "prepared"
    save_problem(here / "problem", ZeroShot().test(in_files(toy(rows=30), tmp_path / "here" / data)))
    expected = {name: np.asarray(given) for name, given in load_problem(here / "problem").inputs.items()}
    write_arrays(here / "statistics", {"A": np.zeros(2)}, {})
    job = EvaluateJob("", "eszsl", {}, 0, "zsl", (("problem", "statistics"),), blocks=blocks)
    needed = transfer.needed_entries(job, here)
    assert {"cache/prepared/problem", "cache/prepared/statistics"} < needed.keys()
    # The rows of the data set go once for all folds, or not at all.
    assert any(name.startswith(f"{data}/") for name in needed) == blocks
    for name in needed:
        sent(tmp_path / "here" / name, tmp_path / "there", name)
    shutil.rmtree(tmp_path / "here")
    found = load_problem(there / "problem", blocks=blocks).inputs
    assert found.keys() == expected.keys()
    assert all(np.array_equal(np.asarray(found[name]), array) for name, array in expected.items())


def job(number):
    return pickle.dumps(PrepareJob("eszsl", {}, {}, "zsl", f"nothing-{number}", "nowhere"))


def work(place, connection):
    worker = Worker(place)
    connection.send(worker.run(pickle.loads(job(0)), Limits()))
    worker.stop()


@pytest.mark.long
def test_a_daemon_of_multiprocessing_can_run_jobs(tmp_path):
    # As the worker process of a Dask nanny is one.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(WorkerSettings(tmp_path), theirs), daemon=True)
    process.start()
    assert ours.poll(800)
    assert "nothing-0 cannot be read" in ours.recv().reason
    process.join(800)
    assert process.exitcode == 0


@pytest.fixture
def dask_worker(tmp_path):
    """What a depot sees of a Dask worker."""
    state = SimpleNamespace(tasks={})
    status = SimpleNamespace(name="running")
    here = SimpleNamespace(address="tcp://here:1", local_directory=str(tmp_path), state=state, status=status)
    yield here
    status.name = "closed"
    end = time.monotonic() + 800
    while any(thread.name == "watch-tasks" for thread in threading.enumerate()) and time.monotonic() < end:
        time.sleep(0.02)


def errand(number):
    return RemoteJob(f"key-{number}", job(number), Limits(), "store", {}, 1e9, {})


def test_threads_of_one_worker_get_the_answers_to_their_own_jobs(dask_worker, tmp_path):
    depot = _WorkerStore(dask_worker, tmp_path)
    dask_worker.state.tasks.update({f"key-{n}": SimpleNamespace(state="executing") for n in range(12)})
    with ThreadPoolExecutor(3) as threads:
        replies = list(threads.map(lambda n: depot.run(errand(n), "tcp://here:1"), range(12)))
    for number, reply in enumerate(replies):
        assert reply.key == f"key-{number}"
        assert f"nothing-{number} cannot be read" in reply.answer.reason
    assert 1 <= len(depot._idle) <= 3


def test_a_job_that_nobody_wants_any_more_is_stopped(dask_worker, tmp_path, monkeypatch):
    stopped = threading.Event()

    class Endless:
        def __init__(self, place):
            pass

        def run(self, job, limits):
            assert stopped.wait(800)
            return Answer(None, "stopped", killed=True)

        stop = staticmethod(stopped.set)

    monkeypatch.setattr(cluster_worker, "Worker", Endless)
    depot = _WorkerStore(dask_worker, tmp_path)
    dask_worker.state.tasks["key-1"] = SimpleNamespace(state="executing")
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(depot.run, errand(1), "")
        assert not stopped.wait(3 * cluster_worker._WATCH_SECONDS)
        dask_worker.state.tasks["key-1"].state = "cancelled"
        assert reply.result(60).answer.reason == "stopped"
    assert depot._idle == []


@pytest.mark.parametrize(("given", "expected"), [(None, 1000), (7, 7)])
def test_a_trial_has_its_share_of_the_machine_where_it_runs(dask_worker, tmp_path, monkeypatch, given, expected):
    asked = []

    class Asked:
        def __init__(self, place):
            pass

        def run(self, job, limits):
            asked.append((job, limits))
            return Answer({})

        def stop(self):
            pass

    monkeypatch.setattr(cluster_worker, "Worker", Asked)
    monkeypatch.setattr(cluster_worker, "worker_share", lambda workers: 4000 // workers)
    dask_worker.state.nthreads = 4
    depot = _WorkerStore(dask_worker, tmp_path / "there")
    evaluation = EvaluateJob("", "eszsl", {}, 0, "zsl", (), artifacts=tmp_path / "elsewhere")
    trial = replace(errand(1), job=pickle.dumps(evaluation), limits=Limits(3, given))
    assert depot.run(trial, "").answer.result == {}
    depot.run(errand(2), "")
    assert [limits for _, limits in asked] == [Limits(3, expected), Limits()]
    # What it writes lies with the worker, not where the leader wants it.
    assert asked[0][0].artifacts == tmp_path / "there" / "made" / "key-1" / "artifacts"


def test_an_entry_is_sent_by_one_at_a_time_and_by_another_when_that_one_is_silent(dask_worker, tmp_path, monkeypatch):
    depot = _WorkerStore(dask_worker, tmp_path / "there")
    write_arrays(tmp_path / "here", {"A": np.arange(5)}, {})
    digest = transfer.digest_of(tmp_path / "here")
    place = depot.begin("prepared/key", digest, 1e9)
    assert place
    assert depot.begin("prepared/key", digest, 1e9) is None
    monkeypatch.setattr(cluster_worker, "_SILENT_SECONDS", 0)
    other = depot.begin("prepared/key", digest, 1e9)
    assert other not in ("", None, place)
    for file, offset in transfer.list_files(tmp_path / "here").pieces():
        assert depot.take(other, file, offset, transfer.read_piece(tmp_path / "here", file, offset)) == ""
    assert depot.finish(other) == ""
    assert depot.begin("prepared/key", digest, 1e9) == ""


def test_processors_that_differ_are_told_once(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(cluster, "connect", lambda address: None)
    leader = cluster.Cluster("tcp://nowhere:1", WorkerSettings(tmp_path / "prepared"), said.append)
    for name in ("x86_64 Haswell", "x86_64 Haswell", "x86_64 SkylakeX", "x86_64 Haswell", "x86_64 SkylakeX"):
        leader._note_processor(Answer({"processor": name}))
    (text,) = said
    assert "x86_64 Haswell, x86_64 SkylakeX" in text


def test_a_worker_that_cannot_keep_inputs_ends_the_command_with_an_error_that_names_it(
    dask_worker, tmp_path, monkeypatch
):
    require_dask()
    dask_worker.contact_address = None
    (tmp_path / "zslplat").write_text("in the way of its folder")
    asked = RemoteJob("key-1", job(1), Limits(), "store", {}, 1e9, {})
    monkeypatch.setattr("distributed.get_worker", lambda: dask_worker)
    with pytest.raises(StoreError, match=r"worker tcp://here:1 of the cluster: Not a directory \(.*local-directory"):
        cluster_worker.run_remote_job(asked)
    with pytest.raises(StoreError, match="worker tcp://here:1 of the cluster: Not a directory"):
        cluster_worker.offer("store", "prepared/key", "digest", 1e9, dask_worker=dask_worker)


def answering(monkeypatch, tmp_path, *, run):
    """Return a leader whose one worker lacks an input in every reply, and what is called in that worker."""
    monkeypatch.setattr(cluster, "connect", lambda address: SimpleNamespace(run=run))
    monkeypatch.setattr(cluster, "_PAUSE_SECONDS", 0)
    leader = cluster.Cluster("tcp://nowhere:1", WorkerSettings(tmp_path / "prepared"))
    monkeypatch.setattr(leader, "_look_after", lambda client: None)
    monkeypatch.setattr(cluster, "needed_entries", lambda job, cache: {"prepared/key": "digest"})
    replied = []

    def ask(client, errand, prefer):
        replied.append(errand.key)
        assert len(replied) < 10 * cluster._MOST_LOST, "it asks without an end"
        return Reply(errand.key, "tcp://there:1", missing=("prepared/key",))

    monkeypatch.setattr(leader, "_ask", ask)
    return leader, replied


def test_what_a_worker_says_is_wrong_with_it_is_heard_at_once(tmp_path, monkeypatch):
    def run(function, *arguments, workers, on_error):
        raise StoreError("worker tcp://there:1 of the cluster: No space left on device")

    leader, replied = answering(monkeypatch, tmp_path, run=run)
    with pytest.raises(StoreError, match="tcp://there:1 of the cluster: No space left"):
        leader.submit(job(1), Limits()).result(60)
    assert len(replied) == 1


def test_a_worker_that_is_lost_whenever_inputs_are_brought_ends_the_command(tmp_path, monkeypatch):
    def run(function, *arguments, workers, on_error):
        raise OSError("connection reset")

    leader, replied = answering(monkeypatch, tmp_path, run=run)
    with pytest.raises(StoreError, match=r"lost a job 101 times: OSError\('connection reset'\)"):
        leader.submit(job(1), Limits()).result(60)
    assert len(replied) == cluster._MOST_LOST + 1


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tls://127.0.0.1:1", "no Dask scheduler answers at tls://127.0.0.1:1: TLS expects"),
        ("empty.json", "no Dask scheduler answers at .*empty.json: the file has no address"),
        ("list.json", "no Dask scheduler answers at .*list.json: the file has no address"),
        ("torn.json", "no Dask scheduler answers at .*torn.json"),
        ("none.json", "no Dask scheduler answers at .*none.json: .*No such file"),
    ],
)
def test_an_address_that_cannot_be_one_is_an_error_that_says_so(tmp_path, monkeypatch, address, reason):
    require_dask()
    monkeypatch.chdir(tmp_path)
    for name, content in (("empty", "{}"), ("list", "[1]"), ("torn", '{"address": "tcp:')):
        (tmp_path / f"{name}.json").write_text(content)
    with pytest.raises(OutageError, match=reason):
        cluster.connect(address)
