"""README, start page and cookbook tell the truth: commands run, blocks of Python run, numbers are those printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from written_pages import commands, write_birds

import zslplat

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
COOKBOOK = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")


def programs(page):
    """Return the blocks of Python of a page."""
    return re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)


@pytest.fixture
def birds(tmp_path):
    """A table of the README's user, the classes of its rows, and new rows with new classes."""
    write_birds(tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1500)  # many commands, one after another
@pytest.mark.parametrize("page", [README, START], ids=["README", "start"])
def test_every_command_runs(page, call, tmp_path, birds):
    assert len(commands(page)) >= 6
    for command in commands(page):
        words = shlex.split(command)
        assert words[0] == "zslplat"
        if "--trials" in words:
            words[words.index("--trials") + 1] = "3"
        done = call(*words[1:])
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command


@pytest.mark.long
@pytest.mark.parametrize("page", [README, START], ids=["README", "start"])
def test_every_program_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for code in programs(page):
        exec(compile(code.replace("trials=20", "trials=3"), "<page>", "exec"), {"__name__": "__main__"})
        printed = capsys.readouterr().out
        (shown,) = re.findall(re.escape(code) + r"```\n\n```text\n(.*?)```", page, flags=re.DOTALL) or [""]
        assert shown in printed


def test_twenty_recipes_have_a_page_and_few_lines():
    recipes = re.split(r"^\*\*", COOKBOOK, flags=re.MULTILINE)[1:]
    assert len(recipes) == 20
    for recipe in recipes:
        assert re.search(r"\]\([\w./#-]+\)", recipe), recipe
        assert sum(line.startswith("$ ") for line in recipe.splitlines()) <= 3


@pytest.mark.long
def test_programs_of_the_cookbook_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = zslplat.load_dataset("digit-pairs(rows=10)")
    rows = np.isin(data.y, np.unique(data.y)[::3])
    names = np.array([{0: "heron", 3: "wren"}.get(c, data.class_names[c]) for c in range(len(data.class_names))])
    S = {name: row for name, row in zip(names, data.class_signatures()[0], strict=True) if name in names[data.y[rows]]}
    for code in programs(COOKBOOK):
        arrays = {"X": data.X[rows], "y": names[data.y[rows]], "S": S}
        exec(compile(code, "<cookbook>", "exec"), {"zslplat": zslplat, **arrays})


def test_the_readme_is_short():
    assert len(README.encode()) <= 8000


def test_the_two_commands_are_those_of_the_checks():
    lines = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)
    assert len(lines) == 2
    assert all("\n" not in line for line in lines)
    assert lines[0].endswith("&& .venv/bin/zslplat tune --method mfmr-joint")
    checks = (ROOT / ".ci" / "run").read_text()
    for part in lines[1].split(" && "):
        assert part.replace("pip install", "pip install --quiet").replace("-m pytest", "-m pytest -q") in checks


def test_the_readme_has_no_link_that_a_package_index_cannot_follow():
    assert re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)", README) == []


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README))
def test_the_pictures_are_there(picture):
    assert 5000 < (ROOT / picture).stat().st_size < 60000
