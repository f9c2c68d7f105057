"""Names, colours and saved views of MLflow's pages: functions of what was recorded, without MLflow."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from zslplat.registry import registry
from zslplat.tracking.descriptions import colour, result, table
from zslplat.tracking.experiment_page import TAG, merged, page_facts, saved_views
from zslplat.tracking.run_view import RunView, mlflow_name, parameter_name
from zslplat.tuning.study_facts import chosen

ABOUT = {
    "primary": {"name": "accuracy", "maximise": True},
    "data": {"name": "toy", "profile": {"rows": 30, "shape": [30, 4], "classes": 5}},
}


def facts(method, names, ended, stages=("study", "trial", "final"), about=ABOUT, **more):
    experiment = {"method": method, "dataset": "toy", "task": "zsl", "space": dict.fromkeys(names, "0..1")}
    return page_facts(experiment, about, stages=stages, began=ended - 1, ended=ended, **more)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9564, ".956"), (-0.25, "-.250"), (1.0, "1.000"), (0.0, ".000"), (12.34, "12.3"), (3456.0, "3.46e+03")],
)
def test_results_are_written_as_tables_of_papers_have_them(value, text):
    assert result(value) == text


def test_no_result_is_no_number():
    assert result(None) == result(float("nan")) == "none"


def test_two_methods_share_no_parameter_and_facts_stand_for_themselves():
    shown = [
        RunView("k", "n", method=method, facts={"method": method, "seed": 0}, parameters={"gamma": 1}).shown_parameters
        for method in ("eszsl", "mfmr-joint")
    ]
    assert shown[0] == {"method": "eszsl", "seed": 0, "eszsl.gamma": 1}
    assert set(shown[0]) & set(shown[1]) == {"method", "seed"}


def test_results_come_before_what_they_took():
    view = RunView("k", "n", metrics={"val_a": 0.5, "test_a": 0.4}, work={"seconds": 2.0})
    assert list(view.shown_metrics) == ["val_a", "test_a", "work/seconds"]


@pytest.mark.parametrize("name", ["outside:net.scores", "a;b,c", "ä-b c/d.e", "x" * 400])
def test_every_name_is_one_that_mlflow_takes(name):
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    _validate_metric_name(mlflow_name(name))
    _validate_param_name(parameter_name("foo:bar", name))


def test_builtin_methods_have_colours_of_their_own_that_white_shows():
    colours = {name: colour(name) for name in registry().names("methods")}
    assert len(set(colours.values())) == len(colours) >= 50
    for text in colours.values():
        assert re.fullmatch("#[0-9a-f]{6}", text)
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 2.9


def test_what_was_chosen_is_one_line_of_short_numbers():
    assert chosen({"k": 3, "gamma": 0.36260050328506893, "form": "plain"}) == "form=plain, gamma=0.363, k=3"
    assert len(chosen({f"name{i}": 1 / 3 for i in range(100)})) <= 250


def test_a_bar_in_a_cell_ends_no_column():
    assert table(("a|b",), [("1|2",)]).splitlines() == ["| a\\|b |", "| --- |", "| 1\\|2 |"]


def test_a_page_does_not_depend_on_the_order_in_which_it_grew():
    news = [facts("eszsl", ["gamma"], 10.0), facts("sae", ["lam"], 30.0), facts("eszsl", ["alpha"], 20.0)]
    pages = []
    for order in itertools.permutations(news):
        known = {}
        for new in order:
            known = json.loads(json.dumps(merged(known, new)))
        pages.append((known, saved_views(known)))
    assert all(page == pages[0] for page in pages)
    assert pages[0][0]["methods"] == {"eszsl": ["alpha", "gamma"], "sae": ["lam"]}
    assert (pages[0][0]["began"], pages[0][0]["ended"]) == (9.0, 30.0)


def view_of(tags, name):
    envelope = json.loads(tags[TAG + name])
    return envelope, json.loads(envelope["state"])


def test_views_show_results_chosen_values_and_the_three_kinds_of_charts():
    tags = saved_views(merged({}, facts("eszsl", ["alpha", "gamma"], 10.0)))
    envelope, state = view_of(tags, "results")
    assert (envelope["name"], envelope["updatedAt"]) == ("Results", 10_000)
    assert state["searchFilter"] == "tags.stage = 'final'"
    assert state["orderByKey"] == "metrics.`test_accuracy`"
    wanted = {"params.`method`", "params.`chosen`", "metrics.`val_accuracy`", "metrics.`test_accuracy`"}
    assert wanted | {"metrics.`work/trials`"} == set(state["selectedColumns"])
    assert {card["type"] for card in state["compareRunCharts"]} == {"BAR", "SCATTER", "PARALLEL"}
    sections = {section["uuid"] for section in state["compareRunSections"]}
    assert {card["metricSectionId"] for card in state["compareRunCharts"]} == sections
    _, trials = view_of(tags, "trials")
    (parallel,) = [card for card in trials["compareRunCharts"] if card["type"] == "PARALLEL"]
    assert parallel["selectedParams"] == ["eszsl.alpha", "eszsl.gamma"]
    assert TAG + "sweeps" not in tags


def test_results_name_data_set_and_task_where_there_are_several():
    first, other = facts("eszsl", [], 10.0), facts("eszsl", [], 10.0)
    for key, column in (("data", "params.`dataset`"), ("tasks", "params.`task`")):
        several = {**other, key: {"other": "of 9 rows"} if key == "data" else ["gzsl"]}
        _, one = view_of(saved_views(merged({}, first)), "results")
        _, two = view_of(saved_views(merged(merged({}, first), several)), "results")
        assert set(two["selectedColumns"]) - set(one["selectedColumns"]) == {column}


def test_a_metric_that_is_better_when_small_is_sorted_upwards():
    about = {**ABOUT, "primary": {"name": "error", "maximise": False}}
    _, state = view_of(saved_views(merged({}, facts("eszsl", [], 1.0, about=about))), "results")
    assert state["orderByAsc"] is True


def test_views_of_many_methods_stay_below_what_mlflow_takes():
    known = {}
    for number in range(200):
        known = merged(known, facts(f"a-method-with-a-name-{number}", [f"parameter_{i}" for i in range(12)], 1.0))
    tags = saved_views(known)
    assert set(tags) == {TAG + name for name in ("results", "studies", "trials")}
    assert max(map(len, tags.values())) < 20_000


def test_a_sweep_has_a_view_of_its_own():
    new = facts("eszsl", [], 1.0, stages=("sweep",), series=("sweep/val_accuracy", "sweep/test_accuracy"))
    tags = saved_views(merged({}, new))
    _, state = view_of(tags, "sweeps")
    assert state["compareRunCharts"][0]["selectedMetricKeys"] == ["sweep/test_accuracy", "sweep/val_accuracy"]
    assert set(tags) == {TAG + "sweeps"}
