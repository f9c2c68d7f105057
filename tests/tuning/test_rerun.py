"""Which recorded runs can be evaluated again, with which experiment; others are refused by what they are."""

import shutil

import pytest

from zslplat.errors import AmbiguousNameError, StoreError, UnknownNameError
from zslplat.keys import run_identifier
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat.tuning.rerun import find_record, find_run


@pytest.fixture
def store(tmp_path, store_template):
    settings = resolve_settings({"store": tmp_path / "store"})
    settings.make_store()
    shutil.copy(store_template / "optuna.db", settings.store)
    records = Records(settings)
    yield settings, records
    records.close()


@pytest.mark.parametrize(
    ("owner", "content", "what"),
    [
        ("run:a", {"state": "failed"}, "is a failed run"),
        ("sweep:a", {"state": "complete"}, "is a sweep run"),
        ("run:a", {"state": "complete", "outside": {}}, "is of scores that were made elsewhere"),
    ],
)
def test_what_is_no_one_evaluation_is_refused(store, owner, content, what):
    settings, records = store
    run = run_identifier("", owner, "key")
    records.add_evaluation(owner, "key", "test", "data", {"run": run, "folds": [], "metrics": {}, **content})
    with pytest.raises(StoreError, match=what):
        find_run(settings, records, run)


@pytest.fixture
def finals(store):
    """Return the settings, the records, and the runs of what was evaluated: the tests, by their owners."""
    settings, records = store
    runs = {}
    for owner, method, split, repeat in [
        ("study:first", "eszsl(alpha=1)", "test", 0),
        ("study:first", "eszsl(alpha=1)", "test", 1),
        ("run:a", "eszsl(alpha=2)", "test", 0),
        ("run:b", "sae(lam=1)", "validation", 0),
        ("run:c", "sae(lam=1)", "test", 0),
        ("rerun:d", "sae(lam=1)", "test", 0),
    ]:
        key = f"trial-0/repeat-{repeat}"
        experiment = {"method": method, "dataset": "made", "task": "zsl", "split": split}
        content = {"winner": 0, "folds": [], "metrics": {}, "repeat": repeat, "experiment": experiment, "value": 0.5}
        records.add_evaluation(owner, key, split, "data", content)
        runs.setdefault(owner, run_identifier("", owner, key))
    return settings, records, runs


@pytest.mark.parametrize(
    ("name", "owner"),
    [("first", "study:first"), ("eszsl", "study:first"), ("eszsl(alpha=2)", "run:a"), ("sae", "run:c")],
)
def test_a_final_evaluation_is_named_by_study_method_or_spec(finals, name, owner):
    settings, records, runs = finals
    assert find_record(settings, records, name).run == runs[owner]


def test_of_several_winners_the_one_that_is_noted_answers(finals):
    settings, records, _ = finals
    experiment = {"method": "eszsl(alpha=3)", "dataset": "made", "task": "zsl", "split": "test"}
    content = {"winner": 3, "folds": [], "metrics": {}, "experiment": experiment, "value": 0.5}
    records.add_evaluation("study:first", "trial-3/repeat-0", "test", "data", content)
    assert find_record(settings, records, "first").record["winner"] == 3
    study = records.new_study("first", [True])
    study.note("finished", {"winner": 0})
    assert find_record(settings, records, "first").record["winner"] == 0
    study.note("finished", {"winner": 5})
    with pytest.raises(
        StoreError, match=r"no test evaluation of its winner; give its .*, of trial 3, which won before"
    ):
        find_record(settings, records, "first")


def test_the_latest_final_evaluation_has_a_name(finals):
    settings, records, runs = finals
    assert find_record(settings, records, "latest").run == runs["run:c"]


def test_a_name_of_several_runs_lists_them(finals):
    settings, records, runs = finals
    experiment = {"method": "sae(lam=2)", "dataset": "made", "task": "zsl", "split": "test"}
    records.add_evaluation(
        "run:e", "repeat-0", "test", "data", {"folds": [], "metrics": {}, "experiment": experiment, "value": 0.25}
    )
    with pytest.raises(AmbiguousNameError, match="run 'sae' fits 2 entries") as caught:
        find_record(settings, records, "sae")
    assert list(caught.value.candidates) == [run_identifier("", "run:e", "repeat-0"), runs["run:c"]]
    assert list(caught.value.candidates.values()) == ["sae on made, zsl: 0.2500", "sae on made, zsl: 0.5000"]


def test_a_name_of_no_run_leads_to_those_that_are_there(finals):
    settings, records, _ = finals
    with pytest.raises(UnknownNameError, match="run, study or method 'eszls'; did you mean eszsl") as caught:
        find_record(settings, records, "eszls")
    assert list(caught.value.candidates) == ["eszsl"]
    with pytest.raises(UnknownNameError, match=r"known: eszsl, .*zslplat studies lists all") as caught:
        find_record(settings, records, "nothing like it")
    assert not caught.value.candidates, "a model of another method is no remedy"


def test_a_run_that_is_not_recorded_is_refused(store):
    with pytest.raises(UnknownNameError, match="run, study or method 'ffff'; known: latest"):
        find_run(*store, "ffff")
    with pytest.raises(StoreError, match=r"no test evaluation is recorded in .*; tune something first"):
        find_run(*store, "latest")
