"""The pages for contributors name what exists; the glossary says one thing per word, in order."""

from __future__ import annotations

import importlib.util
import re

import pytest
from import_graph import ROOT

PAGE = ROOT / "docs" / "glossary.md"
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| word")
]
SECTIONS = [section for section in PAGE.read_text().split("\n## ")[1:]]


def test_no_word_stands_twice():
    words = [word for word, _, _ in LINES]
    assert len(set(words)) == len(words) > 50


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.splitlines()[0])
def test_words_are_in_alphabetical_order(section):
    words = re.findall(r"^\| (?!word)([A-Za-z][^|]*?) \|", section, flags=re.MULTILINE)
    assert words == sorted(words, key=str.lower)


@pytest.mark.parametrize("home", sorted({home for _, _, home in LINES}))
def test_every_home_is_a_module_or_a_page(home):
    module = re.fullmatch(r"`(zslplat[\w.]*)`", home)
    if module:
        assert importlib.util.find_spec(module[1]) is not None
    else:
        assert (PAGE.parent / re.fullmatch(r"\[[^\]]+\]\(([\w.-]+)\)", home)[1]).is_file()


# Paths of the store and of other projects, which no page can point to here.
ELSEWHERE = {"model/", "studies/", "evaluations/", "artifacts/", "cache/", "mlruns/", "studies/NAME/workers.log"}


def test_every_path_of_the_pages_for_contributors_exists():
    """Paths may leave out the folders in front; ``KIND`` stands for each family."""
    folders = ("zslplat", "plugins", "docs", "tests", "benchmarks", "examples", ".ci")
    files = {path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()}
    files |= {path.relative_to(ROOT) for path in ROOT.glob("*") if path.is_file()}
    paths = {f"/{path}" for file in files for path in (file, *file.parents)}
    for page in ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/processes.md"):
        named = set(re.findall(r"`([\w./-]+/[\w./-]*|[\w./-]+\.py)`", (ROOT / page).read_text())) - ELSEWHERE
        named = {name.replace("KIND", "coding").rstrip("/") for name in named if "_build" not in name}
        assert {name for name in named if not any(path.endswith(f"/{name}") for path in paths)} == set(), page
