"""A finished trial is stored once, whole, and reads as it was."""

import math
import time

import pytest

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.trials import FinishedTrial
from zslplat.settings import resolve_settings
from zslplat.space import Choice, Integer, Real

SPACE = {"a": Real(0.001, 1, log=True), "n": Integer(1, 9), "kernel": Choice(("gaussian", "linear"))}
TRIALS = (
    FinishedTrial(0, "complete", {"a": 0.01, "n": 3, "kernel": "linear"}, 0.1 + 0.2, {1: 0.1, 2: 0.30000000000000004}),
    FinishedTrial(1, "failed", {"n": 1}, None),
    FinishedTrial(2, "pruned", {"a": 1.0}, 0.25, {1: math.inf, 2: -math.inf, 3: math.nan}),
)


@pytest.fixture
def records(tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    opened = Records(settings)
    yield opened
    opened.close()


def written(records, name):
    study = records.open_study(name, {"method": "m"}, [True])
    for trial in TRIALS:
        record = {"number": trial.number, "started": 10.5, "ended": 12.25, "steps": {}, "text": "ä"}
        study.add(trial, record, SPACE)


def test_no_trial_is_recorded_twice_where_two_commands_share_a_database(records):
    """They may be given stores in two folders, each with locks of its own."""
    written(records, "shared")
    study, other = records.study("shared"), records.study("shared")
    late = FinishedTrial(3, "complete", {"n": 2}, 0.5)
    record = {"number": 3, "started": 10.5, "ended": 12.25, "steps": {}, "parameters": {}, "state": "x", "value": 0.5}
    study.add(late, record, SPACE)
    with pytest.raises(StoreError, match="trial 3 of study 'shared' is recorded already"):
        other.add(late, {**record, "ended": 12.5}, SPACE)
    assert [trial.number for trial in records.study("shared").study.get_trials()] == [0, 1, 2, 3]


def test_a_trial_that_is_stored_already_as_it_is_is_stored_once(records):
    """A server may break off after it has stored a trial, and before it says so."""
    written(records, "again")
    record = {"number": 2, "started": 10.5, "ended": 12.25, "steps": {}, "text": "ä"}
    records.study("again").add(TRIALS[2], record, SPACE)
    records.study("again").add(TRIALS[2], record, SPACE)
    assert [trial.number for trial in records.study("again").study.get_trials()] == [0, 1, 2]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_times_are_read_as_they_were_in_every_time_zone(records, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        written(records, "times")
        trial = records.study("times").study.get_trials()[0]
        assert (trial.datetime_start.timestamp(), trial.datetime_complete.timestamp()) == (10.5, 12.25)
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_a_trial_that_cannot_be_written_as_a_whole_is_not_there(records, monkeypatch):
    from optuna.storages._rdb import models

    study = records.open_study("broken", {"method": "m"}, [True])
    stored = models.TrialIntermediateValueModel.intermediate_value_to_stored_repr

    def fail(value):
        raise RuntimeError("no room")

    monkeypatch.setattr(models.TrialIntermediateValueModel, "intermediate_value_to_stored_repr", fail)
    with pytest.raises(Exception, match="no room"):
        study.add(TRIALS[0], {"number": 0, "started": 1.0, "ended": 2.0}, SPACE)
    monkeypatch.setattr(models.TrialIntermediateValueModel, "intermediate_value_to_stored_repr", stored)
    assert study.finished() == []


def test_the_identifier_of_a_run_is_read_once(records):
    import sqlalchemy as sa

    study = records.open_study("few", {"method": "m"}, [True])
    study.run("trial-0")
    counted = []
    sa.event.listen(records.engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
    study.run("trial-1")
    assert not counted
