"""Titles of data sets, in tables and reports, and what is said of a name that is that of a suite, data set or task."""

import re

import pytest
from html_reader import read_html
from support import one_line

from zslplat.comparison.compare import compare
from zslplat.comparison.sheets import sheets
from zslplat.evidence.labels import dataset_titles
from zslplat.reports.contents import ReportRequest, collect_contents
from zslplat.reports.overview import page_of
from zslplat.reports.page import render_page

SMALL, WIDE = "synthetic(dimensions=64, rows_train=1200)", "synthetic(dimensions=512, rows_train=1200)"
DRAWN = 'redrawn(draw={}, of="synthetic(dimensions=64, rows_train=1200)")'


@pytest.mark.parametrize(
    ("datasets", "titles"),
    [
        ([SMALL, "digit-pairs"], ["synthetic", "digit-pairs"]),
        ([SMALL, WIDE], ["synthetic(dimensions=64)", "synthetic(dimensions=512)"]),
        ([SMALL, "synthetic"], ["synthetic(dimensions=64, rows_train=1200)", "synthetic"]),
        ([DRAWN.format(1), DRAWN.format(2)], ["synthetic #1", "synthetic #2"]),
        (
            [SMALL, DRAWN.format(2), WIDE, SMALL],
            ["synthetic(dimensions=64)", "synthetic(dimensions=64) #2", "synthetic(dimensions=512)"],
        ),
        (["redrawn(of=a)", "redrawn(draw=1, of=a)", "b"], ["a, draws of classes", "a #1", "b"]),
        (["redrawn(folds=5, of=a)", "redrawn(draw=7, folds=5, of=a)"], ["a, 5 class folds", "a #7 of 5 class folds"]),
    ],
)
def test_titles_hold_the_options_in_which_data_sets_differ(datasets, titles):
    found = dataset_titles(datasets)
    assert list(found.values()) == titles
    assert list(found) == list(dict.fromkeys(datasets))


@pytest.fixture
def store(made, settings):
    for dataset in ("digit-pairs", SMALL):
        for method, score in (("eszsl", 0.8), ("sae", 0.7)):
            made.study(
                method, score, name=f"{method}-{dataset[:5]}", dataset=dataset, part_of={"suite": "S", "row": method}
            )
    return settings.store


def test_reports_call_data_sets_by_their_titles_and_say_once_what_they_are(store, settings):
    page = read_html(render_page(page_of(collect_contents(settings, ReportRequest(suite="S")), "1.0", "today")))
    assert [e.text for e in page.every("h1")] == ["2 comparisons on digit-pairs, synthetic"]
    assert {"zsl on digit-pairs", "zsl on synthetic"} <= {e.text for e in page.every("h2")}
    assert f"synthetic is the data set {SMALL}." in page.text
    heads = [e.text for e in page.every("th")]
    assert any(head.startswith("synthetic") for head in heads)
    assert not any("dimensions" in head for head in heads)


def test_a_report_of_one_data_set_says_what_it_is(store, settings):
    page = read_html(render_page(page_of(collect_contents(settings, ReportRequest(dataset=SMALL)), "1.0", "today")))
    assert [e.text for e in page.every("h1")] == ["zsl on synthetic"]
    assert f"synthetic is the data set {SMALL}." in page.text


def test_tables_have_the_titles_for_heads(store, settings):
    (sheet,) = sheets(compare(settings, warn=pytest.fail))
    assert list(sheet.titles[1:3]) == ["digit-pairs", "synthetic"]


@pytest.mark.parametrize("command", ["compare", "report"])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("S", "it is the name of a suite: give --suite S"),
        ("synthetic", f"it is the name of a data set: give --dataset '{SMALL}'"),
        (SMALL, f"it is the name of a data set: give --dataset '{SMALL}'"),
        ("zsl", "it is the name of a task: give --task zsl"),
        ("eszls", "did you mean eszsl"),
    ],
)
def test_names_of_another_kind_say_which_option_takes_them(call, store, command, name, hint):
    one_line(call(command, name, "--store", store), 2, "unknown study, method or run", re.escape(hint))


def test_a_name_that_nothing_is_recorded_under_in_an_empty_store_is_an_error_as_well(call, new_store):
    one_line(call("report", "S", "--store", new_store()), 2, "unknown study, method or run 'S'; known: none")
