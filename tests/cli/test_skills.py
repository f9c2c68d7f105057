"""Skills tell the truth: each is carried out, step by step; programs reach them and AGENTS.md without a network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from written_pages import carry_out, write_birds

import build
from zslplat.cli.app import _root

ROOT = Path(__file__).parents[2]
SKILLS = sorted(ROOT.glob("zslplat/skills/*/SKILL.md"))
ALL = [*SKILLS, *sorted(ROOT.glob("plugins/*/zslplat_*/skills/*/SKILL.md"))]


@pytest.mark.long
@pytest.mark.timeout(900)  # many commands, one after another
@pytest.mark.parametrize("skill", ALL, ids=lambda path: path.parent.name)
def test_every_step_works(skill, tmp_path):
    write_birds(tmp_path)
    finished = carry_out(skill, tmp_path)
    assert len(finished) >= 4
    for words, done in finished:
        expected = (0, 4, 3) if "gate" in words else (0,)  # of a few trials the gate may say anything
        assert done.returncode in expected, f"{words}\n{done.stdout}\n{done.stderr}"
        if "--json" in words:
            assert json.loads(done.stdout)


@pytest.mark.parametrize("skill", ALL, ids=lambda path: path.parent.name)
def test_the_head_names_the_skill_and_says_when_to_use_it(skill):
    head = re.match(
        r"---\nname: (?P<name>[a-z-]{1,64})\ndescription: (?P<text>[^:\n]{40,1024})\n---\n", skill.read_text()
    )
    assert head
    assert head["name"] == skill.parent.name
    assert "Use " in head["text"]


def test_docs_writes_the_skills_of_all_plugins_beside_the_page_for_programs(call, tmp_path):
    done = call("docs", "--skills", "skills")
    assert done.returncode == 0, done.stderr
    written = {path.relative_to(tmp_path / "skills") for path in (tmp_path / "skills").rglob("*.md")}
    assert {Path(line).relative_to("skills") for line in done.stdout.split()} == written
    assert {Path("AGENTS.md"), *(Path(skill.parent.name, "SKILL.md") for skill in SKILLS)} <= written


def test_the_page_for_programs_is_short_and_names_every_skill_and_command():
    page = (ROOT / "AGENTS.md").read_text()
    assert len(page.encode()) <= 6000
    assert {skill.parent.name for skill in ALL} <= set(re.findall(r"`([\w-]+)`", page))


@pytest.mark.parametrize("page", [ROOT / "AGENTS.md", *ALL], ids=lambda path: path.parent.name)
def test_commands_in_a_sentence_exist(page):
    root = _root()
    lines = re.findall(r"`zslplat ([a-z][a-z-]*(?: [a-z-]+)?)", page.read_text())
    for first, _, second in (line.partition(" ") for line in lines):
        assert first in root.commands, first
        group = root.commands[first]
        assert not hasattr(group, "commands") or second in group.commands, f"{first} {second}"


def test_links_of_the_contents_for_programs_lead_to_pages():
    links = re.findall(r"\]\(([^)]+)\)", build.contents_for_programs(ROOT / "docs"))
    assert len(links) > 25
    for link in links:
        made = re.fullmatch(r"generated/(methods|kernels|tasks|datasets)/index\.html", link)
        assert made or (ROOT / "docs" / link).with_suffix(".md").is_file(), link
