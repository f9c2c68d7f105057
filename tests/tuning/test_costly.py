"""What is costly in one hyperparameter is prepared once per value and problem, and shared by trials of that value."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
from support import install_distribution, records_of, trials_of

from zslplat.records.costs import most_bytes, prepared_seconds
from zslplat.records.opening import existing_records
from zslplat.settings import resolve_settings
from zslplat.suites.costs import costs_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "preparation.md"
# The example of the documentation; counted, slow, and unable to take some values.
COUNTED = '''
import os, time
from zslplat.api import MethodError

class Counted(ConSE):
    """Notes each preparation."""

    def prepare_fit(self, X, y, S, *, space):
        if self.C > float(os.environ.get("CONSE_FAILS_ABOVE", "inf")):
            raise MethodError("this penalty is too small")
        assert "C" not in space and "T" in space or not space
        until = time.process_time() + float(os.environ.get("CONSE_PAUSE", "0"))
        while time.process_time() < until:
            pass
        with open(os.environ["CONSE_COUNTS"], "a") as file:
            file.write(f"{self.C!r} {len(S)} {float(X.sum())!r}\\n")
        return super().prepare_fit(X, y, S, space=space)

@hookimpl
def zslplat_methods():
    return {"short-conse": ConSE, "counted": Counted}
'''
TUNE = ("tune", "--method", "counted", "--dataset", "marked", "--json")
TESTED = "10"  # classes that the final evaluation fits


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder with the distribution ``zslplat-conse``."""
    (source,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    folder = tmp_path_factory.mktemp("conse")
    return install_distribution(folder, "zslplat-conse", "zslplat_conse", source + COUNTED)


@pytest.fixture
def counts(example, tmp_path, monkeypatch):
    """Where preparations are noted, each in a line; the method is installed."""
    monkeypatch.syspath_prepend(str(example))
    monkeypatch.setenv("CONSE_COUNTS", str(tmp_path / "counts.txt"))
    return tmp_path / "counts.txt"


def prepared(counts):
    """Return how often each (value, fold) was prepared for, of validation."""
    lines = [tuple(line.split()) for line in counts.read_text().splitlines()]
    return Counter((value, fold) for value, classes, fold in lines if classes != TESTED)


def tried(store):
    return {repr(record["parameters"]["C"]) for record in records_of(store)}


def test_example_of_the_documentation_keeps_its_promises(example, monkeypatch):
    monkeypatch.syspath_prepend(str(example))
    from zslplat_conse import ConSE

    from zslplat.testing import check_method

    check_method(ConSE)


@pytest.mark.long
def test_costly_part_is_computed_once_per_value_and_fold_whatever_interrupts(
    call, start_program, program_environment, counts, example, tmp_path, monkeypatch
):
    monkeypatch.setenv("CONSE_PAUSE", "0.1")
    done = call(*TUNE, "--trials", 20, "--workers", 2, cwd=tmp_path / "straight")
    assert done.returncode == 0, done.stderr
    straight, values = prepared(counts), tried(tmp_path / "straight" / "mlruns")
    assert set(straight.values()) == {1}
    assert {value for value, _ in straight} == values
    assert len(straight) == len(values) * len({fold for _, fold in straight})
    assert len(values) <= 9  # steps, one of which is the default
    assert json.loads(done.stdout)["counts"]["statistics"] == len(straight) + 1  # and the refit

    path = os.pathsep.join([str(example), program_environment["PYTHONPATH"]])
    arguments = [argument for argument in TUNE if argument != "--json"]
    told = {"PYTHONPATH": path, "CONSE_COUNTS": str(tmp_path / "killed.txt"), "CONSE_PAUSE": "0.2"}
    running = start_program(*arguments, "--trials", 20, "--workers", 2, **told)
    while "trial" not in running.stderr.readline():
        assert running.poll() is None
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    # Nothing that is recorded refers to the cache.
    shutil.rmtree(tmp_path / "mlruns" / "cache")
    assert call(*TUNE, "--trials", 20, "--workers", 1).returncode == 0
    assert trials_of(tmp_path / "mlruns") == trials_of(tmp_path / "straight" / "mlruns")


@pytest.mark.long
def test_a_value_that_cannot_be_prepared_for_fails_its_trials_alone(call, counts, tmp_path, monkeypatch):
    monkeypatch.setenv("CONSE_FAILS_ABOVE", "50")
    done = call(*TUNE, "--trials", 12, "--workers", 2)
    assert done.returncode == 0, done.stderr
    records = records_of(tmp_path / "mlruns")
    failed = [record for record in records if record["state"] == "failed"]
    assert failed
    assert len(failed) < 12
    assert {record["parameters"]["C"] > 50 for record in failed} == {True}
    assert all("this penalty is too small" in record["reason"] for record in failed)
    assert all(record["parameters"]["C"] <= 50 for record in records if record["state"] == "complete")


@pytest.mark.long
def test_a_single_run_prepares_once(call, counts):
    assert call("run", "--method", "counted(C=10,T=3)", "--dataset", "marked").returncode == 0
    assert set(prepared(counts).values()) == {1}


@pytest.mark.long
def test_what_was_prepared_counts_in_what_a_method_costs_once_in_each_sum(call, counts, tmp_path, monkeypatch):
    monkeypatch.setenv("CONSE_PAUSE", "0.3")
    assert call(*TUNE, "--trials", 12, "--workers", 2).returncode == 0
    times = sum(prepared(counts).values())  # of validation
    trials = records_of(tmp_path / "mlruns")
    own = sum(record["seconds"] for record in trials)
    (row,) = json.loads(call("compare", "--dataset", "marked", "--json").stdout)[0]["rows"]
    # What several trials share counts once in their sum, however many of them there are ...
    made = {key: entry["seconds"] for record in trials for key, entry in record["prepared"].items()}
    assert len(made) == times
    assert min(made.values()) >= 0.3
    assert row["trial_seconds"] - own == pytest.approx(sum(made.values()))
    assert sum(prepared_seconds(record) for record in trials) > row["trial_seconds"] - own
    assert all(prepared_seconds(record) >= 0.3 for record in trials)
    # ... and in full in a final evaluation, which is what the method takes where nothing is at hand.
    assert row["test_seconds"] >= 0.3
    peaks = [held["peak_bytes"] for record in trials for held in (record, *record["prepared"].values())]
    assert min(peaks) > 1 << 20
    assert max(map(most_bytes, trials)) == max(peaks)
    # A rehearsal tells a trial with it.
    rehearsed = json.loads(call(*TUNE, "--trials", 30, "--dry-run").stdout)
    assert rehearsed["trial_seconds"] >= 0.3
    # And so does a grid that is planned by these records: shared in its trials, in full in its test.
    records = existing_records(resolve_settings({"store": tmp_path / "mlruns"}), pytest.fail)
    cost, _ = costs_of(records).of("counted", "marked")
    records.close()
    assert cost.trial >= 0.3 * times / len(trials)
    assert cost.test >= 0.3


@pytest.mark.long
def test_a_single_run_is_shown_with_what_it_prepared_and_by_seconds_alike(call, counts, monkeypatch):
    monkeypatch.setenv("CONSE_PAUSE", "0.3")
    for temperature in (3, 5):
        method = f"counted(C=10,T={temperature})"
        assert call("run", "--test", "--method", method, "--dataset", "marked").returncode == 0
    rows = json.loads(call("compare", "--dataset", "marked", "--json").stdout)[0]["rows"]
    assert len(rows) == 2
    assert all(row["test_seconds"] >= 0.3 for row in rows)
    by_seconds = call("compare", "--dataset", "marked", "--metric", "seconds", "--json")
    assert {row["test"] for row in json.loads(by_seconds.stdout)[0]["rows"]} == {row["test_seconds"] for row in rows}
