"""Which recorded runs can be evaluated again, with which experiment; others are refused by what they are."""

import shutil

import pytest

from zslplat.errors import StoreError
from zslplat.keys import run_identifier
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
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
