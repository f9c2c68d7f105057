"""Long tests are left out where nobody asks for them, in one process and in several."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import with_own_path

OWN = {
    "pytest.ini": "[pytest]\ntestpaths = tests\nmarkers =\n    long\n    services\n",
    "tests/test_both.py": """
import pytest

@pytest.mark.long
def test_slow(): pass

def test_quick(): pass
""",
    "tests/test_whole.py": """
import pytest

pytestmark = [pytest.mark.services, pytest.mark.long]

def test_far(): pass
""",
}
ALL = {"test_slow", "test_quick", "test_far"}


@pytest.mark.long
@pytest.mark.parametrize("processes", [(), ("-n", "2")])
@pytest.mark.parametrize(
    ("asked", "run"),
    [
        ((), {"test_quick"}),
        (("--all",), ALL),
        (("tests",), ALL),
        (("tests/test_both.py::test_slow",), {"test_slow"}),
        (("-k", "slow"), {"test_slow"}),
        (("-m", "services"), {"test_far"}),
    ],
)
def test_long_tests_run_where_they_are_asked_for(asked, run, processes, tmp_path):
    for name, text in OWN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "long_tests", "--basetemp", "temporary", "-v", *processes, *asked]
    path = with_own_path(str(Path(__file__).parent))
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name for name in ALL if f"::{name}" in done.stdout} == run
    assert ("long tests are left out" in done.stdout) == (asked == ())
