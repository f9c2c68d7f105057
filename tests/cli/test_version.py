"""The version is written in one place."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import zslplat

ROOT = Path(__file__).parents[2]


def test_version_is_that_of_the_installed_package(call):
    assert zslplat.__version__ == version("zslplat")
    done = call("--version")
    assert (done.returncode, done.stdout) == (0, f"zslplat {version('zslplat')}\n")


def test_version_is_written_in_pyproject_alone():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    again = re.compile(rf"""["']{re.escape(written)}["']""")
    places = [path for path in (ROOT / "zslplat").rglob("*.py") if again.search(path.read_text())]
    assert places == []
