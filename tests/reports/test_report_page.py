"""The page of a report: nothing is loaded, every text is escaped, everybody can read it."""

import json
import re
import shutil
import subprocess
import warnings
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from html_reader import read_html

from zslplat.drawing import forest_svg
from zslplat.figures import Forest, ForestRow
from zslplat.palette import DARK, LIGHT, SERIES, Style
from zslplat.reports.blocks import (
    Cell,
    Chart,
    Column,
    Commands,
    Folded,
    Items,
    Page,
    Paragraph,
    Section,
    TableBlock,
)
from zslplat.reports.charts import (
    Axes,
    Line,
    Swatch,
    line_chart,
    thinned,
)
from zslplat.reports.context import PageContext
from zslplat.reports.page import render_page

EVIL = "<script>alert(\"1\")</script> $x^2$ & \x00 'q'"
SETS = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def forest_rows(name):
    """Return a heading, a row with both intervals, a hollow one, and the pooled estimate."""
    marks = [("filled", (0.3, 0.5)), ("hollow", None), ("pooled", None)]
    return [ForestRow(name), *(ForestRow(name, 0.4, narrow, (0.2, 0.6), name, mark, 3) for mark, narrow in marks)]


def charts(name=EVIL):
    """Return a chart of every kind, with this name wherever a name can be."""
    style = Style(3)
    line = Line(name, [1, 2, 3], [0.1, 0.5, 0.4], style, marked=[(2, 0.5)])
    return [
        line_chart([line], Axes(name, name, logx=True), "a", name, name),
        line_chart([line], Axes(name, name, names=[name, "b", "c"]), "b", name, name),
        forest_svg(Forest(forest_rows(name), name, name, level=0.3, band=(0.2, 0.3), signed=True), "c", name),
    ]


def test_letters_that_no_font_here_has_are_left_to_the_reader_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = charts("\N{FLAMINGO}\U000f1234")
    assert all("\N{FLAMINGO}" in svg for svg in drawn)


def page_with(name):
    table = TableBlock(name, [Column(name, hint=name), Column("n", True)], [[Cell(name), Cell("1", 1.0)]], name)
    blocks = [Paragraph(name), Items([name]), Commands(name, [name]), table, Folded(name, [Paragraph(name), table])]
    blocks += [Chart(svg, name, name, [(Swatch(Style(0)), name)], table, name) for svg in charts(name)]
    below = Section(name, "below", [Paragraph(name)], [Section(name, "deepest", [Paragraph(name)])])
    return render_page(Page(name, name, [Section(name, "top", blocks, [below])], [(name, name)]))


def test_names_that_hold_markup_are_text_wherever_they_stand():
    html = page_with(EVIL)
    page = read_html(html)
    assert len(list(page.every("script"))) == 1  # the page's own
    assert "alert" in page.text
    assert "<script>alert" not in html
    assert '"1"' in html.replace("&#34;", '"').replace("&quot;", '"')  # quotation marks, where they end no attribute
    handlers = [n for element in page.every() for n in element.attributes if n.startswith("on")]
    assert handlers == []


