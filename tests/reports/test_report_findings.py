"""A report shows what checks find in comparisons, too, and counts what is silenced."""

from dataclasses import replace

import pytest
from html_reader import read_html
from store_toys import MadeStore
from support import one_line

from zslplat.comparison.compare import compare
from zslplat.reports.contents import ReportRequest, collect_contents
from zslplat.reports.overview import page_of
from zslplat.reports.page import render_page
from zslplat.settings import resolve_settings


@pytest.fixture
def settings(new_store):
    settings = resolve_settings({"store": new_store()})
    made = MadeStore(settings)
    for method, trials in (("eszsl", 20), ("sae", 5)):
        part_of = {"suite": "quick", "data": "digit-pairs", "row": method}
        made.study(method, 0.8, trials=trials, part_of=part_of)
    return settings


def text_of(facts):
    return read_html(render_page(page_of(facts, "1.0", "today"))).text


@pytest.mark.long
def test_findings_of_the_comparison_are_told(settings):
    facts = collect_contents(settings, ReportRequest())
    text = text_of(facts)
    beside = compare(settings, ["made"], warn=pytest.fail).findings
    assert "ZSP301" in {one.code for one in beside}
    for one in beside:
        assert f"{one.code} the comparison: {one.text} (zslplat explain {one.code})" in text


def test_intervals_over_new_classes_are_said_to_be_wider_as_a_rule_alone(settings):
    assert "drawn like these, and are wider as a rule." in text_of(collect_contents(settings, ReportRequest()))


def test_codes_are_silenced_for_a_report_as_elsewhere(call, settings, tmp_path):
    done = call("report", "--out", "report.html", "--silence", "ZSP301", "--silence", "ZSP401")
    assert done.returncode == 0, done.stderr
    text = read_html((tmp_path / "report.html").read_text()).text
    assert "ZSP301 the comparison" not in text
    assert "zslplat report --out report.html --silence ZSP301 --silence ZSP401" in text
    one_line(call("report", "--silence", "ZSP911"), 2, r"unknown check 'ZSP911'; did you mean ZSP901")


def test_a_data_set_is_reported_with_the_draws_of_its_classes(settings):
    made = MadeStore(settings)
    for draw in (1, 2):
        for method in ("eszsl", "sae"):
            made.study(method, 0.8, dataset=f"redrawn(draw={draw}, of=birds)", rows=f"rows of {draw}")
    facts = collect_contents(settings, ReportRequest(dataset="birds"))
    assert [chapter.dataset for chapter in facts.chapters] == [f"redrawn(draw={draw}, of=birds)" for draw in (1, 2)]
    assert "methods on birds, draws of classes" in text_of(facts)


def test_where_studies_are_too_many_the_command_for_some_of_them_leads_to_the_store(settings):
    facts = replace(collect_contents(settings, ReportRequest()), brief=True, store_options=" --store 'my store'")
    assert "for example: zslplat report" in text_of(facts)
    assert "--store 'my store'" in text_of(facts)
