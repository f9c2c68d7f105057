"""A run that is written to MLflow's tables is the run that MLflow's client would have made."""

import math
import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext

import pytest
import sqlalchemy as sa
from mlflow_schema import needs_kept_tables

from zslplat.settings import resolve_settings
from zslplat.tracking import server
from zslplat.tracking.local_runs import LocalRuns
from zslplat.tracking.projection import Projection, RunView

pytestmark = needs_kept_tables
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


def projected(settings, owner, *, local=True):
    projection = Projection(settings, "zsl: toy", owner, "store", pytest.fail)
    assert projection.local is not None
    if not local:
        projection.local = None
    return projection


@pytest.mark.parametrize("status", ["FINISHED", "FAILED", "KILLED"])
def test_both_ways_show_the_same(settings, tmp_path, status):
    folder = tmp_path / "left" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    found = []
    for local in (True, False):
        projection = projected(settings, f"study:{local}", local=local)
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
    for local in (True, False):
        projection = projected(settings, f"study:{local}", local=local)
        if local:
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
    projection = projected(settings, "study:x")
    monkeypatch.setattr(LocalRuns, "copy_artifacts", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        projection.show(view(tmp_path / "left"), "run")
    monkeypatch.undo()
    again = projected(settings, "study:x")
    assert not again.is_shown("trial-0")
    before = again.run_id("trial-0")
    assert again.show(view(tmp_path / "left"), "run") == before
    assert again.client.get_run(before).info.status == "FINISHED"
    assert [item.path for item in again.client.list_artifacts(before)] == ["a.txt"]
    again.close()


def test_a_finished_run_is_one_transaction(settings):

    projection = projected(settings, "study:x")
    ended, asked = [], []
    sa.event.listen(projection.local.engine, "commit", ended.append)
    sa.event.listen(projection.local.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    projection.show(view(), "run")
    assert len(ended) == 1
    assert len(asked) <= 12, asked
    projection.close()


def test_values_and_tags_that_come_later_are_added_the_same_both_ways(settings):
    found = []
    for local in (True, False):
        projection = projected(settings, f"run:{local}", local=local)
        run_id = projection.show(view(), "run")
        projection.amend("trial-0", {"late": "tag", "long": "z"}, {"val_a": 0.9, "work/seconds": math.nan}, 2000.0)
        projection.end("trial-0", "KILLED", 3000.0)
        projection.set_tags_of_experiment({"of page": str(local)})
        assert projection.tags_of_experiment()["of page"] == str(local)
        found.append(told(projection, run_id))
        again = projected(settings, f"run:{local}", local=local)
        assert (again.status("trial-0"), again.run_id("trial-0")) == ("KILLED", run_id)
        projection.close()
    assert found[0] == found[1]


def test_a_description_that_a_user_has_changed_stays_both_ways(settings):
    found = []
    for local in (True, False):
        projection = projected(settings, f"study:{local}", local=local)
        tags = {"zslplat.reason": "failed once"}
        run_id = projection.show(view(key="study", status="RUNNING", note="ours", tags=tags), "run")
        projection.client.set_tag(run_id, "mlflow.note.content", "a user's")
        projection.show(view(key="study", note="ours, longer", name="renamed", metrics={}, series={}), "run")
        found.append(told(projection, run_id))
        tags = dict(found[-1][2])
        assert tags["mlflow.note.content"] == "a user's"
        assert "zslplat.reason" not in tags
        projection.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("statement", ["update experiments set lifecycle_stage = 'deleted'", "drop table experiments"])
def test_a_database_that_cannot_be_written_to_is_left_closed(settings, monkeypatch, statement):
    projected(settings, "study:x").close()
    with closing(sqlite3.connect(settings.store / "mlflow.db")) as connection, connection:
        connection.execute(statement)
    opened, create = [], sa.create_engine
    monkeypatch.setattr(sa, "create_engine", lambda *given, **more: opened.append(create(*given, **more)) or opened[-1])
    with nullcontext() if statement.startswith("update") else pytest.raises(sa.exc.OperationalError):
        assert LocalRuns.open(settings.store / "mlflow.db", "zsl: toy", "file:///artifacts", {}) is None
    assert [engine.pool.checkedin() + engine.pool.checkedout() for engine in opened] == [0]


def test_an_experiment_that_was_deleted_is_restored_by_the_client(settings):
    projection = projected(settings, "study:x")
    projection.client.delete_experiment(projection.experiment_id)
    again = Projection(settings, "zsl: toy", "study:x", "store", pytest.fail)
    assert again.local is None
    assert again.client.get_experiment(again.experiment_id).lifecycle_stage == "active"
    again.close()


def test_tables_of_another_mlflow_are_left_to_the_client(settings, monkeypatch):
    monkeypatch.setattr(server, "migrations_mark", lambda: "0123456789ab")
    projection = Projection(settings, "zsl: toy", "study:x", "store", pytest.fail)
    assert projection.local is None
    run_id = projection.show(view(), "run")
    assert projection.client.get_run(run_id).info.status == "FINISHED"
    projection.close()


def test_a_study_is_shown_without_importing_mlflow(settings):
    code = (
        "import pathlib, sys; from zslplat.settings import resolve_settings; "
        "from zslplat.tracking.projection import Projection; from zslplat.tracking.run_view import RunView; "
        f"settings = resolve_settings({{'store': pathlib.Path({str(settings.store)!r})}}); "
        "shown = Projection(settings, 'new', 'owner', 'store', sys.exit); shown.show(RunView('trial-0', 'a'), 'run'); "
        "shown.end('trial-0', 'KILLED', 1.0); shown.set_tags_of_experiment({'a': 'b'}); shown.close(); "
        "sys.exit('mlflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
