"""Every kept result names the code that made it: a commit of this history, without changes on top."""

import csv
import subprocess
from pathlib import Path

import pytest

from zslplat_papers.reproduction.results import PACKAGED

HERE = Path(__file__).parent


def git(*arguments):
    return subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=False)


def test_every_kept_commit_is_in_the_history():
    try:
        shallow = git("rev-parse", "--is-shallow-repository").stdout.strip()
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if shallow != "false":
        pytest.skip("no git history, or a part of it alone")
    history = {commit[:12] for commit in git("rev-list", "HEAD").stdout.split()}
    kept = {}
    for path in sorted(PACKAGED.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            kept |= {(path.name, line["commit"]): line["kept"] for line in csv.DictReader(file)}
    assert kept
    assert [f"{name}: {commit}" for name, commit in kept if commit not in history] == []
