"""Sentences are short: in README, pages, tutorials, help texts and error messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from zslplat.cli.app import app

ROOT = Path(__file__).parents[2]
MOST_WORDS = 25
# Made by a command, with captions and verdicts of papers.
MADE = {"results.md", "reproduction.md"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md")),
    *sorted((ROOT / "zslplat").glob("skills/*/SKILL.md")),
    *sorted((ROOT / "plugins").glob("*/*/skills/*/SKILL.md")),
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE),
    *sorted((ROOT / "zslplat" / "checks" / "pages").glob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SOURCES = sorted((ROOT / "zslplat").rglob("*.py"))
# Calls whose text a user reads.
MESSAGE = re.compile(r"(Error|Exception|Warning|Exit)$|^(warn|echo|fail|note)$")
FENCE = re.compile(r"^[ ]*(`{3,}).*?^[ ]*\1[ ]*$", flags=re.MULTILINE | re.DOTALL)


def blocks(markdown: str) -> Iterator[str]:
    """Yield paragraphs, items of lists and cells of tables; code, comments and targets of links are left out."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("\n\n", markdown), flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n[ ]*\n", text):
        words: list[str] = []
        for line in paragraph.split("\n"):
            item = re.match(r"\s*(?:[-*]|\d+\.) (.*)", line)
            if line.startswith(("|", "#")):
                yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|# ")))
            elif re.fullmatch(r"[=-]{3,}", line):  # the title of a section of a tutorial
                words = []
            elif item:
                yield " ".join(words)
                words = [item[1]]
            elif words or not line.startswith("    "):
                words.append(line.strip())
        yield " ".join(words)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; a piece of code is one word, and a chain of semicolons is cut in two."""
    text = re.sub(r"``.+?``|`[^`]*`", "code", " ".join(text.split()))
    yield from re.split(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Zc\d])", text)


def too_long(text: str) -> list[str]:
    """Return the sentences of a paragraph with too many words, or with more than one semicolon."""
    return [
        sentence
        for sentence in sentences(text)
        if len(re.findall(r"\S*\w\S*", sentence)) > MOST_WORDS or sentence.count(";") > 1
    ]


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sentences_of_a_page_are_short(page):
    assert [found for block in blocks(page.read_text(encoding="utf-8")) for found in too_long(block)] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_sentences_of_a_tutorial_are_short(path):
    text = path.read_text(encoding="utf-8")
    parts = [ast.get_docstring(ast.parse(text)) or "", *re.findall(r"^# %%\n((?:#.*\n)+)", text, flags=re.MULTILINE)]
    prose = "\n\n".join(re.sub(r"^# ?", "", part, flags=re.MULTILINE) for part in parts)
    assert [found for block in blocks(prose) for found in too_long(block)] == []


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield (where, text) of every command and option."""
    pending = [("zslplat", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop()
        yield name, command.help or ""
        yield from ((f"{name} {p.name}", getattr(p, "help", "") or "") for p in command.params)
        pending += [(f"{name} {short}", below) for short, below in getattr(command, "commands", {}).items()]


def test_sentences_of_help_texts_are_short():
    assert {(name, long) for name, text in help_texts() for block in blocks(text) for long in too_long(block)} == set()


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of what a file says when something is wrong: literals, each value in them one word."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if MESSAGE.search(name):
            for literal in [*node.args, *(word.value for word in node.keywords)]:
                if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                    yield node.lineno, literal.value
                elif isinstance(literal, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "x" for part in literal.values)
                    yield node.lineno, "".join(map(str, parts))


def test_sentences_of_messages_are_short():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path in SOURCES
        for line, text in messages(path)
        for part in text.split("; ")
        for sentence in too_long(part)
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Short. " * 9, 0),
        ("word " * 26, 1),
        ("word " * 25, 0),
        ("One; two; three.", 1),
        ("`a b c d e f` " * 20, 0),
        (f"{'word ' * 20}. {'Word ' * 20}", 0),
    ],
)
def test_words_are_counted(text, count):
    assert len(too_long(text)) == count
