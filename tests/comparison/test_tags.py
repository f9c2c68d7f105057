"""Tags that users give: kept with what is recorded, shown in MLflow, and found again by ``compare --tag``."""

import json
import shutil

import mlflow
import pytest

import zslplat
from zslplat.errors import UsageError
from zslplat.records.opening import existing_records
from zslplat.settings import resolve_settings

PLAIN, TOY = "plain(mix=0.3)", ("-d", "marked", "-w", 1, "-q")


def shown(call, *tags):
    status, out, err = call("compare", "-d", "marked", *(part for tag in tags for part in ("--tag", tag)), "--json")
    assert status == 0, err
    return {row["method"]: row["tags"] for row in json.loads(out)[0]["rows"]}


def looks(store):
    """How often the test split of each data set was scored."""
    records = existing_records(resolve_settings({"store": store}), print)
    found = {record["experiment"]["data"]: 0 for _, _, record in records.all_evaluations()}
    return {data: records.test_evaluations(data) for data in found}


@pytest.mark.long
def test_what_was_recorded_with_a_tag_is_found_by_it(call, tmp_path, monkeypatch):
    assert call("tune", "-m", "plain", "-n", 2, *TOY, "--tag", "purpose=pilot", "--tag", "by=me").returncode == 0
    first = json.loads(call("run", "-m", PLAIN, "--test", *TOY, "--json").stdout)
    assert shown(call, "purpose=pilot") == {"plain": "purpose=pilot, by=me"}
    assert shown(call, "pur*", "by") == {"plain": "purpose=pilot, by=me"}
    done = call("compare", "-d", "marked", "--tag", "purpose=final")
    assert done.returncode == 2
    assert "unknown tag 'purpose=final'" in done.stderr
    # What is recorded already gets the tag, too, and nothing is computed or counted for it.
    again = json.loads(call("run", "-m", PLAIN, "--test", *TOY, "--tag", "purpose=final", "--json").stdout)
    assert again["test_evaluations"] == first["test_evaluations"]
    assert call("tune", "-m", "plain", "-n", 2, *TOY, "--tag", "later=yes").returncode == 0
    assert shown(call, "purpose") == {PLAIN: "purpose=final", "plain": "purpose=pilot, by=me, later=yes"}
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    tags = [run.data.tags for run in mlflow.search_runs(search_all_experiments=True, output_format="list")]
    assert {tag.get("purpose") for tag in tags} == {"pilot", "final", None}
    assert [tag["later"] for tag in tags if tag["zslplat.kind"] == "study"] == ["yes"]
    # The same tag again is nothing new, whatever came between; another value is a further record of the run.
    for value in ("final", "other", "final"):
        assert call("run", "-m", PLAIN, "--test", *TOY, "--tag", f"purpose={value}").returncode == 0
    every = json.loads(call("compare", "-d", "marked", "--all", "--json").stdout)[0]["rows"]
    tags = [row["tags"] for row in every if row["kind"] == "run"]
    assert sorted(tags, key=str) == [None, "purpose=final", "purpose=other"]
    # A project gives its tags in one place.
    (tmp_path / "zslplat.toml").write_text('tags = ["project=birds"]\n')
    assert call("run", "-m", "plain(mix=0.4)", "--test", *TOY).returncode == 0
    assert shown(call, "project=birds") == {"plain(mix=0.4)": "project=birds"}
    assert call("run", "-m", "plain(mix=0.6)", "--test", *TOY, "--tag", "more=1").returncode == 0
    assert shown(call, "more=1") == {"plain(mix=0.6)": "project=birds, more=1"}


