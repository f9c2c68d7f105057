"""Studies of a grid side by side give what they give one after another, whatever happens to those who lead them."""

import json
import multiprocessing
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import psutil
import pytest

from zslplat.suites import runners
from zslplat.suites.cells import GridOptions
from zslplat.suites.runners import Leaders
from zslplat.tuning.options import StudyOptions

SUITE = """
trials = 6
repeats = 2
workers = 2
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
[metrics]
zsl = ["per_class_accuracy"]
retrieval = ["mAP"]
[[data]]
name = "toy"
dataset = "marked"
[[data]]
name = "elsewhere"
dataset = "AWA9(features=surf)"
[[row]]
name = "plain"
method = "plain(mix=0.3)"
[[row]]
name = "bad"
method = "trouble(trouble=raises)"
[[row]]
name = "weighted"
method = "plain"
"""


def recorded(store):
    """Return {(study, trial): (parameters, value)}, the sorted test evaluations, and {study: (began, ended)}."""
    query = (
        "select s.study_name, t.number, a.value_json from trials t join studies s on s.study_id = t.study_id "
        "join trial_user_attributes a on a.trial_id = t.trial_id where a.key = 'record'"
    )
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        records = {row[:2]: json.loads(json.loads(row[2])) for row in connection.execute(query)}
        tested = [json.loads(text) for (text,) in connection.execute("select content from zslplat_evaluations")]
    trials = {key: (record["parameters"], record["value"], record["state"]) for key, record in records.items()}
    scores = sorted(json.dumps([record["experiment"], record["metrics"]], sort_keys=True) for record in tested)
    spans = {
        name: (
            min(r["started"] for (study, _), r in records.items() if study == name),
            max(r["ended"] for (study, _), r in records.items() if study == name),
        )
        for name, _ in records
    }
    return trials, scores, spans


@pytest.fixture(scope="module")
def alone(tmp_path_factory, store_template, program_environment):
    """What the suite gives one study after another."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("alone")
    (folder / "suite.toml").write_text(SUITE)
    command = [sys.executable, "-m", "zslplat", "bench", "suite.toml", "--out", "out", "--abreast", "1", "-q"]
    done = subprocess.run(command, cwd=folder, env=program_environment, capture_output=True, text=True, timeout=800)
    assert done.returncode == 1, done.stderr
    return folder


def equal_to(alone, folder):
    ours, theirs = recorded(folder / "mlruns"), recorded(alone / "mlruns")
    assert ours[:2] == theirs[:2]
    assert (folder / "out" / "scores.csv").read_text() == (alone / "out" / "scores.csv").read_text()


@pytest.mark.long
def test_studies_side_by_side_give_what_they_give_one_after_another(alone, leader, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    # A study of each row waits for one of the other, which comes while it runs or never.
    (tmp_path / "met").mkdir()
    met = {"TROUBLE_MEETS": str(tmp_path / "met")}
    done = leader("bench", "suite.toml", "--out", "out", "--abreast", 2, "--json", **met).wait(800)
    assert done.returncode == 1, done.stderr
    equal_to(alone, tmp_path)
    cells = {(c["data"], c["row"], c["task"]): (c["status"], c["reason"]) for c in json.loads(done.stdout)["cells"]}
    assert {key: status for key, (status, _) in cells.items()} == {
        (data, row, task): "skipped" if data == "elsewhere" else "failed" if row == "bad" else "done"
        for data in ("toy", "elsewhere")
        for row in ("plain", "bad", "weighted")
        for task in ("zsl", "retrieval")
    }
    assert "this goes wrong" in cells["toy", "bad", "zsl"][1]
    spans = list(recorded(tmp_path / "mlruns")[2].values())
    assert any(a[0] < b[1] and b[0] < a[1] for a in spans for b in spans if a is not b)


@pytest.mark.long
def test_a_leader_that_is_killed_and_a_command_that_is_stopped_cost_what_was_running(alone, leader, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    command = ("bench", "suite.toml", "--out", "out", "--abreast", 2)
    running = leader(*command, TROUBLE_PAUSE="0.1")
    store = tmp_path / "mlruns"

    def wait_for_trials(count):
        end = time.monotonic() + 800
        while len(recorded(store)[0]) < count:
            assert time.monotonic() < end, running.err.read_text()
            time.sleep(0.1)

    wait_for_trials(2)
    leaders = [p for p in psutil.Process(running.process.pid).children() if "spawn_main" in " ".join(p.cmdline())]
    assert leaders
    leaders[0].kill()
    wait_for_trials(5)
    running.interrupt()
    kept = recorded(store)[0]
    done = leader(*command, "-q").wait(800)
    assert done.returncode == 1, done.stderr
    assert kept.items() <= recorded(store)[0].items()
    equal_to(alone, tmp_path)


def test_as_many_studies_run_as_keep_the_workers_busy(monkeypatch):
    def count(pieces, **options):
        given = GridOptions(**options)
        return Leaders(given, StudyOptions(workers=given.workers or 2), pieces).count

    assert [count(9, workers=workers) for workers in (1, 2, 4, 5, 8, 16)] == [1, 1, 1, 2, 2, 4]
    assert count(3, workers=16) == 3
    assert count(9, workers=2, abreast=3) == 3
    monkeypatch.setattr(runners, "cluster_class", lambda: SimpleNamespace(threads=lambda address: 16))
    assert count(9, cluster="tcp://nowhere:1") == 5
    assert count(1, cluster="tcp://nowhere:1") == 1


def test_what_several_threads_say_at_once_arrives_whole():
    ours, theirs = multiprocessing.Pipe()
    told, texts = runners._MessageReporter(theirs), [letter * (4 << 20) for letter in "ab"]
    with ThreadPoolExecutor(2) as threads, closing(ours):
        sent = [threads.submit(told.note, text) for text in texts]
        time.sleep(0.2)  # both have begun: neither fits into what the pipe holds
        heard = [ours.recv() for _ in texts]
        assert [one.result(60) for one in sent] == [None, None]
    assert sorted(heard) == [("note", text) for text in texts]


def test_a_leader_whose_command_is_gone_ends_without_a_word(monkeypatch):
    for name in ("os.setpgid", "signal.signal", "die_with_parent", "Records", "EntryReader"):
        monkeypatch.setattr(f"zslplat.suites.runners.{name}", lambda *given, **named: None)
    monkeypatch.setattr(runners, "PieceRunner", lambda *given: SimpleNamespace(attempt=None))

    class Closed:
        def recv(self):
            # What the system says where the other side left messages unread.
            raise ConnectionResetError

    assert runners._lead(Closed(), None, False, None) is None
