"""A slice of the fuzz campaign: strange inputs of every kind are taken or refused in one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "campaigns" / "fuzz.py"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(FUZZ), *arguments], capture_output=True, text=True, check=False, env=dict(os.environ)
    )


@pytest.mark.long
def test_no_strange_input_is_a_failure():
    found = run("--inputs", "60", "--seed", "11")
    assert found.returncode == 0, found.stdout + found.stderr
    lines = found.stdout.splitlines()
    assert lines[-2].split()[0] == "all"
    assert lines[-2].split()[-1] == "0"


def test_the_seed_says_which_the_inputs_are():
    texts = ["--kinds", "spec,space", "--inputs", "20", "--seed", "3"]
    assert run(*texts).stdout.splitlines()[:-1] == run(*texts).stdout.splitlines()[:-1]


def test_what_is_no_error_of_zslplat_is_a_failure(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import sys, runpy\nimport zslplat.spec\n"
        "def crash(text):\n    raise KeyError(text)\n"
        "zslplat.spec.parse_value = crash\n"
        f"sys.argv = [{str(FUZZ)!r}, '--inputs', '9', '--kinds', 'spec']\n"
        f"runpy.run_path({str(FUZZ)!r}, run_name='__main__')\n"
    )
    found = subprocess.run([sys.executable, str(broken)], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "KeyError" in found.stdout
