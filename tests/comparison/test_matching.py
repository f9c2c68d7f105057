"""What ``compare`` takes to be meant: tasks and data sets by what is named, metrics by data set, what is better."""

import json

import pytest

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import markdown
from zslplat.comparison.leaderboard import unchosen_looks
from zslplat.comparison.per_task import compare_each
from zslplat.comparison.sheets import sheets
from zslplat.errors import StoreError, UnknownNameError
from zslplat.evidence.matching import Filters
from zslplat.records.database import Records

SECOND, THIRD = "zsl(imbalance=10)", "zsl(imbalance=5)"
SUITE = {"suite": "S", "row": "a"}


@pytest.fixture
def three(made):
    """Studies of two tasks, one of each in the suite S, and one of none."""
    made.study("eszsl", 0.8, name="one", dataset="digit-pairs", part_of=SUITE)
    made.study("sae", 0.7, name="two", dataset="birds", task=SECOND, part_of=SUITE)
    made.study("sae", 0.6, name="three", dataset="birds", task=THIRD)
    return made


def told(call, *arguments):
    done = call("compare", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return [(one["task"], [row["study"] for row in one["rows"]]) for one in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--suite", "S"), [("zsl", ["one"]), (SECOND, ["two"])]),
        (("--study", "two"), [(SECOND, ["two"])]),
        (("--study", "one", "--study", "three"), [("zsl", ["one"]), (THIRD, ["three"])]),
        (("--study", "t*"), [(SECOND, ["two"]), (THIRD, ["three"])]),
        (("two",), [(SECOND, ["two"])]),
        (("--suite", "S", "-d", "birds"), [(SECOND, ["two"])]),
        ((), [("zsl", ["one"]), (SECOND, ["two"]), (THIRD, ["three"])]),
    ],
)
def test_what_is_named_says_which_tasks_are_meant(three, settings, call, arguments, shown):
    assert told(call, *arguments, "--store", settings.store) == shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--suite", "S", "-t", THIRD), 1, f"no result of task {THIRD} fits all filters"),
        (("--study", "two", "-t", "zsl"), 1, f"of task {SECOND} some do: --task chooses"),
        (("--study", "tow"), 2, "did you mean two"),
        (("--suite", "S", "-d", "toy"), 1, "fits all filters on toy; on digit-pairs, birds some do"),
        (("--suite", "S", "--study", "three"), 1, "fits all filters; leave one out"),
        (("tow",), 2, "unknown study, method or run 'tow'"),
    ],
)
def test_what_is_recorded_of_another_task_is_not_denied(three, settings, call, arguments, code, said):
    done = call("compare", *arguments, "--store", settings.store)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())


def test_tasks_of_draws_are_those_of_what_they_are_drawn_from(made, settings):
    for draw in (1, 2):
        for task in ("zsl", SECOND):
            made.study("eszsl", 0.7, dataset=f"redrawn(draw={draw}, of=birds)", task=task, name=f"{task} {draw}")
    found = compare_each(settings, ["birds"], warn=pytest.fail)
    assert [(one.task, [row["draws"] for row in one.rows]) for one in found] == [("zsl", [2]), (SECOND, [2])]


@pytest.fixture
def labels(made):
    """A task whose metric is another one where rows have several labels."""
    for method, share in (("eszsl", 0.8), ("sae", 0.6)):
        made.study(method, share, dataset="single")
        made.study(method, share, dataset="several", metric="mAP")
    return made


def test_a_task_may_have_another_metric_on_other_data(labels, settings):
    found = compare_each(settings, ["single", "several"], ["zsl"], warn=pytest.fail)
    assert [(one.metric, one.datasets) for one in found] == [("per_class_accuracy", ("single",)), ("mAP", ("several",))]
    assert "several: measured by mAP, in a table of its own (--metric mAP)" in found[0].notes
    assert [row["test"] for one in found for row in one.rows] == [row["test"] for row in found[0].rows] * 2
    (asked,) = compare_each(settings, ["single", "several"], ["zsl"], metrics=["mAP"], warn=pytest.fail)
    assert asked.datasets == ("several",)
    assert "single: mAP is not recorded there" in asked.notes
    with pytest.raises(UnknownNameError, match="metric 'nothing'"):
        compare_each(settings, ["single", "several"], ["zsl"], metrics=["nothing"], warn=pytest.fail)


