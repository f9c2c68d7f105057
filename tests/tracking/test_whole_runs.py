"""A run that is written to MLflow's tables at once is the run that MLflow's client would have made."""

import math

import pytest
import sqlalchemy as sa

from zslplat.settings import resolve_settings
from zslplat.tracking.projection import Projection, RunView
from zslplat.tracking.whole_runs import WholeRun

DATASET = {"name": "toy", "fingerprint": "f" * 40, "source": "{}", "profile": '{"rows": 3}', "context": "validation"}


@pytest.fixture
def settings(new_store):
    settings = resolve_settings({"store": new_store()})
    settings.make_store()
    return settings


def view(artifacts=None, **changed):
    given = {
        "key": "trial-0",
        "name": "trial-0",
        "parameters": {"gamma": 0.1, "kernel": "linear", "none": None, "long": "x" * 7000},
        "metrics": {"val_a": 0.1 + 0.2, "lost": math.nan, "much": math.inf, "odd,name": 1.0, "odd;name": 1.0},
        "series": {"by_step": [0.5, 0.75, 0.25]},
        "tags": {"zslplat.kind": "trial", "long": "y" * 6000},
        "started": 1000.5,
        "ended": 1002.25,
        "artifacts": artifacts,
        "dataset": DATASET,
    }
    return RunView(**{**given, **changed})


def told(projection, run_id):
    """All that MLflow's client tells of a run, but for what names this very run."""
    run = projection.client.get_run(run_id)
    info = {key: str(value).replace(run_id, "RUN") for key, value in dict(run.info).items()}
    values = {name: projection.client.get_metric_history(run_id, name) for name in run.data.metrics}
    history = {n: sorted((m.step, m.timestamp, repr(m.value)) for m in found) for n, found in values.items()}
    inputs = [(entry.dataset.to_dictionary(), [dict(tag) for tag in entry.tags]) for entry in run.inputs.dataset_inputs]
    latest = {name: repr(value) for name, value in run.data.metrics.items()}
    files = sorted(item.path for item in projection.client.list_artifacts(run_id))
    tags = {key: value for key, value in run.data.tags.items() if key not in ("zslplat.key", "zslplat.owner")}
    parts = [sorted(part.items()) for part in (info, run.data.params, tags, latest, history)]
    return [*parts, inputs, files]


def projected(settings, owner, *, whole):
    projection = Projection(settings, "zsl: toy", owner, "store", pytest.fail)
    assert projection.whole is not None
    if not whole:
        projection.whole = None
    return projection


@pytest.mark.parametrize("status", ["FINISHED", "FAILED", "KILLED"])
def test_both_ways_show_the_same(settings, tmp_path, status):
    folder = tmp_path / "left" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    found = []
    for whole in (True, False):
        projection = projected(settings, f"study:{whole}", whole=whole)
        parent = projection.show(view(key="study", status="RUNNING", dataset={}), "run-of-study")
        for key, artifacts in (("trial-0", None), ("trial-1", folder.parent)):
            run_id = projection.show(view(artifacts, key=key, name=key, status=status), "run", parent="study")
            found.append([str(part).replace(parent, "PARENT") for part in told(projection, run_id)])
        projection.close()
    for ours, theirs in zip(found[:2], found[2:], strict=True):
        for part, other in zip(ours, theirs, strict=True):
            assert part == other
    assert "PARENT" in found[0][2]
    assert found[1][-1] == "['deep']"


def test_a_run_that_goes_on_begins_and_ends_the_same_both_ways(settings, tmp_path):
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "a.txt").write_text("a")
    found = []
    for whole in (True, False):
        projection = projected(settings, f"study:{whole}", whole=whole)
        if whole:
            projection._show_by_client = pytest.fail
        run_id = projection.show(view(key="study", status="RUNNING"), "run-of-study")
        assert projection.status("study") == "RUNNING"
        found.append(told(projection, run_id))
        vars(projection).pop("_show_by_client", None)
        later = view(tmp_path / "left", key="study", parameters={}, metrics={"val_a": 0.7}, series={}, dataset={})
        assert projection.show(later, "run-of-study") == run_id
        assert projection.status("study") == "FINISHED"
        found.append(told(projection, run_id))
        projection.close()
    assert found[:2] == found[2:]


def test_a_run_is_found_unfinished_until_its_files_are_there(settings, tmp_path, monkeypatch):
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "a.txt").write_text("a")
    projection = projected(settings, "study:x", whole=True)
    monkeypatch.setattr(type(projection.whole), "copy_artifacts", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        projection.show(view(tmp_path / "left"), "run")
    monkeypatch.undo()
    again = projected(settings, "study:x", whole=True)
    assert not again.is_shown("trial-0")
    before = again.run_id("trial-0")
    assert again.show(view(tmp_path / "left"), "run") == before
    assert again.client.get_run(before).info.status == "FINISHED"
    assert [item.path for item in again.client.list_artifacts(before)] == ["a.txt"]
    again.close()


def test_a_finished_run_is_one_transaction(settings):

    projection = projected(settings, "study:x", whole=True)
    ended, asked = [], []
    sa.event.listen(projection.whole.store.engine, "commit", ended.append)
    sa.event.listen(projection.whole.store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    projection.show(view(), "run")
    assert len(ended) == 1
    assert len(asked) <= 12, asked
    projection.close()


def test_other_tables_are_left_to_the_client(settings, monkeypatch):
    from mlflow.store.tracking.dbmodels import models

    projection = projected(settings, "study:x", whole=True)
    run = models.SqlRun
    monkeypatch.setattr(models, "SqlRun", lambda **columns: run(**columns, of_another_mlflow=1))
    assert projection.whole.add(WholeRun("name", "FINISHED", 1, 2, {}, {}, [])) == ""
    projection.close()
