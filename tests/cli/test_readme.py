"""The README tells the truth: its commands run, its example works, its install lines are those of the checks."""

from __future__ import annotations

import importlib
import re
import shlex
import sqlite3
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]


def test_every_command_of_the_readme_runs(call, tmp_path):
    assert len(COMMANDS) >= 12
    for command in COMMANDS:
        words = shlex.split(command)
        assert words[0] == "zslplat"
        if words[1] == "ui":
            continue
        done = call(*_filled_in(words[1:], tmp_path))
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command


def _filled_in(words, folder):
    """Put a study and a run of this folder where the README has a placeholder; four trials do for a test."""
    if "--trials" in words:
        words = [*words[: words.index("--trials") + 1], "4", *words[words.index("--trials") + 2 :]]
    filled = []
    for word in words:
        if "STUDY" in word:
            studies = sorted((folder / "mlruns" / "studies").glob("mfmr-joint@*"))
            word = word.replace("STUDY", studies[0].name)
        if word == "RUN":
            connection = sqlite3.connect(folder / "mlruns" / "mlflow.db")
            query = "select run_uuid from tags where key = 'zslplat.kind' and value = 'trial'"
            word = connection.execute(query).fetchone()[0]
        filled.append(word)
    return filled


def test_the_two_commands_are_those_of_the_checks():
    lines = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)
    assert len(lines) == 2
    assert all("\n" not in line for line in lines)
    assert lines[0].endswith("&& .venv/bin/zslplat tune --method mfmr-joint")
    checks = (ROOT / ".ci" / "run").read_text()
    for part in lines[1].split(" && "):
        assert part.replace("pip install", "pip install --quiet").replace("-m pytest", "-m pytest -q") in checks


def test_the_plugin_of_the_readme_is_a_kernel_with_its_gradient(tmp_path, monkeypatch):
    from zslplat.testing import check_kernel

    (source,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "readme_example.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    example = importlib.import_module("readme_example")
    assert example.zslplat_kernels() == {"rational": example.Rational}
    check_kernel(example.Rational())


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README))
def test_the_pictures_are_there(picture):
    assert (ROOT / picture).stat().st_size > 5000
