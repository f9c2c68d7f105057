"""What is read of many studies at once is what each of them says itself."""

import json
import sqlite3
from contextlib import closing

import pytest
from store_toys import MadeStore

from zslplat.errors import StoreError
from zslplat.records.overview import Overview
from zslplat.records.trials import FinishedTrial
from zslplat.settings import resolve_settings


@pytest.fixture
def made(new_store):
    return MadeStore(resolve_settings({"store": new_store()}))


def test_values_and_trials_are_those_of_the_study(made):
    names = [made.study("eszsl", 0.7, trials=5), made.study("gfhf(k=5, alpha=1)", 0.5, trials=1)]
    study = made.records.study(names[0])
    failed = {**study.finished()[0][1], "number": 5, "state": "failed", "value": None, "reason": "broken"}
    study.add(FinishedTrial(5, "failed", {}, None), {**failed, "parameters": {}}, {})
    again = {**study.finished()[2][1], "value": 0.9}
    study.retry(again)
    study.note("finished", {**study.values()["finished"], "winner": 2})
    known = Overview(made.records)
    for name in names:
        own = made.records.study(name)
        assert known.values(name) == own.values()
        assert known.finished(name) == own.finished()
        assert known.trials(name) == len(own.finished())
        assert known.seconds(name) == sum(record["seconds"] for _, record in own.finished())
    assert known.finished(names[0])[2] == (FinishedTrial(2, "complete", again["parameters"], 0.9), again)


def test_the_best_trial_that_was_tried_again_has_its_second_value(made):
    name = made.study("eszsl", 0.7, trials=2)
    study = made.records.study(name)
    first = study.finished()[1][1]
    study.add(FinishedTrial(2, "failed", {}, None), {**first, "number": 2, "value": None, "parameters": {}}, {})
    study.retry({**first, "number": 2, "value": 0.95, "parameters": {}})
    study.note("finished", {**study.values()["finished"], "winner": 2})
    assert Overview(made.records).chosen(name, 2, {})["value"] == 0.95


@pytest.mark.parametrize("change", ["state = 'RUNNING'", "number = 7"])
def test_trials_that_nobody_here_has_written_are_refused_alike(made, change):
    name = made.study("eszsl", 0.7, trials=3)
    with closing(sqlite3.connect(made.settings.store / "optuna.db")) as connection, connection:
        connection.execute(f"update trials set {change} where trial_id = (select max(trial_id) from trials)")
    with pytest.raises(StoreError, match="written by another program") as told:
        Overview(made.records).finished(name)
    assert name in str(told.value)


@pytest.mark.parametrize("text", ['"{', '"{\\"number\\": 1}"', "17"])
def test_a_damaged_record_is_named(made, text):
    name = made.study("eszsl", 0.7, trials=3)
    with closing(sqlite3.connect(made.settings.store / "optuna.db")) as connection, connection:
        query = "update trial_user_attributes set value_json = ? where trial_id = (select max(trial_id) from trials)"
        connection.execute(query, (text,))
    with pytest.raises(StoreError, match=name):
        Overview(made.records).finished(name)


def test_seconds_that_a_study_noted_count_while_it_has_no_more_trials(made):
    name = made.study("eszsl", 0.7, trials=3)
    study = made.records.study(name)
    noted = study.values()["finished"]
    for count, expected in ((3, 100.0), (2, 6.0)):
        study.note("finished", {**noted, "trials": count, "seconds": 100.0})
        assert Overview(made.records, ("finished",)).seconds(name) == expected
    assert json.loads(json.dumps(noted)) == noted
