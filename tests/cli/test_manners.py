"""What every command does alike: help, completion in shells, lists with filters."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from zslplat.cli import completion
from zslplat.cli.app import _root
from zslplat.cli.commands import OTHERS, SECTIONS
from zslplat.data.catalogue import FILE_SUFFIXES


def all_commands(command, path=()):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from all_commands(below, (*path, name))


@pytest.fixture(scope="module")
def commands():
    return list(all_commands(_root()))


def test_every_command_takes_the_short_form_of_help(call, commands):
    assert len(commands) > 30
    for path in commands:
        done = call(*path, "-h")
        assert (done.returncode, done.stderr) == (0, ""), path
        assert "-h, --help" in done.stdout, path


def test_commands_stand_in_groups_each_once_with_a_whole_sentence(call, commands, monkeypatch):
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = call("--help").stdout
        assert "..." not in text.partition("\n")[2]
        for heading in ("Experiments", "Data", "Components and plugins", "Store"):
            assert f"\n{heading}:\n" in text
        for path in commands:
            if len(path) == 1:
                assert len(re.findall(rf"^  {path[0]}  ", text, flags=re.MULTILINE)) == 1, path
        assert max(map(len, text.splitlines())) <= columns
    assert f"\n{OTHERS}:\n" not in text


def test_no_group_names_a_command_twice():
    placed = [name for _, names in SECTIONS for name in names]
    assert len(placed) == len(set(placed))


def test_options_of_places_and_output_stand_under_headings(call):
    text = call("tune", "--help").stdout
    places, output = text.index("\nPlaces:\n"), text.index("\nOutput:\n")
    assert text.index("--trials") < places < text.index("--store") < output < text.index("--json")


@pytest.fixture(scope="module")
def shell(tmp_path_factory, program_environment):
    """Return what a real bash offers at the end of a line; the program on its path is this one."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "zslplat"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m zslplat "$@"\n')
    program.chmod(0o755)
    environment = {**program_environment, "PATH": f"{folder}:{program_environment['PATH']}"}

    def offered(line, cwd=folder):
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        script = (
            f'eval "$(zslplat --show-completion bash)"; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; '
            "$(complete -p zslplat | sed 's/.*-F \\([^ ]*\\).*/\\1/') zslplat; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        command = ["bash", "--norc", "-c", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=cwd, timeout=800)
        assert done.stderr == ""
        return done.stdout.split()

    return offered


@pytest.mark.long
def test_bash_completes_commands_options_and_names(shell):
    lines = {
        "zslplat tu": ["tune"],
        "zslplat studies ": ["list", "show", "delete"],
        "zslplat tune --meth": ["--method"],
        "zslplat tune -m eszsl -d digit-": ["digit-pairs", "digit-retrieval", "digit-sets"],
        "zslplat tune --kernel gau": ["gaussian"],
    }
    assert {line: shell(line) for line in lines} == lines


@pytest.mark.parametrize(
    ("complete", "incomplete", "offered"),
    [
        (completion.methods, "mfmr", ["mfmr", "mfmr-joint"]),
        (completion.tasks, "retr", ["retrieval"]),
        (completion.components, "l2-", ["l2-laplacian"]),
        (completion.checks, "ZSP101", ["ZSP101"]),
        (completion.suites, "qu", ["quick"]),
        (completion.distributions, "zslplat", ["zslplat"]),
        (completion.methods, "no such", []),
    ],
)
def test_names_are_completed_from_the_registry(complete, incomplete, offered):
    assert set(offered) <= set(complete(incomplete))
    assert bool(offered) == bool(complete(incomplete))


@pytest.mark.long
def test_bash_completes_studies_of_the_store_that_the_line_names(shell, reference, tmp_path):
    store, printed = reference
    begun = f"zslplat studies show --store {store} pl"
    assert shell(begun, cwd=tmp_path) == [printed["name"]]
    assert shell("zslplat studies show pl", cwd=tmp_path) == []
    assert list(tmp_path.iterdir()) == []  # completing makes no store


@pytest.mark.long
def test_data_sets_of_the_root_are_completed_by_the_names_that_are_asked_for(shell, tmp_path):
    root = tmp_path / "root"
    (root / "flowers-folder").mkdir(parents=True)
    for name in (*(f"flowers-{suffix[1:]}{suffix}" for suffix in FILE_SUFFIXES), "flowers.txt", ".flowers-hidden"):
        (root / name).touch()
    found = shell(f"zslplat tune --data-root {root} --dataset flow", cwd=tmp_path)
    assert found == sorted(["flowers-folder", *(f"flowers-{suffix[1:]}" for suffix in FILE_SUFFIXES)])


def test_completion_loads_no_heavy_library():
    # Without the plugin of the tests, which loads what it likes.
    environment = {**os.environ, "_ZSLPLAT_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    environment["COMP_WORDS"] = "zslplat\ntune\n--method\nmf"
    command = [sys.executable, "-X", "importtime", "-m", "zslplat"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800)
    assert done.stdout.split() == ["mfmr", "mfmr-joint"]
    loaded = set(re.findall(r"\|\s+([\w.]+)$", done.stderr, flags=re.MULTILINE))
    assert not loaded & {"numpy", "optuna", "sqlalchemy", "mlflow", "matplotlib", "rich.console"}


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(call, shell_name):
    done = call("--show-completion", shell_name)
    assert done.returncode == 0
    assert f"complete_{shell_name}" in done.stdout


def test_another_shell_is_one_clear_error(call):
    done = call("--show-completion", "bsh")
    assert (done.returncode, done.stderr) == (2, "error: unknown shell 'bsh'; did you mean bash, zsh, fish?\n")


def test_lists_say_in_a_line_what_everything_is(call):
    rows = json.loads(call("list", "--json").stdout)["components"]
    own = [row for row in rows if row["from"][0].startswith("zslplat ") and row["kind"] != "checks"]
    assert len(own) > 90
    assert all(row["summary"] for row in own)


def test_lists_are_narrowed_by_kind_and_words(call):
    def listed(*words):
        done = call("list", *words, "--json")
        assert done.returncode == 0, done.stderr
        return {row["name"] for row in json.loads(done.stdout)["components"]}

    assert {"kllc", "src"} < listed("methods", "--kind", "coding")
    assert listed("tasks", "--kind", "coding") == {"coding"}
    assert listed("methods", "--kind", "zero-shot", "--search", "kernel closed FORM") == {"gfzsl", "keszsl"}
    assert listed("--search", "semantic autoencoder") == {"sae"}
    assert listed("--search", "no such words at all") == set()


def test_a_filter_that_fits_nothing_says_so(call):
    done = call("list", "methods", "--kind", "codin")
    assert (done.returncode, "did you mean coding?" in done.stderr) == (2, True)
    assert call("list", "kernels", "--kind", "coding").returncode == 2
    done = call("list", "kernels", "--search", "nothing like it")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing fits" in done.stderr


def test_names_are_whole_on_a_narrow_terminal(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = call("list", "kernels").stdout
    assert "histogram-intersection" in text
