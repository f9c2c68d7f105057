"""Which recorded runs can be evaluated again, with which experiment; others are refused by what they are."""

import shutil

import pytest

from zslplat.errors import StoreError
from zslplat.keys import run_identifier
from zslplat.records.database import Records
from zslplat.records.trials import FinishedTrial
from zslplat.settings import resolve_settings
from zslplat.space import Real
from zslplat.tuning.rerun import find_run


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
        ("run:a", {"state": "complete"}, "was recorded by an earlier version, without its experiment"),
        ("run:a", {"state": "complete", "outside": {}}, "is of scores that were made elsewhere"),
    ],
)
def test_what_is_no_one_evaluation_is_refused(store, owner, content, what):
    settings, records = store
    run = run_identifier("", owner, "key")
    records.add_evaluation(owner, "key", "test", "data", {"run": run, "folds": [], "metrics": {}, **content})
    with pytest.raises(StoreError, match=what):
        find_run(settings, records, run)


def test_a_run_that_is_not_recorded_is_refused(store):
    with pytest.raises(StoreError, match="run 'ffff' is not recorded in"):
        find_run(*store, "ffff")


def test_records_of_early_studies_have_the_experiment_of_their_trial(store):
    settings, records = store
    identity = {"method": "eszsl(gamma=2)", "dataset": "birds", "task": "zsl", "seed": 5, "space": {"alpha": "0..1"}}
    study = records.open_study("s", identity, True)
    for number, alpha in enumerate((0.25, 0.75)):
        record = {"number": number, "state": "complete", "parameters": {"alpha": alpha}, "value": alpha, "metrics": {}}
        record |= {"steps": {}, "carry": {"bias": alpha}, "started": 1.0, "ended": 2.0}
        study.add(FinishedTrial(number, "complete", {"alpha": alpha}, alpha), record, {"alpha": Real(0, 1)})
    final = {"folds": [], "metrics": {"accuracy": 0.5}, "winner": 1, "repeat": 0, "seed": 5}
    records.add_evaluation(study.owner, "trial-1/repeat-0", "test", "data", final)
    tried = find_run(settings, records, study.run("trial-0"))
    tested = find_run(settings, records, study.run("trial-1/repeat-0"))
    assert str(tried.experiment.method) == "eszsl(alpha=0.25, gamma=2)"
    assert (tried.experiment.split, dict(tried.experiment.validation_choices)) == ("validation", {})
    assert str(tested.experiment.method) == "eszsl(alpha=0.75, gamma=2)"
    assert (tested.experiment.split, dict(tested.experiment.validation_choices)) == ("test", {"bias": 0.75})
    assert tested.metrics == {"accuracy": 0.5}
