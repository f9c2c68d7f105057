"""Taking over another store: all of it, once, and none of it half, wherever it was stopped."""

import contextlib
import shutil

import numpy as np
import pytest
import sqlalchemy as sa

from zslplat.data.feature_card import FeatureCard
from zslplat.data.formats.in_memory import ArraysSource, dataset_of, store_dataset
from zslplat.data.source import DataPlaces
from zslplat.errors import MissingDataError, StoreError
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.locks import file_lock
from zslplat.records.maintenance import merge
from zslplat.records.trials import FinishedTrial
from zslplat.settings import resolve_settings
from zslplat.space import Real

SPACE = {"a": Real(0, 1)}


@pytest.fixture
def opened(tmp_path, store_template):
    """Open stores by the names of their folders."""
    found = []

    def make(name):
        settings = resolve_settings({"store": tmp_path / name})
        settings.make_store()
        if not (settings.store / "optuna.db").exists():
            shutil.copy(store_template / "optuna.db", settings.store)
        found.append(Records(settings))
        return found[-1], settings

    yield make
    for records in found:
        records.close()


def add_trials(study, numbers, *, state="complete"):
    for number in numbers:
        value = None if state == "failed" else number / 10
        record = {"number": number, "state": state, "parameters": {"a": 0.5}, "value": value, "steps": {}}
        trial = FinishedTrial(number, state, {"a": 0.5}, value)
        study.add(trial, {**record, "started": 1.0, "ended": 2.0}, SPACE)


def fill(records, settings, *, trials=3, ended=5.0):
    study = records.open_study("s", {"method": "m", "dataset": "d"}, [True])
    add_trials(study, range(len(study.finished()), trials))
    study.note("about", {"mlflow_experiment": "e"})
    study.note("finished", {"winner": trials - 1, "ended": ended})
    run = study.run(f"trial-{trials - 1}/repeat-0")
    content = {"run": run, "folds": [], "metrics": {}, "created": 4.0, "winner": trials - 1}
    records.add_evaluation(study.owner, f"trial-{trials - 1}/repeat-0", "test", "data", content)
    folder = records.evaluation_folder(run)
    folder.mkdir(parents=True)
    (folder / "outcomes.json").write_text("{}")
    best = study_folder(settings, "s") / "best.toml"
    best.parent.mkdir(parents=True, exist_ok=True)
    best.write_text(f"trial = {trials - 1}")
    return study


def content(records, settings):
    found = {
        name: (records.study(name).values(), records.study(name).finished()) for name in sorted(records.identities())
    }
    files = {
        path.relative_to(settings.store): path.read_bytes()
        for path in settings.store.rglob("*")
        if path.is_file() and path.suffix in (".toml", ".json")
    }
    return found, list(records.all_evaluations()), files


@pytest.mark.long
@pytest.mark.parametrize("known", [0, 2])
def test_a_merge_that_was_stopped_anywhere_is_completed_by_the_next(opened, known):
    """Stopped before each write to the database, with a store that is empty, or has a shorter copy of the study."""
    theirs, place = opened("theirs")
    if known:
        fill(theirs, place, trials=known, ended=3.0)
    fill(theirs, place)
    expected = content(theirs, place)
    assert expected[1]
    for stopped_at in range(100):
        name = f"ours-{stopped_at}"
        ours, settings = opened(name)
        if known:
            study = ours.open_study("s", {"method": "m", "dataset": "d"}, [True])
            study.note("origin", theirs.identity)
            add_trials(study, range(known))
            study.note("finished", {"winner": known - 1, "ended": 3.0})
        count = 0

        def stop(connection, cursor, statement, *rest, at=stopped_at):
            nonlocal count
            if statement.startswith(("INSERT", "UPDATE")):
                count += 1
                if count > at:
                    raise KeyboardInterrupt

        sa.event.listen(ours.engine, "before_cursor_execute", stop)
        with contextlib.suppress(KeyboardInterrupt):
            merge(ours, settings, theirs, place)
        sa.event.remove(ours.engine, "before_cursor_execute", stop)
        ours.close()
        again, _ = opened(name)
        done = merge(again, settings, theirs, place)
        assert done.left_out == []
        assert content(again, settings) == expected, f"stopped before write {stopped_at + 1}"
        if count <= stopped_at:
            break
    assert count > 3


def test_what_a_copy_has_tried_again_or_finished_is_taken_over(opened):
    theirs, place = opened("theirs")
    ours, settings = opened("ours")
    for records in (theirs, ours):
        study = records.open_study("s", {"method": "m"}, [True])
        study.note("origin", "same")
        add_trials(study, [0], state="failed")
    theirs.study("s").retry({"number": 0, "state": "complete", "parameters": {"a": 0.5}, "value": 0.7, "steps": {}})
    theirs.study("s").note("finished", {"winner": 0, "ended": 9.0})
    assert merge(ours, settings, theirs, place).studies == ["s"]
    assert ours.study("s").finished()[0][1]["value"] == 0.7
    assert ours.study("s").values()["finished"]["winner"] == 0
    assert merge(ours, settings, theirs, place).studies == []


def test_a_copy_that_only_went_on_is_named_among_what_was_taken_over(opened):
    theirs, place = opened("theirs")
    ours, settings = opened("ours")
    for records, trials in ((theirs, 3), (ours, 1)):
        study = records.open_study("s", {"method": "m"}, [True])
        study.note("origin", "same")
        add_trials(study, range(trials))
    assert merge(ours, settings, theirs, place).studies == ["s"]
    assert len(ours.study("s").finished()) == 3
    assert merge(ours, settings, theirs, place).studies == []


def test_a_study_that_somebody_works_on_is_left_out_by_name(opened):
    theirs, place = opened("theirs")
    fill(theirs, place)
    ours, settings = opened("ours")
    with file_lock(study_folder(settings, "s") / "leader.lock"):
        done = merge(ours, settings, theirs, place)
    assert (done.studies, done.evaluations) == ([], 0)
    assert done.left_out == ["study 's' is in use by another process; wait for it or stop it"]
    assert merge(ours, settings, theirs, place).studies == ["s"]


def test_a_store_is_not_merged_into_itself_by_another_name(opened, tmp_path):
    ours, settings = opened("ours")
    (tmp_path / "link").symlink_to(settings.store)
    same, place = opened("link")
    with pytest.raises(StoreError, match="are one store"):
        merge(ours, settings, same, place)


def test_arrays_that_records_were_made_of_are_taken_over_once(opened, tmp_path):
    (ours, here), (theirs, there) = opened("ours"), opened("theirs")
    rng = np.random.default_rng(0)
    S = rng.normal(size=(6, 3))
    y = np.repeat(np.arange(6), 4)
    arrays = {
        "X": rng.normal(size=(24, 5)),
        "y": y,
        "S": S,
        "train": np.flatnonzero(y < 4),
        "test_unseen": np.flatnonzero(y > 3),
    }
    spec = store_dataset(there.arrays, dataset_of("toy", arrays, {}, FeatureCard()))
    with pytest.raises(MissingDataError):
        ArraysSource(**spec.parameters).load(DataPlaces(arrays=here.arrays))
    for _ in range(2):
        merge(ours, here, theirs, there)
        found = ArraysSource(**spec.parameters).load(DataPlaces(arrays=here.arrays))
        assert np.array_equal(np.asarray(found.X), arrays["X"].astype(found.X.dtype))
    assert [path.name for path in here.arrays.iterdir()] == [path.name for path in there.arrays.iterdir()]
