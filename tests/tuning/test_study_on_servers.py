"""Studies in PostgreSQL, and shown by servers: the same as in files, whoever is restarted, stopped or there twice."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from mlflow_server import MlflowServer
from support import REFERENCE, evaluations_of, rows_of, runs_of, trials_of

pytestmark = [pytest.mark.services, pytest.mark.timeout(2400), pytest.mark.long]

TRIALS = ("--trials", 12)
PLAIN = [argument for argument in REFERENCE if argument != "--json"]


def places(postgres):
    studies, shown = postgres.new_database(), postgres.new_database()
    return studies, shown, ("--storage-url", studies, "--tracking-uri", shown)


def wait_for_trials(running, url, count, timeout=800):
    """Wait until so many trials are recorded, or the end of the command."""
    end = time.monotonic() + timeout
    while running.process.is_alive():
        with suppress(Exception):  # the tables are not there yet
            if len(trials_of(url)) >= count:
                return
        assert time.monotonic() < end, running.err.read_text()
        time.sleep(0.05)


def check_same(studies, shown, reference):
    expected, _ = reference
    assert trials_of(studies) == trials_of(expected)
    assert evaluations_of(studies) == evaluations_of(expected)
    assert runs_of(shown) == runs_of(expected)


def test_a_server_that_restarts_under_a_study_changes_nothing(reference, leader, postgres):
    studies, shown, where = places(postgres)
    running = leader(*REFERENCE, *TRIALS, "--workers", 1, *where, TROUBLE_PAUSE="0.2")
    for count, how in ((1, "immediate"), (4, "fast"), (7, "immediate")):
        wait_for_trials(running, studies, count)
        assert running.process.is_alive(), running.err.read_text()
        postgres.restart(how)
    done = running.wait(800)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"] == reference[1]["test"]
    check_same(studies, shown, reference)


def test_an_outage_that_is_too_long_ends_cleanly_and_the_same_command_continues(reference, leader, postgres):
    studies, shown, where = places(postgres)
    command = (*PLAIN, *TRIALS, "--workers", 1, *where)
    running = leader(*command, TROUBLE_PAUSE="0.2", ZSLPLAT_OUTAGE_SECONDS="1")
    wait_for_trials(running, studies, 3)
    postgres.stop()
    done = running.wait(800)
    postgres.start()
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
    assert "give the same command again" in done.stderr.splitlines()[-1]
    kept = trials_of(studies)
    assert kept
    assert kept == trials_of(reference[0])[: len(kept)]
    again = leader(*command).wait(800)
    assert again.returncode == 0, again.stderr
    check_same(studies, shown, reference)


def test_leaders_on_one_empty_database_from_folders_of_their_own(reference, leader, postgres, tmp_path):
    """Two of one study, of which one leads, and two of other studies; all at once, as on four machines."""
    studies, _, _ = places(postgres)
    started = []
    for number, study in enumerate(("same", "same", "b", "c")):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = (*PLAIN, *TRIALS, "--workers", 1, "--study", study, "--storage-url", studies)
        started.append(leader(*command, cwd=folder, TROUBLE_PAUSE="0.1"))
    done = [each.wait(800) for each in started]
    assert [each.returncode for each in done[2:]] == [0, 0], [each.stderr for each in done]
    first, second = sorted(done[:2], key=lambda each: each.returncode)
    assert first.returncode == 0, first.stderr
    # It came when the other had ended, or found it at work.
    assert second.returncode == 0 or "study 'same' is in use by another process" in second.stderr
    assert rows_of(studies, "select count(*) from zslplat_store where name = 'identity'") == [(1,)]
    expected = trials_of(reference[0])
    assert trials_of(studies) == 3 * expected


def test_every_command_that_reads_records_reads_a_database(call, postgres, tmp_path):
    studies, _, _ = places(postgres)
    where = ("--storage-url", studies)
    tune = ("tune", "-m", "plain", "-d", "marked", "--trials", 2, "--workers", 1, "--repeats", 1, "--json", *where)
    done = call(*tune)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for command in (
        ("store", "check"),
        ("store", "rebuild"),
        ("store", "gc", "--dry-run"),
        ("compare", "--dataset", "marked"),
        ("report", "--out", tmp_path / "report.html"),
        ("rerun", result["final_run_ids"][0], "--check", "--workers", 1, "-q"),
        ("run", "-m", "plain", "-d", "marked", "--test", "--workers", 1, "-q"),
        ("sweep", "-m", "plain", "-d", "marked", "-p", "mix", "--points", 2, "--workers", 1, "-q"),
    ):
        done = call(*command, *where)
        assert done.returncode == 0, (command, done.stderr)
    (tmp_path / "other").mkdir()
    alone = call(*tune[:-2], "--study", "elsewhere", cwd=tmp_path / "other")
    assert alone.returncode == 0, alone.stderr
    for taken in (["elsewhere"], []):
        done = call("store", "merge", tmp_path / "other" / "mlruns", "--json", *where)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["studies"] == taken
    rows = json.loads(call("compare", "--dataset", "marked", "--json", *where).stdout)[0]["rows"]
    assert {row["test"] for row in rows} == {result["test"][0][result["primary"]]}
    assert call("store", "check", *where).returncode == 0


@pytest.fixture
def mlflow_server(tmp_path, store_template):
    folder = tmp_path / "server"
    folder.mkdir()
    server = MlflowServer(folder)
    yield server
    server.stop()


def test_a_tracking_server_that_stops_in_the_middle_is_shown_all_of_a_study(reference, leader, mlflow_server, tmp_path):
    """By the next command to which it answers; nobody waits for it, and all that is to be computed is."""
    mlflow_server.start()
    command = (*REFERENCE, *TRIALS, "--workers", 1, "--tracking-uri", mlflow_server.url)
    running = leader(*command, TROUBLE_PAUSE="0.1")
    wait_for_trials(running, f"sqlite:///{tmp_path / 'mlruns' / 'optuna.db'}", 3)
    mlflow_server.stop()
    done = running.wait(1500)
    assert done.returncode == 0, done.stderr
    assert "does not answer" in done.stderr
    mlflow_server.start()
    assert runs_of(mlflow_server.folder) != runs_of(reference[0])
    done = leader(*command).wait(900)
    assert done.returncode == 0, done.stderr
    assert runs_of(mlflow_server.folder) == runs_of(reference[0])
    assert trials_of(tmp_path / "mlruns") == trials_of(reference[0])