def test_of_incoherence_the_least_is_best(made, settings):
    for method, value in (("zskl", 0.9), ("zskl-ort", 0.1)):
        made.study(method, 0.7, numbers={"incoherence": value})
    found = compare(settings, ["made"], metric="incoherence", warn=pytest.fail)
    assert not found.maximise
    assert [row["test"] for row in found.rows] == [0.1, 0.9]
    assert "**0.1000**" in markdown(found)
    assert "**0.9000**" not in markdown(found)


def test_a_caption_calls_the_baseline_as_its_row_is_called(made, settings):
    made.study("eszsl", 0.8)
    made.study("eszsl", 0.7, seed=1)
    found = compare(settings, ["made"], warn=pytest.fail)
    (sheet,) = sheets(found)
    origin = sheet.title.rpartition("differences from ")[2]
    assert origin in {row["short"] for row in found.rows}
    assert origin in [cells[0].text for cells in sheet.sections["inductive"]]


def test_where_nothing_was_validated_the_table_says_what_differences_are_from(made, settings):
    made.run("eszsl", 0.6)
    made.run("sae", 0.8)
    found = compare(settings, ["made"], warn=pytest.fail)
    assert {row["baseline"] for row in found.on("made")} == {"eszsl"}
    said = "made: nothing was validated; differences are from what was recorded first (--against)"
    assert said in found.notes
    assert said not in compare(settings, ["made"], against="sae", warn=pytest.fail).notes


def test_differences_over_data_sets_are_from_what_is_asked_for_else_from_the_best_validated(made, settings):
    for dataset, shift in (("a", 0.0), ("b", 0.02), ("c", 0.05)):
        for method, share in (("eszsl", 0.8), ("sae", 0.6), ("conse", 0.5)):
            made.study(method, share - shift, dataset=dataset, data=dataset * 64, validation=share)
    names = ["a", "b", "c"]
    (plain,) = compare(settings, names, warn=pytest.fail).over_datasets
    (asked,) = compare(settings, names, against="sae", warn=pytest.fail).over_datasets
    best, own = ({m["method"]: m for m in table["methods"]} for table in (plain, asked))
    assert (plain["baseline"], asked["baseline"]) == ("eszsl", "sae")
    assert best["eszsl"]["difference"] is None
    assert own["sae"]["difference"] is None
    assert own["eszsl"]["difference"] == pytest.approx(-best["sae"]["difference"], rel=0.05)
    assert own["eszsl"]["verdict"] != best["eszsl"]["verdict"] is None
    assert [m["mean_rank"] for m in plain["methods"]] == [m["mean_rank"] for m in asked["methods"]]
    (sheet,) = sheets(compare(settings, names, against="sae", warn=pytest.fail))
    assert any(note.startswith("differences are from sae, pooled over the data sets") for note in sheet.notes)


def test_a_run_of_every_seed_is_a_look_at_the_test_split(made, settings):
    for seed in range(4):
        made.run("zskl(alpha=3)", 0.7, seed=seed)
    records = Records(settings)
    (fingerprint,) = {record["experiment"]["data"] for _, _, record in records.all_evaluations()}
    assert unchosen_looks(records, fingerprint, "zsl") == 4


def test_an_empty_store_says_that_nothing_was_tested(made, settings):
    made.records.close()
    with pytest.raises(StoreError, match="tune something first"):
        compare_each(settings, warn=pytest.fail)
    with pytest.raises(UnknownNameError, match="unknown study 'nobody'"):
        compare_each(settings, filters=Filters(studies=["nobody"]), warn=pytest.fail)