def test_nothing_is_loaded_and_the_browser_is_told_so():
    html = page_with("plain")
    page = read_html(html)
    policy = next(e for e in page.every("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy.attributes["content"]
    loading = [e for e in page.every("script", "img", "iframe", "object", "embed", "link", "source", "audio", "video")]
    sources = [e.attributes.get("src") or e.attributes.get("href") for e in loading]
    assert all(source is None or source.startswith("data:") for source in sources)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    pointing = [v for e in page.every() for n, v in e.attributes.items() if n.endswith("href") and v]
    assert all(target.startswith("#") for target in pointing)


def test_what_is_pointed_at_within_the_page_is_there_once():
    page = read_html(page_with("plain"))
    names = [e.attributes["id"] for e in page.every() if "id" in e.attributes]
    assert len(names) == len(set(names))
    for element in page.every():
        for attribute in ("aria-labelledby", "href", "xlink:href"):
            for target in (element.attributes.get(attribute) or "").split():
                assert target.lstrip("#") in names, f"{element.tag} points at {target}"
        for target in re.findall(r"url\(#([^)]+)\)", " ".join(v or "" for v in element.attributes.values())):
            assert target in names


def test_headings_follow_each_other_without_a_gap():
    page = read_html(page_with("plain"))
    levels = [int(e.tag[1]) for e in page.every("h1", "h2", "h3", "h4", "h5")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_readers_who_do_not_see_are_told_what_others_see():
    page = read_html(page_with("plain"))
    (html,) = page.every("html")
    assert html.attributes["lang"] == "en"
    assert next(page.every("a")).attributes == {"class": "skip", "href": "#main"}
    for table in page.every("table"):
        assert next(table.every("caption")).text
        assert all(e.attributes.get("scope") == "col" for e in next(table.every("thead")).every("th"))
        assert all(e.attributes.get("scope") == "row" for e in next(table.every("tbody")).every("th"))
    drawings = [e for e in page.every("svg") if e.attributes.get("role") == "img"]
    assert len(drawings) == len(charts())
    for drawing in drawings:
        told = [next(drawing.every(tag)) for tag in ("title", "desc")]
        assert [e.attributes["id"] for e in told] == drawing.attributes["aria-labelledby"].split()
        assert all(e.text for e in told)
    hidden = [e for e in page.every("svg") if e.attributes.get("role") != "img"]
    assert all(e.attributes.get("aria-hidden") == "true" for e in hidden)
    assert all("tabindex" in e.attributes for e in page.every("div") if e.attributes.get("class") == "scroll")


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(first, second):
    """WCAG 2.1's contrast of two colours, from 1 to 21."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(over, under, share):
    parts = [(int(over[i : i + 2], 16), int(under[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in parts)


def colours_on_page(html, selector):
    """Return the variables that a page's style sheet gives to a selector."""
    block = re.search(re.escape(selector) + r" \{([^}]*)\}", html).group(1)
    return dict(re.findall(r"--([\w-]+):(#\w{6})", block))


def test_the_page_has_both_sets_of_colours_and_light_ones_on_paper():
    html = page_with("plain")
    assert colours_on_page(html, ":root") == LIGHT
    assert colours_on_page(html, ':root[data-theme="dark"]') == DARK
    assert colours_on_page(html, ':root:not([data-theme="light"])') == DARK
    printed = re.search(r"@media print \{ (.*)\n", html).group(1)
    assert dict(re.findall(r"--([\w-]+):(#\w{6})", printed)) == LIGHT


@SETS
def test_text_can_be_read_in_both_sets(colours):
    for ground in ("paper", "panel"):
        for text in ("ink", "faint", "link"):
            assert contrast(colours[text], colours[ground]) >= 4.5, f"{text} on {ground}"
    assert contrast(colours["warn-ink"], colours["warn-panel"]) >= 4.5


@SETS
def test_lines_and_marks_stand_out_in_both_sets(colours):
    series = [colours[f"series-{i}"] for i in range(1, SERIES + 1)]
    assert len(set(series)) == SERIES
    assert all(contrast(colour, colours["paper"]) >= 3 for colour in series)


def test_charts_have_no_colours_or_fonts_of_their_own():
    for svg in charts("plain"):
        assert "var(--" in svg
        assert not re.search(r"#[0-9a-fA-F]{6}\b", svg)
        assert "font-family" not in svg
        assert "DejaVu" not in svg
        root = ElementTree.fromstring(svg)
        texts = root.findall(".//{http://www.w3.org/2000/svg}text")
        assert texts  # text is text, not outlines
        assert "width" not in root.attrib
        assert "viewBox" in root.attrib


def test_a_method_looks_alike_in_all_charts_and_no_two_methods_look_alike():
    context = PageContext(["a", "b"])
    assert context.style("a") != context.style("b")
    assert context.style("a") == PageContext(["a"]).style("a")
    looks = [(style.colour, style.marker, style.dash) for style in map(Style, range(32))]
    assert len(set(looks)) == len(looks)
    without_colour = {(marker, dash) for _, marker, dash in looks}
    without_line = {(colour, marker) for colour, marker, _ in looks}
    assert len(without_colour) == len(without_line) == len(looks)


def test_a_thinned_line_keeps_its_ends_and_its_shape():
    x = np.linspace(0, 1, 5000)
    y = np.where(x < 0.5, 1.0, 0.0)
    kept_x, kept_y = thinned(x.tolist(), y.tolist(), 100)
    assert len(kept_x) <= 100
    assert (kept_x[0], kept_x[-1]) == (0.0, 1.0)
    assert np.mean(np.abs(np.interp(x, kept_x, kept_y) - y)) < 0.01
    assert thinned([1, 2], [3, 4], 100) == ([1, 2], [3, 4])


def test_only_numbers_that_have_a_place_among_others_are_sorted_by():
    cells = [Cell("inf", float("inf")), Cell("–", float("nan")), Cell("0.5", 0.5), Cell("–")]
    table = TableBlock("a", [Column("name"), Column("n", True)], [[cell, cell] for cell in cells])
    page = read_html(render_page(Page("a", "a", [Section("a", "top", [table])])))
    rows = next(page.every("tbody")).every("tr")
    values = [[cell.attributes.get("data-value") for cell in row.every("th", "td")] for row in rows]
    assert values == [[None, None], [None, None], ["0.5", "0.5"], [None, None]]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(("sign", "wanted"), [(1, ["1", "9", "a", "b"]), (-1, ["9", "1", "b", "a"])])
def test_what_is_nothing_is_sorted_last_in_both_directions(sign, wanted):
    script = re.search("<script>(.*?)</script>", page_with("plain"), re.DOTALL).group(1)
    own = "".join(
        re.search(rf"  function {name}\(.*?\n  }}\n", script, re.DOTALL).group() for name in ("valueOf", "compare")
    )
    cells = [("–",), ("b",), ("",), ("9", "9"), ("a",), ("–",), ("1", "1"), ("",)]
    rows = [{"cells": [{"textContent": text, "dataset": {"value": v[0]} if v else {}}]} for text, *v in cells]
    own += f"const rows = {json.dumps(rows)}.map((row, i) => ({{ i: i, value: valueOf(row, 0), row: row }}));\n"
    own += f"rows.sort((a, b) => compare(a.value, b.value, {sign}) || a.i - b.i);\n"
    own += "console.log(JSON.stringify(rows.map((one) => one.row.cells[0].textContent)));"
    done = subprocess.run(["node", "-e", own], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [*wanted, "–", "", "–", ""]
