"""What a command says at its end, and whom it blames on the way."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess

import pytest
from support import evaluations_of, replaced, trials_of

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.environment import git_state
from zslplat.settings import resolve_settings
from zslplat.tuning.rerun import differences

TUNE = ("tune", "--method", "plain(mix=0.25)", "--dataset", "marked", "--workers", 1, "--repeats", 1, "--trials", 6)


@pytest.mark.long
def test_the_result_names_fixed_parameters_and_the_run_to_check_and_counts_trials_from_0(call, tmp_path):
    done = call(*TUNE, "--set", "pause=0", "--store", tmp_path / "else where")
    assert done.returncode == 0, done.stderr
    (winner, found, fixed) = re.findall(r"best: trial (\d+) \((ridge=\S+); fixed: (.*)\)", done.stdout)[0]
    assert fixed == "mix=0.25, pause=0"
    progress = re.findall(r"trial (\d+) \((\d+) of 6\)  ridge=\S+  (\S+)  best", done.stderr)
    assert [(int(number), int(count)) for number, count, _ in progress] == [(i, i + 1) for i in range(6)]
    values = [value for _, _, value in progress]
    assert values[int(winner)] == max(values)
    # The line as it stands runs the winner's evaluation again.
    (words,) = re.findall(r"check: zslplat (rerun \S+ --check) --store '(.*)'", done.stdout)
    again = call(*words[0].split(), "--store", words[1], "--workers", 1, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["compared"] > 0
    assert re.search(r"again: zslplat run --test --config \S*.*best\.toml.* --store '", done.stdout)
    content = json.loads(call(*TUNE, "--store", tmp_path / "else where", "--set", "pause=0", "--json").stdout)
    assert content["fixed"] == {"mix": 0.25, "pause": 0}
    assert content["final_run_ids"] == [words[0].split()[1]]
    assert found


@pytest.mark.long
def test_the_printed_commands_lead_to_a_database_elsewhere_and_to_folders_with_blanks(call, tmp_path):
    places = ("--store", tmp_path / "my store", "--storage-url", f"sqlite:///{tmp_path / 'my records.db'}")
    done = call(*replaced(TUNE, "--trials", 1), *places)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith(("again:", "check:")))
    for name in ("check", "again"):
        again = call(*shlex.split(lines[name])[1:], "--workers", 1, "-q")
        assert again.returncode == 0, again.stderr
    (command,) = re.findall(r"runs: sqlite:\S+.* \((zslplat ui .*)\)$", done.stdout, re.MULTILINE)
    assert shlex.split(command)[2:] == ["--store", str(tmp_path / "my store")]


@pytest.mark.long
def test_a_damaged_cache_is_made_again_with_the_same_numbers(call, tmp_path):
    assert call(*replaced(TUNE, "--trials", 4)).returncode == 0
    entries = sorted((tmp_path / "mlruns" / "cache").rglob("entry.json"))
    assert entries
    for number, entry in enumerate(entries):
        for path in sorted(path for path in entry.parent.rglob("*") if path.is_file()):
            content = bytearray(path.read_bytes())
            content[-5 if number % 2 else len(content) // 2] ^= 1
            path.write_bytes(content if number % 3 else b"")
    done = call(*replaced(TUNE, "--trials", 8))
    assert done.returncode == 0, done.stderr
    (tmp_path / "other").mkdir()
    assert call(*replaced(TUNE, "--trials", 8), cwd=tmp_path / "other").returncode == 0
    assert trials_of(tmp_path / "mlruns") == trials_of(tmp_path / "other" / "mlruns")
    again, fresh = (evaluations_of(folder / "mlruns") for folder in (tmp_path, tmp_path / "other"))
    assert {key: again[key] for key in fresh} == fresh


@pytest.mark.parametrize("error", [RuntimeError("the plugin is wrong"), OSError(2, "the plugin lacks its file")])
def test_what_a_plugin_raises_is_not_blamed_on_the_store(new_store, error):
    settings = resolve_settings({"store": new_store()})
    records = Records(settings)
    study = records.open_study("x", {}, [True])

    def fail():
        raise error

    with pytest.raises(type(error), match="the plugin"):
        study.recall("chance", fail)
    assert study.recall("chance", lambda: 0.25) == study.recall("chance", fail) == 0.25
    study.url = "sqlite:///x.db"
    study.study.set_user_attr = lambda *_: fail()
    with pytest.raises(StoreError, match="cannot be used"):
        study.recall("other", lambda: 1.0)
    records.close()


# Whose commit it is.


def repository(folder, *files):
    """Make a repository that holds these files; return its commit."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("x = 1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "all")):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_recorded_commit_is_that_of_the_sources_and_not_of_the_folder_one_stands_in(tmp_path, monkeypatch):
    here = repository(tmp_path / "work", "notes.txt")
    sources = repository(tmp_path / "clone", "zslplat/__init__.py", "README.md")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "work" / ".git"))
    assert git_state().get("commit") != here
    assert git_state(tmp_path / "clone" / "zslplat") == {"commit": sources, "dirty": False}
    (tmp_path / "clone" / "README.md").write_text("changed")
    assert git_state(tmp_path / "clone" / "zslplat")["dirty"] is False
    (tmp_path / "clone" / "zslplat" / "__init__.py").write_text("x = 2\n")
    assert git_state(tmp_path / "clone" / "zslplat")["dirty"] is True
    # An installed copy, in an environment that lies inside the repository.
    copy = tmp_path / "work" / ".venv" / "zslplat"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_text("")
    assert git_state(copy) == {}


@pytest.mark.parametrize(
    ("recorded", "now", "compared", "told"),
    [
        ({"a": 0.5, "b": 2.0}, {"a": 0.5, "b": 2.0}, 2, []),
        ({"a": 0.5}, {"a": 0.5 + 1e-15, "new": 1.0}, 1, []),
        ({"a": 0.5, "b": 2.0}, {"a": 0.5, "b": 2.5}, 2, ["b: recorded 2.0, now 2.5"]),
        ({"a": 0.5}, {"a": 0.4999}, 1, ["a: recorded 0.5, now 0.4999"]),
    ],
)
def test_what_another_evaluation_gives_is_compared_number_by_number(recorded, now, compared, told):
    assert differences(recorded, now) == (compared, told)


@pytest.mark.long
def test_a_run_of_what_a_trial_has_evaluated_has_the_artifacts_that_trials_do_without(call, tmp_path):
    plain = ("-m", "plain(ridge=1,mix=0.5)", "-d", "marked", "--workers", 1, "--json")
    assert call("tune", *plain, "--trials", 1, "--repeats", 1).returncode == 0
    first, again = (json.loads(call("run", *plain).stdout) for _ in range(2))
    assert (first["recalled"], again["recalled"]) == (0, 1)
    records = Records(resolve_settings({"store": tmp_path / "mlruns"}))
    for found in (first, again):
        (run,) = found["run_ids"]
        assert list((records.evaluation_folder(run) / "artifacts").rglob("*.csv"))
    records.close()
