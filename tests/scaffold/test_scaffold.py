"""Packages that ``plugins new`` writes: they register, pass their own tests, and are refused where they would harm."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support import lay_out, run

import zslplat
from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import registry
from zslplat.scaffold import forms, write_package

NAMES = {
    "kernel": "foo",
    "zero-shot": "my-ridge",
    "coding": "near-means",
    "feature-selection": "fisher-score",
    "exemplar": "whitened-cosine",
    "dataset": "toy-set",
    "encoder": "cell-colours",
    "task": "worst-class",
    "check": "fold-at-zero",
    "command": "count-plugins",
    "listener": "run-log",
}
LONG = "a-name-of-several-words-that-makes-lines-long"
INSIDE = ("alembic", "distributed", "matplotlib", "mlflow", "optuna", "sqlalchemy", "torch")
COMPONENTS = [kind for kind in NAMES if kind not in ("check", "command", "listener")]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """One package of every kind: their folders by kind, and the paths that make all of them visible."""
    root = tmp_path_factory.mktemp("packages")
    folders, path = {}, []
    for kind, name in NAMES.items():
        folders[kind] = root / f"zslplat-{name}"
        written = write_package(kind, name, folders[kind], registry())
        assert all(file.is_file() for file in written)
        path.append(lay_out(folders[kind], root / f"site-{kind}"))
    return folders, os.pathsep.join(path)


def test_every_kind_is_tried_here():
    assert set(NAMES) == set(forms(registry()))


@pytest.mark.long
def test_packages_pass_their_own_tests_as_written(packages, tmp_path):
    folders, path = packages
    done = run(["pytest", "-q", "-p", "no:cacheprovider", *folders.values()], path, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
    for folder in folders.values():
        assert list(folder.glob("tests/test_*.py"))


@pytest.mark.long
def test_packages_are_listed_with_their_origin(packages, tmp_path):
    listed = run(["zslplat", "list", "--json"], packages[1], tmp_path)
    found = {(row["name"], *row["from"]) for row in json.loads(listed.stdout)["components"]}
    assert {(NAMES[kind], f"zslplat-{NAMES[kind]} 0.1.0") for kind in COMPONENTS} <= found
    plugins = json.loads(run(["zslplat", "plugins", "list", "--json"], packages[1], tmp_path).stdout)
    loaded = {row["distribution"] for row in plugins if row["state"] == "loaded"}
    assert {f"zslplat-{name}" for kind, name in NAMES.items() if kind != "command"} <= loaded


@pytest.mark.long
def test_command_of_a_package_runs_and_is_checked(packages, tmp_path):
    done = run(["zslplat", NAMES["command"]], packages[1], tmp_path)
    assert (done.returncode, "zslplat-foo: 1" in done.stdout.splitlines()) == (0, True), done.stderr
    for kind, count in (("command", 1), ("listener", 2)):
        checked = run(["zslplat", "plugins", "check", f"zslplat-{NAMES[kind]}"], packages[1], tmp_path)
        assert f"{count} checks, none failed" in checked.stdout, checked.stdout + checked.stderr


@pytest.mark.long
def test_check_of_a_package_is_listed_by_its_code_explained_and_keeps_its_promises(packages, tmp_path):
    listed = run(["zslplat", "list", "checks", "--json"], packages[1], tmp_path)
    found = [row for row in json.loads(listed.stdout)["components"] if row["name"] == "FOLDATZERO101"]
    assert [row["from"] for row in found] == [["zslplat-fold-at-zero 0.1.0"]]
    explained = run(["zslplat", "explain", "FOLDATZERO101"], packages[1], tmp_path)
    assert "# FOLDATZERO101: a validation fold is at zero" in explained.stdout, explained.stderr
    checked = run(["zslplat", "plugins", "check", "zslplat-fold-at-zero"], packages[1], tmp_path)
    assert "none failed" in checked.stdout, checked.stdout + checked.stderr


def test_packages_have_no_placeholder_left(packages):
    for folder in packages[0].values():
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert "$" not in path.read_text(), path
        assert (folder / "README.md").read_text().startswith("# zslplat-")


def test_packages_come_with_all_that_a_package_needs(packages):
    for kind, folder in packages[0].items():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        needs = [*project["dependencies"], *project["optional-dependencies"]["test"]]
        assert all(re.fullmatch(r"[\w-]+>=[\d.]+,<\d+", need) for need in needs), needs
        assert any(need.startswith("zslplat>=") for need in needs)
        assert f"developers of zslplat-{NAMES[kind]}" in (folder / "LICENSE").read_text()
        assert "__pycache__/" in (folder / ".gitignore").read_text().splitlines()
        recipe = (folder / ".github" / "workflows" / "checks.yml").read_text()
        for step in ("ruff check .", "ruff format --check .", "mypy .", "pytest", "zslplat plugins check"):
            assert f"- run: {step}" in recipe


@pytest.mark.parametrize("names", [NAMES, dict.fromkeys(NAMES, LONG)], ids=["short", "long"])
def test_packages_are_clean_for_the_linter_by_default_rules(names, tmp_path):
    pytest.importorskip("ruff", reason="ruff is not installed")
    for kind, name in names.items():
        folder = tmp_path / kind
        write_package(kind, name, folder, registry())
        for verb in (["check"], ["format", "--check"]):
            command = [sys.executable, "-m", "ruff", *verb, "--isolated", "--no-cache", "."]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, kind + done.stdout + done.stderr


@pytest.mark.long
def test_packages_are_clean_for_the_type_checker_by_default_rules(packages, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    # An installed zslplat is searched in its place and not checked itself; here it is a folder of sources.
    encoders = importlib.util.find_spec("zslplat_encoders")
    sources = [
        Path(module).parents[1] for module in (zslplat.__file__, encoders.origin) if "site-packages" not in module
    ]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, sources))}
    # What zslplat uses inside, and hands to no plugin, is left unread: it is most of what there is to read.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in INSIDE))
    command = [sys.executable, "-m", "mypy", f"--config-file={settings}", f"--cache-dir={tmp_path}"]
    command.append("--follow-imports=silent")
    command += map(str, packages[0].values())
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
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


def test_check_with_a_code_of_zslplat_itself_is_refused(tmp_path):
    with pytest.raises(UsageError, match="makes the code ZSPMINE101, and ZSP is kept for zslplat"):
        write_package("check", "zsp-mine", tmp_path / "new", registry())


def test_name_that_is_taken_is_refused(tmp_path):
    with pytest.raises(UsageError, match="'gaussian' exists already, in zslplat"):
        write_package("kernel", "gaussian", tmp_path / "new", registry())


def test_command_that_there_is_already_is_refused(tmp_path):
    with pytest.raises(UsageError, match="command 'tune' exists already"):
        write_package("command", "tune", tmp_path / "new", registry(), commands=["tune"])


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
