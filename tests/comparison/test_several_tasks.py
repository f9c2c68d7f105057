"""Several tasks and metrics are a table each; rows of a suite are ranked as rows, whatever is fixed for a data set."""

import csv
import json

import pytest

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import export_each
from zslplat.comparison.per_task import compare_each
from zslplat.errors import StoreError, UnknownNameError
from zslplat.evidence.matching import Filters

OTHER = "zsl(imbalance=10)"


@pytest.fixture
def two(made):
    made.study("eszsl", 0.8)
    made.study("sae", 0.7)
    made.study("eszsl", 0.6, task=OTHER, name="other")
    made.study("sae", 0.6, dataset="made(seed=1)", name="elsewhere")
    return made


def test_a_table_for_each_task_and_metric_is_what_each_gives_alone(two, settings):
    asked = {"tasks": ["zsl", OTHER], "metrics": ["per_class_accuracy", "per_sample_accuracy"]}
    found = compare_each(settings, ["made"], warn=pytest.fail, **asked)
    alone = [
        compare(settings, ["made"], t, metric=m, warn=pytest.fail) for t in asked["tasks"] for m in asked["metrics"]
    ]
    assert [one.to_json() for one in found] == [one.to_json() for one in alone]
    every = compare_each(settings, ["made"], warn=pytest.fail)
    assert [(one.task, one.metric) for one in every] == [("zsl", "per_class_accuracy"), (OTHER, "per_class_accuracy")]
    assert [one.task for one in compare_each(settings, ["made(seed=1)"], warn=pytest.fail)] == ["zsl"]


def test_what_is_recorded_of_some_tasks_alone_is_said_of_the_others(two, settings):
    said = []
    found = compare_each(settings, ["made"], [], Filters(["sae"]), warn=said.append)
    assert [one.task for one in found] == ["zsl"]
    assert said == []
    assert [one.task for one in compare_each(settings, ["made"], [], against="sae", warn=said.append)] == ["zsl"]
    (line,) = said
    assert line.startswith(f"task {OTHER} is left out: unknown")
    with pytest.raises(UnknownNameError):
        compare_each(settings, ["made"], [], Filters(["nobody"]), warn=said.append)
    with pytest.raises(StoreError):
        compare_each(settings, ["made"], ["gzsl"], warn=pytest.fail)


def test_the_command_takes_several_tasks_and_metrics_and_all(two, settings, call, tmp_path):
    found = compare_each(settings, ["made"], warn=pytest.fail)
    done = call("compare", "-d", "made", "--json", "--out", tmp_path / "all.csv")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps([one.to_json() for one in found]))
    with open(tmp_path / "all.csv", newline="", encoding="utf-8") as file:
        assert [line["task"] for line in csv.DictReader(file)] == ["zsl", "zsl", OTHER]
    text = call("compare", "-d", "made", "-t", "zsl", "-t", OTHER, "--metric", "per_sample_accuracy").stdout
    for task in ("zsl", OTHER):
        assert f"per_sample_accuracy of task {task} on made; " in text


def test_files_of_several_tables_hold_all_of_them(two, settings, tmp_path):
    found = compare_each(settings, ["made"], warn=pytest.fail)
    for ending in (".md", ".tex", ".json"):
        export_each(found, tmp_path / f"all{ending}")
    assert json.loads((tmp_path / "all.json").read_text()) == json.loads(json.dumps([o.to_json() for o in found]))
    assert (tmp_path / "all.md").read_text().count("**test per\\_class\\_accuracy of task") == 2
    assert (tmp_path / "all.tex").read_text().count(r"\begin{table}") == 2


def test_a_picture_has_a_plot_for_each_task(made, settings, tmp_path):
    made.study("eszsl", 0.8, task=OTHER)
    made.study("eszsl", 0.8)
    export_each(compare_each(settings, warn=pytest.fail), tmp_path / "plots.svg")
    assert (tmp_path / "plots.svg").read_text().count('<g id="axes_') == 2


