"""A request that cannot start leaves nothing: no study, no experiment, no line in a list or a report."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from cluster_toys import require_dask

import zslplat
from zslplat.errors import DataError, OutageError, StoreError, UnknownNameError, UsageError, ZslplatError
from zslplat.evaluation.experiment import Experiment
from zslplat.front.datasets import make_dataset
from zslplat.records.opening import existing_records
from zslplat.settings import resolve_settings
from zslplat.space import Choice
from zslplat.spec import Spec
from zslplat.tuning.options import EvaluationOptions, StudyOptions
from zslplat.tuning.single import run_experiment
from zslplat.tuning.study import run_study
from zslplat.tuning.sweep import run_sweep

HERE = {"trials": 1, "repeats": 1, "workers": 1, "quiet": True}
CLASSES, OF_EACH = 10, 8
Y = np.repeat(np.arange(CLASSES), OF_EACH)
ORDER = np.tile(np.arange(OF_EACH), CLASSES)


def toy(**more):
    rng = np.random.default_rng(0)
    S = rng.normal(size=(CLASSES, 4))
    X = S[Y] @ rng.normal(size=(4, 8)) + 0.1 * rng.normal(size=(len(Y), 8))
    return make_dataset(X, Y, None if more.pop("bare", False) else S, name="toy", **more)


def by_class(test):
    return np.where(test, "test_unseen", "train")


SPLIT = by_class(Y >= 7)
# What is wrong, by what it is: what is asked for beside the method, the error, and what it says.
OF_THE_DATA = {
    "no split": ({"unseen": []}, {}, DataError, "no split 'test_unseen', .*its splits: none"),
    "no test": ({"split": np.full(len(Y), "train")}, {}, DataError, "no split 'test_unseen'"),
    "splits of another task": (
        {"split": np.where(ORDER < 2, "test", "train")},
        {},
        DataError,
        "no split 'test_unseen', .*its splits: train, test",
    ),
    "no seen test": ({"split": SPLIT}, {"task": "gzsl"}, DataError, "no split 'test_seen'"),
    "coding on classes": ({"split": SPLIT}, {"method": "ksc", "task": "coding"}, DataError, "'train' and 'test'"),
    "no signatures": ({"split": SPLIT, "bare": True}, {}, DataError, "has no signatures"),
    "one class in the test": ({"split": by_class(Y >= 9)}, {}, DataError, "'test_unseen' holds 1 class"),
    "too few classes to fold": ({"split": by_class(Y >= 3)}, {}, DataError, "a fold needs at least two"),
    "groups on both sides": ({"split": SPLIT, "groups": ORDER}, {}, DataError, "share all their groups"),
    "more folds than there are": ({"split": SPLIT}, {"task": "zsl(folds=900)"}, UsageError, "folds=900"),
    "unknown signatures": ({"split": SPLIT}, {"task": "zsl(signatures=glove)"}, UnknownNameError, "'glove'"),
    "a fold that is not there": (
        {"split": np.where(ORDER < 2, "test", "train")},
        {"method": "ksc", "task": "coding(split=4)"},
        DataError,
        "split=4",
    ),
}

# What validation does without.
OF_THE_TEST = ("one class in the test", "no seen test")


def check_nothing_recorded(store):
    settings = resolve_settings({"store": store})
    with pytest.raises(StoreError, match="no runs in"):
        existing_records(settings, pytest.fail)
    assert not (store / "mlflow.db").exists()
    assert not (store / "studies").exists() or list((store / "studies").iterdir()) == []


@pytest.mark.parametrize(
    ("command", "case"),
    [(command, case) for command in ("tune", "rehearse") for case in OF_THE_DATA]
    + [(command, case) for command in ("sweep", "run") for case in OF_THE_DATA if case not in OF_THE_TEST],
)
def test_what_the_data_lack_leaves_nothing(tmp_path, case, command):
    data, more, error, said = OF_THE_DATA[case]
    asked = {**HERE, "method": "eszsl", "dataset": toy(**data), "store": tmp_path / "mlruns"} | more
    function = {"sweep": zslplat.sweep, "run": zslplat.evaluate}.get(command, zslplat.tune)
    if command == "sweep":
        asked |= {"param": "alpha" if asked["method"] == "eszsl" else "gamma", "range": "0.1..1", "points": 2}
    if command in ("sweep", "run"):
        del asked["trials"]
    began = time.monotonic()
    with pytest.raises(error, match=said):
        function(**asked, **({"dry_run": True} if command == "rehearse" else {}))
    assert time.monotonic() - began < 5  # no worker was waited for
    check_nothing_recorded(tmp_path / "mlruns")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"method": "eszl"}, "unknown method"),
        ({"set": {"lam": 3}}, "unknown parameter"),
        ({"set": {"alpha": -3}}, "out of range"),
        ({"space": {"lam": "1..2"}}, "unknown parameter"),
        ({"task": "zsll"}, "unknown task"),
        ({"task": "zsl(fold=3)"}, "unknown option of task"),
        ({"method": "ksc"}, "takes zero-shot methods"),
        ({"dataset": "digit-pair"}, "unknown data set"),
        ({"dataset": "not-here-at-all"}, "no data root is set"),
        ({"features": "centre"}, "unknown preprocessing step"),
        ({"sampler": "tp"}, "unknown sampler"),
        ({"method": "zskl", "kernel": "chi-squared"}, "does not fit"),
        ({"method": "keszsl", "kernel": "log-euclidean"}, "does not fit"),
    ],
)
def test_a_wrong_name_makes_no_store(tmp_path, asked, said):
    with pytest.raises(ZslplatError, match=said):
        zslplat.tune(**{**HERE, "method": "eszsl", "store": tmp_path / "mlruns"} | asked)
    assert not (tmp_path / "mlruns").exists()


@pytest.mark.long
def test_what_a_method_cannot_prepare_leaves_no_study(tmp_path):
    store = tmp_path / "mlruns"
    with pytest.raises(ZslplatError, match="must be non-negative"):
        zslplat.tune("mfmr-joint", features="center", store=store, **HERE)
    records = existing_records(resolve_settings({"store": store}), pytest.fail)
    assert records.study_names() == []
    records.close()
    assert not (store / "mlflow.db").exists()


@pytest.mark.long
def test_a_cluster_that_is_not_there_leaves_no_study(tmp_path):
    require_dask()
    store = tmp_path / "mlruns"
    zslplat.tune("eszsl", study="first", store=store, **HERE)  # all that it needs is prepared
    with pytest.raises(StoreError, match="no Dask scheduler answers"):
        zslplat.tune("eszsl", study="second", cluster="tcp://127.0.0.1:1", store=store, **HERE)
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        assert connection.execute("select study_name from studies").fetchall() == [("first",)]


@pytest.mark.parametrize("command", ["study", "single", "sweep"])
def test_a_database_on_a_server_is_asked_before_data_are_loaded(command, tmp_path, monkeypatch):
    """One that has answered is waited for later, and one that does not answer costs no time."""
    url = "postgresql://me@127.0.0.1:1/none"
    settings = resolve_settings({"store": tmp_path / "store", "storage_url": url})

    def away(*_):
        raise OutageError("no answer")

    monkeypatch.setattr("zslplat.records.opening._has_tables", away)
    monkeypatch.setattr(f"zslplat.tuning.{command}.ExperimentContext", lambda *_, **__: pytest.fail("data are loaded"))
    experiment = Experiment(Spec("eszsl"), Spec("digit-pairs"), Spec("zsl"))
    call = {
        "study": lambda: run_study(experiment, StudyOptions(trials=1), settings),
        "single": lambda: run_experiment(experiment, EvaluationOptions(), settings),
        "sweep": lambda: run_sweep(experiment, "gamma", Choice((1.0,)), EvaluationOptions(), settings),
    }[command]
    with pytest.raises(OutageError, match="no answer"):
        call()