@pytest.mark.long
def test_suites_and_python_take_tags(call, tmp_path):
    suite = {
        "name": "tagged",
        "tasks": ["zsl"],
        "trials": 1,
        "data": [{"name": "digits", "dataset": "digit-pairs"}],
        "row": [{"name": "linear", "method": "eszsl"}],
    }
    store = tmp_path / "s"
    zslplat.bench(suite, workers=1, quiet=True, store=store, tag={"purpose": "table"})
    zslplat.tune("ridge-prototypes", trials=1, workers=1, quiet=True, store=store, tag=["purpose=other"])
    found = zslplat.compare(store=store, tag="purpose=table")
    assert found.to_frame()["method"].tolist() == ["eszsl"]
    assert len(zslplat.compare(store=store, tag="purpose").to_frame()) == 2


@pytest.mark.long
def test_cells_of_a_suite_that_are_done_get_tags_without_being_computed(tmp_path):
    suite = {
        "name": "tagged",
        "tasks": ["zsl", "retrieval"],
        "only_tested": ["retrieval"],
        "trials": 1,
        "repeats": 1,
        "data": [{"name": "digits", "dataset": "digit-pairs"}],
        "row": [{"name": "linear", "method": "eszsl"}],
    }
    given = {"workers": 1, "quiet": True, "store": tmp_path / "s"}
    zslplat.bench(suite, **given, tag={"purpose": "first, draft", "by": "me"})
    before, counted = zslplat.compare(store=tmp_path / "s").to_frame(), looks(tmp_path / "s")
    again = zslplat.bench(suite, **given, tag={"purpose": "table"})
    assert not again.to_frame()["new"].any()
    after = zslplat.compare(store=tmp_path / "s").to_frame()
    assert set(before["tags"]) == {'purpose="first, draft", by=me'}
    assert sorted(after["tags"]) == ["purpose=table", "purpose=table, by=me"]
    assert after["test"].tolist() == before["test"].tolist()
    assert looks(tmp_path / "s") == counted
    assert sum(counted.values()) == 2


@pytest.mark.long
def test_a_merge_unites_the_tags_of_two_copies(call, tmp_path):
    tune = ("tune", "-m", "plain", "-n", 2, *TOY)
    assert call(*tune, "--tag", "a=1").returncode == 0
    shutil.copytree(tmp_path / "mlruns", tmp_path / "copy")
    assert call(*tune, "--tag", "both=here").returncode == 0
    there = ("--store", tmp_path / "copy")
    assert call(*tune, *there, "--tag", "b=2", "--tag", "both=there").returncode == 0
    done = call("store", "merge", tmp_path / "copy")
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "got the tags that a copy of it has there: 1 record")
    assert shown(call, "a") == {"plain": "a=1, b=2, both=here"}
    assert "got tags" not in call("store", "merge", tmp_path / "copy").stdout
    # A copy that grew is taken over, and does not cost the tags that are here.
    assert call(*("tune", "-m", "plain", "-n", 3, *TOY), *there, "--tag", "c=3").returncode == 0
    assert call("store", "merge", tmp_path / "copy").returncode == 0
    assert shown(call, "c") == {"plain": "a=1, b=2, both=here, c=3"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["purpose"], "expected KEY=VALUE"),
        (["=x"], "for its name"),
        (["a:b=x"], "for its name"),
        (["zslplat.study=x"], "has a meaning already"),
        (["stage=x"], "has a meaning already"),
        (["a//b=x"], "for its name"),
        ([".a=x"], "for its name"),
        ({"a": None}, "expected one line of text"),
        (["a="], "expected one line of text"),
        (["a=1\n2"], "expected one line of text"),
        (["a=1", "a=2"], "given twice"),
    ],
)
def test_what_is_no_tag_is_refused_with_what_is_wrong(given, told):
    with pytest.raises(UsageError, match=told):
        resolve_settings({"tags": given})
    assert resolve_settings({"tags": ["a = 1 = 2", "b=x"]}).tags == {"a": "1 = 2", "b": "x"}


def test_tags_of_the_environment_are_one_text(monkeypatch):
    monkeypatch.setenv("ZSLPLAT_TAGS", "a=1, b=two words")
    assert resolve_settings().tags == {"a": "1", "b": "two words"}
