"""What every command does alike: help, completion in shells, lists with filters."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from support import one_line

from zslplat.cli import completion
from zslplat.cli.app import _root
from zslplat.cli.commands import make_command
from zslplat.cli.guidance import FETCH, OTHER_COMMANDS, SECTIONS
from zslplat.data.catalogue import FILE_SUFFIXES
from zslplat.errors import UsageError


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
        for heading, members in SECTIONS:
            assert f"\n{heading}:\n" in text
            for name in members:
                assert len(re.findall(rf"^  {name}  ", text, flags=re.MULTILINE)) == 1, name
        whole = call("--help-all").stdout
        for path in commands:
            if len(path) == 1:
                assert len(re.findall(rf"^  {path[0]}  ", whole, flags=re.MULTILINE)) == 1, path
                assert path[0] in re.split(r"[\s,]+", text), path
        assert max(map(len, (text + whole).splitlines())) <= columns


def test_help_of_every_command_fits_one_screen(call, commands, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for path in commands:
        text = call(*path, "--help").stdout
        assert len(text.splitlines()) <= 40, path
        assert max(map(len, text.splitlines())) <= 80, path


def test_advanced_options_are_shown_where_all_are(call):
    usual, whole = call("tune", "--help").stdout, call("tune", "--help-all").stdout
    for flag in ("--patience", "--tag", "--silence", "--debug"):
        assert flag not in usual, flag
        assert flag in whole, flag
    for flag in ("--pruner", "--batch-size", "--trial-artifacts"):
        assert flag not in whole, flag


def test_an_option_of_study_files_is_answered_with_the_line_of_one(call):
    one_line(call("tune", "eszsl", "--batch-size", 5), 2, "batch_size = ... into study.toml", "--config study.toml")


def test_options_of_plain_functions_are_refused_where_they_stand_twice():
    def fit(trials: int = 1, span: tuple[int, int] = (0, 1)) -> None:
        raise AssertionError("carried out")

    for words, said in [
        (("1",), "--trials takes one value and has 2: 1 and 1"),
        (("0", "2"), "--span takes one value"),
    ]:
        flag = said.partition(" ")[0]
        with pytest.raises(UsageError, match=said):
            make_command("fit", fit).main([flag, *words, flag, *words], standalone_mode=False)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("tune", "eszsl", "marked"), ("tune", "-m", "eszsl", "-d", "marked")),
        (("tune", "eszsl", "--n-trials=3"), ("tune", "-m", "eszsl", "-n", 3)),
        (("tune", "--model", "eszsl", "--n_jobs", 1, "--random-state", 4), ("tune", "eszsl", "-w", 1, "--seed", 4)),
        (("train", "eszsl", "--data", "marked"), ("tune", "eszsl", "marked", "zsl")),
    ],
)
def test_what_other_programs_are_told_is_understood(call, tmp_path, typed, meant):
    for name, arguments in (("typed", typed), ("meant", meant)):
        done = call(*arguments, "--write-config", tmp_path / f"{name}.toml")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "typed.toml").read_text() == (tmp_path / "meant.toml").read_text()


def test_other_programs_commands_lead_to_commands(call, commands):
    for other, meant in OTHER_COMMANDS.items():
        words = tuple(word for word in meant.split() if not word.startswith("--"))
        assert tuple(other.split()) not in commands, other
        # What fetches is the command of a plugin.
        assert words in commands or words[0] == "list" or meant == FETCH, other


def test_a_file_in_the_place_of_a_method_or_after_check_leads_to_its_command(call, tmp_path):
    (tmp_path / "birds.csv").write_text("label,f1\na,1\nb,2\n")
    (tmp_path / "study.toml").touch()
    one_line(call("tune", "birds.csv"), 2, "is a data set", "give zslplat tune eszsl birds.csv")
    one_line(call("tune", "study.toml"), 2, "is a study file", "give zslplat tune --config study.toml")
    assert "note: read as zslplat data check birds.csv\n" in call("check", "birds.csv").stderr
    assert "note: read as zslplat run no-method --test\n" in call("test", "no-method").stderr
    one_line(call("run", "plain", "--verbose"), 2, "unknown option of zslplat run '--verbose'; zslplat run --help-all")


def test_words_of_help_and_version(call):
    assert call("help", "tune").stdout == call("tune", "--help").stdout
    assert call("help").stdout == call("--help").stdout
    assert call("version").stdout == call("--version").stdout


def test_an_option_of_one_value_is_refused_where_it_stands_twice(call, commands):
    group, checked = _root(), 0
    for path in commands:
        command = group
        for name in path:
            command = command.commands[name]
        for option in getattr(command, "options", {}) and command.params:
            if option.param_type_name == "option" and not (option.is_flag or option.multiple):
                done = call(*path, f"{option.opts[0]}=1", option.opts[-1], "2")
                one_line(done, 2, f"^error: {option.opts[0]} takes one value and has 2: 1 and 2; ")
                checked += 1
    assert checked > 100


def test_several_values_of_an_option_that_takes_them_are_joined_by_commas(call):
    done = call("tune", "eszsl", "--metric", "H", "--metric", "AUSUC", "--task", "gzsl")
    one_line(done, 2, "; write --metric H,AUSUC$")
    assert call("tune", "eszsl", "-t", "gzsl", "--metric", "H,AUSUC", "--dry-run").returncode == 0
    one_line(call("run", "eszsl", "-w", "1", "-w", "2"), 2, "; leave one out$")
    assert call("tune", "eszsl", "--dry-run", "--quiet", "--dry-run").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("tun", "-n", 3), "  zslplat tune -n 3"),
        (("tune", "eszls", "-n", 3), "  zslplat tune eszsl -n 3"),
        (("tune", "-m", "eszls(alpha=1)"), "  zslplat tune -m 'eszsl(alpha=1)'"),
        (("tune", "eszsl", "--trails", 3), "  zslplat tune eszsl --trials 3"),
        (("studies", "lst"), "  zslplat studies list"),
    ],
)
def test_a_slip_is_answered_with_the_whole_command(call, arguments, line):
    done = call(*arguments)
    assert done.returncode == 2
    assert line in done.stderr.splitlines()


def test_what_is_missing_is_named_with_its_meaning(call):
    one_line(call("bench"), 2, "zslplat bench needs SUITE: Name of a suite")
    one_line(call("sweep", "plain"), 2, "zslplat sweep needs PARAM, or --param: What varies")
    one_line(call("predict"), 2, "zslplat predict needs INPUT, or --input: Rows")


def test_a_check_is_explained_by_its_number(call):
    assert call("explain", "103").stdout == call("explain", "zsp103").stdout == call("explain", "ZSP103").stdout != ""


@pytest.mark.parametrize(
    ("word", "commands"),
    [
        ("eszsl", "zslplat tune eszsl or zslplat show eszsl"),
        ("digit-pairs", "zslplat data info digit-pairs"),
        ("zsp103", "zslplat explain zsp103"),
    ],
)
def test_a_component_in_the_place_of_a_command_is_answered_with_commands(call, word, commands):
    one_line(call(word), 2, f"did you mean {commands}")


def test_a_quiet_command_prints_one_line(call):
    toy = ("plain(mix=0.3)", "marked", "-w", 1, "-q")
    (line,) = call("tune", *toy, "--study", "toy").stdout.splitlines()
    pattern = r"plain on marked, task zsl: per_class_accuracy test 0\.\d{4}, validation 0\.\d{4}, study toy"
    assert re.match(pattern, line), line
    (line,) = call("run", *toy, "--test").stdout.splitlines()
    assert re.match(r"plain on marked, task zsl: per_class_accuracy test 0\.\d{4}, run [0-9a-f]{16}", line), line
    assert call("rerun", "toy", "--check", "-q").returncode == 0


def test_a_group_alone_lists(call):
    for group, command in (("data", "list"), ("plugins", "list"), ("studies", "list"), ("store", "show")):
        assert call(group).stdout == call(group, command).stdout != ""
        assert call(group, "--json").stdout == call(group, command, "--json").stdout != ""


def test_settings_say_where_they_come_from(call, tmp_path, monkeypatch):
    (tmp_path / "zslplat.toml").write_text('data_root = "birds"\noutage_seconds = 5\n')
    monkeypatch.setenv("ZSLPLAT_OUTAGE_SECONDS", "7")
    rows = {row["name"]: row for row in json.loads(call("settings", "--store", "here", "--json").stdout)}
    assert rows["store"] == {"name": "store", "value": str(tmp_path / "here"), "from": "--store"}
    assert (rows["data_root"]["value"], rows["data_root"]["from"]) == (str(tmp_path / "birds"), "zslplat.toml")
    assert (rows["outage_seconds"]["value"], rows["outage_seconds"]["from"]) == ("7.0", "ZSLPLAT_OUTAGE_SECONDS")
    assert rows["silence"]["from"] == "default"


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
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            "error: unknown shell 'bsh'; did you mean bash, zsh?",
            "  zslplat --show-completion bash",
            "  zslplat --show-completion zsh",
        ],
    )


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
    assert listed("tasks", "--kind", "coding") - {"coding-splits"} == {"coding"}  # the other is of zslplat-papers
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
