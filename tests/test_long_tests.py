"""Long tests are left out unless they are requested; ``--changed`` runs the tests of edited code."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from import_graph import PACKAGE, ROOT
from long_tests import MOST_FILES, REGISTRY_TESTS, TESTS, Changes
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
@pytest.mark.parametrize(
    ("arguments", "run"),
    [
        ((), {"test_quick"}),
        (("-n", "2"), {"test_quick"}),
        (("--all",), ALL),
        (("--all", "-n", "2"), ALL),
        (("tests",), {"test_quick"}),
        (("tests/test_both.py",), {"test_quick"}),
        (("tests/test_both.py::test_slow",), {"test_slow"}),
        (("-k", "slow"), {"test_slow"}),
        (("-m", "services"), {"test_far"}),
    ],
)
def test_long_tests_run_where_they_are_requested(arguments, run, tmp_path):
    for name, text in OWN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "long_tests",
        "--basetemp",
        "temporary",
        "-v",
        *arguments,
    ]
    path = with_own_path(str(Path(__file__).parent))
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name for name in ALL if f"::{name}" in done.stdout} == run
    assert ("long tests are left out" in done.stdout) == (run == {"test_quick"})


def test_an_edited_method_is_tested_by_its_own_tests_and_its_part_of_the_kit():
    changes = Changes({PACKAGE / "families" / "zero_shot" / "methods" / "eszsl.py"})
    assert {"ESZSL"} <= changes.classes
    assert changes.has_file(next(TESTS.rglob("test_methods_closed_forms.py")))
    assert all(changes.has_file(path) for path in REGISTRY_TESTS)
    assert len(changes.files) < MOST_FILES
    assert not changes.has_file(next(TESTS.rglob("test_csv_faults.py")))


def test_a_module_that_most_of_the_package_needs_is_tested_by_what_imports_it():
    changes = Changes({PACKAGE / "plain_json.py"})
    assert changes.has_file(TESTS / "test_plain_json.py")
    assert len(changes.files) < len(list(TESTS.rglob("test_*.py"))) / 2


def test_edited_tests_and_users_of_edited_helpers_run():
    changes = Changes({TESTS / "test_names.py", TESTS / "semfs_toys.py", ROOT / "README.md"})
    assert TESTS / "test_names.py" in changes.files
    assert any("semfs" in path.name for path in changes.files)
    assert changes.other == [ROOT / "README.md"]


@pytest.mark.long
@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="no clone of the repository")
def test_changed_selects_tests_by_what_git_calls_edited(tmp_path):
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, tmp_path / "clone"], check=True)
    with (next((tmp_path / "clone" / "zslplat" / "families").rglob("eszsl.py"))).open("a") as file:
        file.write("\n# edited\n")
    command = [sys.executable, "-m", "pytest", "--changed", "--co", "-q", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": with_own_path(str(tmp_path / "clone"))}
    done = subprocess.run(command, cwd=tmp_path / "clone", env=environment, capture_output=True, text=True)
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    assert any("test_methods_closed_forms.py::" in line for line in tests), done.stdout + done.stderr
    assert any("[ESZSL(" in line for line in tests)
    assert not any("test_csv" in line for line in tests)
