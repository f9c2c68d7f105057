"""A report of studies of one experiment: one stands for the others, whatever these are called."""

import json

import pytest
from html_reader import read_html, table_called
from store_toys import MadeStore

from zslplat.reports.contents import ReportRequest, collect_contents
from zslplat.reports.overview import chapter_results, page_of
from zslplat.reports.page import render_page
from zslplat.settings import resolve_settings

TWO, MORE = "a: (b), c=d", 'x, "y"'


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def page(facts):
    return read_html(render_page(page_of(facts, "1.0", "today")))


def test_a_name_with_a_comma_is_one_name_and_stands_behind_the_other(settings):
    made = MadeStore(settings)
    for name in (TWO, MORE):
        made.study("eszsl", 0.8, trials=2, name=name)
    made.study("eszsl", 0.8, trials=3, name="p, q")
    facts = collect_contents(settings, ReportRequest())
    (chapter,) = facts.chapters
    assert [entry.name for _, entry in chapter_results(chapter)] == ["p, q"]
    found = page(facts)
    assert len(table_called(found, "What it cost")[1]) == 1
    told = f"The same experiment was also evaluated as {json.dumps(TWO)} and {json.dumps(MORE)}."
    assert told in found.text
    assert [e.text.partition(":")[0] for e in found.every("h1")] == ["eszsl"]  # the study is the report


def test_the_budget_of_a_run_is_that_of_the_study_behind_it_whose_name_has_a_comma(settings):
    made = MadeStore(settings)
    made.study("eszsl", 0.8, trials=3, name=TWO)
    made.run("eszsl(alpha=1.0)", 0.8, code={"method": "m2"})
    (chapter,) = collect_contents(settings, ReportRequest()).chapters
    assert [str(row["study"]).partition(" ")[0] for row in chapter.rows] == ["run"]
    assert [entry.name for _, entry in chapter.searched] == [TWO]
