"""Every component has a page with the same sections, and nothing on it is missing or cannot be shown."""

import re

import pytest

from zslplat.registry import registry
from zslplat_site import components
from zslplat_site.components import KINDS, OPTIONAL, SECTIONS, ComponentFacts, links

OWN = [
    (kind, name)
    for kind in KINDS
    for name in registry().names(kind)
    if registry().entry(kind, name).plugin.distribution == "zslplat"
]
FORMULA = re.compile(r"```\{math\}\n(.*?)\n```", flags=re.DOTALL)


def page_of(kind, name):
    facts = ComponentFacts.of(registry().entry(kind, name))
    return facts, components.page(facts, "shown elsewhere", links(f"{kind}/"))


@pytest.mark.parametrize(("kind", "name"), OWN)
def test_nothing_is_missing_from_the_page_of_a_component(kind, name):
    facts, page = page_of(kind, name)
    assert facts.missing() == []
    titles = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert [title for title in titles if title not in OPTIONAL] == [s for s in SECTIONS if s not in OPTIONAL]
    for parameter in facts.component.parameters:
        assert f"| `{parameter}` |" in page, parameter
    assert "$$" not in page


@pytest.mark.parametrize(("kind", "name"), OWN)
def test_every_formula_can_be_shown(kind, name):
    latex = pytest.importorskip("docutils.utils.math.latex2mathml")
    _, page = page_of(kind, name)
    for formula in FORMULA.findall(page):
        assert "<math" in latex.tex2mathml(formula, as_block=True)


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, n in OWN if k in ("methods", "kernels")])
def test_methods_and_kernels_have_a_formula(kind, name):
    _, page = page_of(kind, name)
    assert FORMULA.search(page)


@pytest.mark.parametrize(("kind", "name"), OWN)
def test_related_components_are_there_and_linked(kind, name):
    facts, page = page_of(kind, name)
    named = set(re.findall(r"``([\w-]+)``", facts.related()))
    known = {n for k in KINDS for n in registry().names(k)}
    assert named & known
    assert name not in named
    # Words between backticks that are no component are options of one, and there are few of these.
    assert named - known <= {"base"}
    for other in named & known:
        assert f"[`{other}`](../" in page.partition("## Related")[2]


def test_no_tag_is_said_twice():
    for kind, name in OWN:
        (line,) = re.findall(r"^- kind: (.*)$", page_of(kind, name)[1], flags=re.MULTILINE)
        tags = line.split(", ")
        assert len(set(tags)) == len(tags), f"{name}: {line}"


def test_index_lists_every_component_of_its_kind():
    for kind in KINDS:
        found = [ComponentFacts.of(registry().entry(kind, name)) for name in registry().names(kind)]
        pages = dict(components.indexes(kind, found))
        listed = [name for text in pages.values() for name in text.partition(":hidden:")[2].split()]
        assert sorted(set(listed) - set(pages) - {"```"}) == sorted(facts.entry.name for facts in found)
        assert set(pages) - {"index"} == set(listed) & set(pages)
        for facts in found:
            assert f"| [{facts.entry.name}]({facts.entry.name}.md) |" in pages["index"]


def test_a_component_that_says_nothing_is_told_of():
    facts, _ = page_of("methods", "eszsl")
    silent = ComponentFacts(facts.entry, facts.component, {**facts.shown, "citation": ""}, facts.file, facts.file)
    assert {"What it solves", "Source", "Related"} <= set(silent.missing())
