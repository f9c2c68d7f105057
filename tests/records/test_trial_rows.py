"""A finished trial that is written table by table reads as one that Optuna wrote."""

import math
import time

import pytest

from zslplat.errors import StoreError
from zslplat.records import trials as trial_rows
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
    found = records.study(name).study.get_trials(deepcopy=False)
    names = ("number", "state", "values", "datetime_start", "datetime_complete", "params", "distributions")
    rest = ("user_attrs", "system_attrs", "intermediate_values")
    return [{key: repr(getattr(trial, key)) for key in (*names, *rest)} for trial in found]


def test_optuna_reads_what_it_would_have_written(records, monkeypatch):
    ours = written(records, "ours")
    monkeypatch.setattr(trial_rows, "_writable", lambda: False)
    assert ours == written(records, "theirs")
    assert len(ours) == len(TRIALS)


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


def test_a_trial_that_is_stored_already_as_it_is_is_stored_once(records, monkeypatch):
    """A server may break off after it has stored a trial, and before it says so."""
    written(records, "again")
    record = {"number": 2, "started": 10.5, "ended": 12.25, "steps": {}, "text": "ä"}
    records.study("again").add(TRIALS[2], record, SPACE)
    monkeypatch.setattr(trial_rows, "_writable", lambda: False)
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


def test_optuna_writes_where_its_tables_ask_for_more(records, monkeypatch):
    """A column that is not known here, and must not be empty, is left to Optuna."""
    monkeypatch.setitem(trial_rows._WRITTEN, "TrialParamModel", {"trial_id", "param_name"})
    trial_rows._writable.cache_clear()
    assert trial_rows._writable()  # columns that may be empty are no obstacle
    monkeypatch.setitem(trial_rows._WRITTEN, "TrialValueModel", {"trial_id", "objective", "value"})
    trial_rows._writable.cache_clear()
    try:
        assert not trial_rows._writable()
    finally:
        trial_rows._writable.cache_clear()


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


def test_trials_are_written_with_few_statements(records):
    import sqlalchemy as sa

    study = records.open_study("few", {"method": "m"}, [True])
    counted = []
    sa.event.listen(records.engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
    study.add(TRIALS[0], {"number": 0, "started": 1.0, "ended": 2.0}, SPACE)
    assert len(counted) <= 8, counted
    study.run("trial-0")
    counted.clear()
    study.run("trial-1")
    assert not counted
