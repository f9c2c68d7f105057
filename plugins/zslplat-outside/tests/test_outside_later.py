"""What is said of scores made elsewhere after they were recorded, and what guessing reaches on their folds."""

import json

import numpy as np
import pytest
from outside_toys import DATA, exported, random_scores, score

from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat_outside.exported_split import Manifest

KNOWN = "these scores are recorded already; they were not evaluated again"


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


@pytest.fixture
def given(settings, tmp_path):
    exported(settings, tmp_path / "split")
    return {"scores": [random_scores(tmp_path / "split")], "manifest": Manifest.read(tmp_path / "split")}


def recorded(settings):
    records = Records(settings)
    found = {key: record for _, key, record in records.all_evaluations()}
    records.close()
    return found


@pytest.mark.long
def test_seconds_and_a_description_that_come_later_are_taken_over_and_it_is_said(settings, given, tmp_path):
    given["validation"] = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    first = score(settings, **given)
    later = score(settings, **given, seconds=12.5, description="a network")
    assert later.notes == [
        KNOWN,
        "recorded now, of validation, repeat 0: description 'a network'",
        "recorded now, of repeat 0: seconds 12.5",
    ]
    assert (later.run_ids, later.metrics, later.test_evaluations) == (first.run_ids, first.metrics, 1)
    found = recorded(settings)
    assert found["repeat-0"]["seconds"] == 12.5
    assert found["validation"].get("seconds") is None
    assert {record["outside"]["description"] for record in found.values()} == {"a network"}
    # The same again is nothing new, leaving it out takes nothing back, and another value is said to replace the first.
    assert score(settings, **given, seconds=12.5, description="a network").notes == [KNOWN]
    assert score(settings, **given).notes == [KNOWN]
    assert score(settings, **given, seconds=3).notes == [KNOWN, "recorded now, of repeat 0: seconds 3 in place of 12.5"]
    assert recorded(settings)["repeat-0"]["seconds"] == 3
    assert recorded(settings)["repeat-0"]["metrics"] == found["repeat-0"]["metrics"]


def test_what_comes_later_is_of_the_repeats_that_are_given(settings, given, tmp_path):
    paths = [*given.pop("scores"), *(random_scores(tmp_path / "split", seed=seed) for seed in (1, 2))]
    score(settings, **given, scores=paths[:2], seconds=5, description="all of them")
    told = score(settings, **given, scores=paths[1:], repeat=1, seconds=7, description="with more layers").notes
    assert told == [
        "recorded now, of repeat 1: description 'with more layers' in place of 'all of them'",
        "recorded now, of repeat 1: seconds 7 in place of 5",
    ]
    assert [record["seconds"] for record in recorded(settings).values()] == [5, 7, 7]


@pytest.mark.long
def test_what_comes_later_is_shown_by_compare_and_mlflow(call, given, tmp_path):
    words = ("score", "--name", "net", "--manifest", "split", "--scores", given["scores"][0])
    assert call(*words).returncode == 0
    assert call(*words, "--seconds", 20).returncode == 0
    done = call(*words, "--seconds", 12.5, "--description", "a network", "--tag", "by=me")
    assert "recorded now, of repeat 0: seconds 12.5 in place of 20.0" in done.stdout
    (row,) = json.loads(call("compare", "--dataset", DATA, "--json").stdout)[0]["rows"]
    assert row["test_seconds"] == 12.5
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name.startswith("zsl: synthetic")]
    (run,) = client.search_runs([experiment.experiment_id])
    assert json.loads(run.data.tags["zslplat.outside"])["description"] == "a network"
    assert "me" in run.data.tags.values()
    assert run.data.metrics["work/seconds"] == 12.5


def test_chance_on_validation_is_the_mean_over_the_folds_as_in_what_is_found(settings, given, tmp_path, monkeypatch):
    given["validation"] = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    chances = {"fold-1": 0.1, "fold-2": 0.2, "fold-3": 0.6}
    monkeypatch.setattr(
        "zslplat.families.zero_shot.unseen.ZeroShot.chance", lambda task, problem: chances[problem.name]
    )
    found = score(settings, validation=given["validation"], manifest=given["manifest"])
    assert found.validation_chance == pytest.approx(np.mean([0.1, 0.2, 0.6]))
    assert found.chance == found.validation_chance


def test_scores_made_elsewhere_take_tags_then_and_later(call, tmp_path):
    assert call("export-split", "--to", tmp_path / "split", "-d", "digit-pairs").returncode == 0
    classes = (tmp_path / "split" / "test" / "classes.csv").read_text().splitlines()[1:]
    rows = (tmp_path / "split" / "test" / "rows.csv").read_text().splitlines()[1:]
    np.save(tmp_path / "s.npy", np.random.default_rng(0).normal(size=(len(rows), len(classes))))
    given = ("score", "--name", "net", "--scores", tmp_path / "s.npy", "--manifest", tmp_path / "split", "-q")
    for tag in ("step=first", "more=yes"):
        done = call(*given, "--tag", tag)
        assert done.returncode == 0, done.stderr
    np.save(tmp_path / "s1.npy", np.random.default_rng(1).normal(size=(len(rows), len(classes))))
    seed = (*given[:4], tmp_path / "s1.npy", *given[5:], "--repeat", 1, "--tag", "last=x")
    assert call(*seed).returncode == 0
    (out,) = json.loads(call("compare", "--tag", " step=first ", "--json").stdout)
    assert [row["tags"] for row in out["rows"]] == ["step=first, more=yes, last=x"]
