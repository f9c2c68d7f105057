"""The glossary says one thing per word, in order, and each home exists."""

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