def test_rows_of_a_suite_are_ranked_as_rows_whatever_is_fixed_for_a_data_set(made, settings):
    for place, dataset in enumerate(("made", "made(seed=1)", "made(seed=2)")):
        for row, method, share in (("ale", "ale", 0.8), ("eszsl", "eszsl", 0.7)):
            fixed = {"ale": f"ale(epochs={10 + 10 * place})"}.get(method, method)
            part_of = {"suite": "mine", "data": dataset, "row": row}
            made.study(fixed, share + 0.02 * place, dataset=dataset, rows=f"rows {place}", part_of=part_of)
    found = compare(settings, [], "zsl", Filters(suites=["mine"]), warn=pytest.fail)
    (table,) = found.over_datasets
    assert [(one["method"], one["mean_rank"]) for one in table["methods"]] == [("ale", 1), ("eszsl", 2)]
    assert found.names["ale"].startswith("row of suite mine: ale(epochs=10) on made, ale(epochs=20) on made(seed=1)")
    assert {row["method"] for row in found.on("made")} == {"ale(epochs=10)", "eszsl"}


def test_a_row_with_two_settings_on_one_data_set_keeps_the_names_of_settings(made, settings):
    for seed in (0, 1):
        for dataset in ("made", "made(seed=1)"):
            part_of = {"suite": "mine", "data": dataset, "row": "ale"}
            made.study("ale", 0.7, seed=seed, dataset=dataset, part_of=part_of)
    found = compare(settings, [], "zsl", warn=pytest.fail)
    assert {row["short"] for row in found.rows} == {"ale [seed 0]", "ale [seed 1]"}


def test_a_row_named_as_another_experiment_says_its_suite(made, settings):
    for epochs, dataset in ((10, "made"), (20, "made(seed=1)")):
        part_of = {"suite": "mine", "data": dataset, "row": "sae"}
        made.study(f"ale(epochs={epochs})", 0.7, dataset=dataset, part_of=part_of)
        made.study("sae", 0.6, dataset=dataset)
    found = compare(settings, [], "zsl", warn=pytest.fail)
    assert {row["short"] for row in found.rows} == {"sae [mine]", "sae"}
    only = compare(settings, [], "zsl", Filters(names=["sae [mine]"]), warn=pytest.fail)
    assert {row["method"] for row in only.rows} == {"ale(epochs=10)", "ale(epochs=20)"}


@pytest.mark.parametrize("row", ["=1+1", "the deep net, 10 %", "a [b"])
def test_a_row_is_found_by_the_name_that_it_is_shown_under(made, settings, call, row):
    for epochs, dataset in ((10, "made"), (20, "made(seed=1)")):
        part_of = {"suite": "mine", "data": dataset, "row": row}
        made.study(f"ale(epochs={epochs})", 0.7, dataset=dataset, part_of=part_of)
        made.study("sae", 0.6, dataset=dataset)
    shown = compare(settings, [], "zsl", warn=pytest.fail)
    assert {one["short"] for one in shown.rows} == {row, "sae"}
    own = ["ale(epochs=10)", "ale(epochs=20)"]
    named = compare(settings, [], "zsl", Filters(names=[row]), warn=pytest.fail)
    assert [one["method"] for one in named.rows] == own
    against = compare(settings, [], "zsl", Filters(names=["sae"]), against=row, warn=pytest.fail)
    assert [one["baseline"] for one in against.rows if one["method"] == "sae"] == own
    unknown = call("compare", row + "x")
    assert unknown.returncode == 2
    assert row in unknown.stderr


OTHER = "zsl(imbalance=10)"


def test_a_row_called_like_its_method_keeps_that_name_whatever_was_found_for_it(made, settings):
    """The other tasks of a suite are scored with what its first one found."""
    made.study("ale", 0.7, part_of={"suite": "mine", "data": "made", "row": "ale"})
    made.run("ale(rate=0.5)", 0.6, task=OTHER, part_of={"suite": "mine", "data": "made", "row": "ale"})
    made.run("eszsl(alpha=0.5)", 0.5, task=OTHER, part_of={"suite": "mine", "data": "made", "row": "plain"})
    names = {task: {r["short"] for r in compare(settings, [], task, warn=pytest.fail).rows} for task in ("zsl", OTHER)}
    assert names == {"zsl": {"ale"}, OTHER: {"ale", "eszsl(alpha=0.5)"}}
