"""Packages that ``plugins new`` writes: they register, pass their own tests, and are refused where they would harm."""

import importlib.util
import subprocess
import sys

import pytest
from support import lay_out, run

from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import registry
from zslplat.scaffold import KINDS, write_package

NAMES = {"kernel": "foo", "method": "my-ridge", "dataset": "toy-set"}


@pytest.fixture(params=NAMES)
def package(request, tmp_path):
    kind = request.param
    folder = tmp_path / f"zslplat-{NAMES[kind]}"
    written = write_package(kind, NAMES[kind], folder, registry())
    assert all(path.is_file() for path in written)
    return kind, folder


def test_package_passes_its_own_tests_as_written(package, tmp_path):
    _, folder = package
    done = run(["pytest", "-q", "-p", "no:cacheprovider", folder], lay_out(folder, tmp_path / "site"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_package_is_shown_with_its_origin(package, tmp_path):
    kind, folder = package
    path = lay_out(folder, tmp_path / "site")
    shown = run(["zslplat", "show", NAMES[kind]], path, tmp_path)
    assert f"{KINDS[kind].words} {NAMES[kind]}  (from zslplat-{NAMES[kind]} 0.1.0)" in shown.stdout, shown.stderr


def test_package_has_no_placeholder_left(package):
    _, folder = package
    for path in folder.rglob("*"):
        if path.is_file():
            assert "$" not in path.read_text(), path
    assert (folder / "README.md").read_text().startswith("# zslplat-")


def test_package_is_clean_for_the_linter(package):
    _, folder = package
    pytest.importorskip("ruff", reason="ruff is not installed")
    for verb in (["check", "--select", "E,F,W,I,B,UP"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *verb, "--isolated", "--no-cache", "--line-length", "120", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not in this environment")
def test_package_is_installed_by_pip_as_written(tmp_path):
    folder, site = tmp_path / "zslplat-foo", tmp_path / "site"
    write_package("kernel", "foo", folder, registry())
    done = run(["pip", "install", "--quiet", "--no-deps", "--target", site, folder], "", tmp_path)
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("pip finds no setuptools to build with; it needs an index or a folder of wheels")
    assert done.returncode == 0, done.stderr
    checked = run(["zslplat", "plugins", "check", "zslplat-foo"], str(site), tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "23 checks, none failed" in checked.stdout


@pytest.mark.parametrize("name", ["Foo", "foo_bar", "2d", "foo--bar", "", "foo-", "../foo"])
def test_name_that_is_no_lower_case_word_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match="lower-case words"):
        write_package("kernel", name, tmp_path / "new", registry())
    assert not (tmp_path / "new").exists()


def test_name_that_is_taken_is_refused(tmp_path):
    with pytest.raises(UsageError, match="'gaussian' exists already, in zslplat"):
        write_package("kernel", "gaussian", tmp_path / "new", registry())


@pytest.mark.parametrize("name", ["class", "kernel", "radial-kernel"])
def test_name_that_hides_another_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match="would clash"):
        write_package("kernel", name, tmp_path / "new", registry())


def test_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="is there already"):
        write_package("kernel", "foo", tmp_path, registry())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_unknown_kind_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean kernel"):
        write_package("kernels", "foo", tmp_path / "new", registry())
