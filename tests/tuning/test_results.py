"""What a command says at its end, and whom it blames on the way."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from support import evaluations_of, trials_of

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.environment import git_state
from zslplat.settings import resolve_settings

TUNE = ("tune", "--method", "plain(mix=0.25)", "--dataset", "marked", "--workers", 1, "--repeats", 1, "--trials", 6)


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


def test_the_printed_commands_lead_to_a_database_elsewhere_and_to_folders_with_blanks(call, tmp_path):
    places = ("--store", tmp_path / "my store", "--storage-url", f"sqlite:///{tmp_path / 'my records.db'}")
    done = call(*TUNE, "--trials", 1, *places)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith(("again:", "check:")))
    for name in ("check", "again"):
        again = call(*shlex.split(lines[name])[1:], "--workers", 1, "-q")
        assert again.returncode == 0, again.stderr
    (command,) = re.findall(r"runs: sqlite:\S+.* \((zslplat ui .*)\)$", done.stdout, re.MULTILINE)
    assert shlex.split(command)[2:] == ["--store", str(tmp_path / "my store")]


def test_a_damaged_cache_is_made_again_with_the_same_numbers(call, tmp_path):
    assert call(*TUNE, "--trials", 4).returncode == 0
    entries = sorted((tmp_path / "mlruns" / "cache").rglob("entry.json"))
    assert entries
    for number, entry in enumerate(entries):
        for path in sorted(path for path in entry.parent.rglob("*") if path.is_file()):
            content = bytearray(path.read_bytes())
            content[-5 if number % 2 else len(content) // 2] ^= 1
            path.write_bytes(content if number % 3 else b"")
    done = call(*TUNE, "--trials", 8)
    assert done.returncode == 0, done.stderr
    (tmp_path / "other").mkdir()
    assert call(*TUNE, "--trials", 8, cwd=tmp_path / "other").returncode == 0
    assert trials_of(tmp_path / "mlruns") == trials_of(tmp_path / "other" / "mlruns")
    again, fresh = (evaluations_of(folder / "mlruns") for folder in (tmp_path, tmp_path / "other"))
    assert {key: again[key] for key in fresh} == fresh


@pytest.mark.parametrize("error", [RuntimeError("the plugin is wrong"), OSError(2, "the plugin lacks its file")])
def test_what_a_plugin_raises_is_not_blamed_on_the_store(new_store, error):
    settings = resolve_settings({"store": new_store()})
    records = Records(settings)
    study = records.open_study("x", {}, maximise=True)

    def fail():
        raise error

    with pytest.raises(type(error), match="the plugin"):
        study.remember("chance", fail)
    assert study.remember("chance", lambda: 0.25) == study.remember("chance", fail) == 0.25
    study.url = "sqlite:///x.db"
    study.study.set_user_attr = lambda *_: fail()
    with pytest.raises(StoreError, match="cannot be used"):
        study.remember("other", lambda: 1.0)
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
    sources = repository(
        tmp_path / "clone", "zslplat/__init__.py", "zslplat/reproduction/results/claims.csv", "README.md"
    )
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "work" / ".git"))
    assert git_state().get("commit") != here
    assert git_state(tmp_path / "clone" / "zslplat") == {"commit": sources, "dirty": False}
    (tmp_path / "clone" / "README.md").write_text("changed")
    (tmp_path / "clone" / "zslplat" / "reproduction" / "results" / "claims.csv").write_text("kept just now")
    assert git_state(tmp_path / "clone" / "zslplat")["dirty"] is False
    (tmp_path / "clone" / "zslplat" / "__init__.py").write_text("x = 2\n")
    assert git_state(tmp_path / "clone" / "zslplat")["dirty"] is True
    # An installed copy, in an environment that lies inside the repository.
    copy = tmp_path / "work" / ".venv" / "zslplat"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_text("")
    assert git_state(copy) == {}


# The UI.


def test_ui_refuses_a_taken_port_before_it_prints_an_address(call):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = call("ui", "--port", port)
    assert done.returncode == 2
    assert "http://" not in done.stdout + done.stderr
    assert re.search(rf"error: .*127\.0\.0\.1:{port}: Address already in use; choose another --port", done.stderr)
    done = call("ui", "--port", port, "--host", "no.such.host.invalid")
    assert done.returncode == 2


def ui_of(monkeypatch, folder, body):
    """Have ``ui`` start a program of this body in place of MLflow's."""
    (folder / "mlflow").mkdir()
    (folder / "mlflow" / "__init__.py").write_text("")
    (folder / "mlflow" / "__main__.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.parametrize("code", [0, 3])
def test_ui_fails_where_the_server_ends_by_itself_whatever_its_exit_code(call, monkeypatch, tmp_path, code):
    ui_of(monkeypatch, tmp_path, f"import sys\nprint('cannot start', file=sys.stderr)\nsys.exit({code})\n")
    done = call("ui", "--port", free_port())
    assert done.returncode == 1
    assert "http://" not in done.stdout
    assert f"ended by itself before it answered, with exit code {code}" in done.stderr


def test_ui_prints_its_address_once_the_server_answers(monkeypatch, call, tmp_path):
    port = free_port()
    body = (
        "import http.server, sys, time\ntime.sleep(1)\n"
        f"server = http.server.HTTPServer(('127.0.0.1', {port}), http.server.BaseHTTPRequestHandler)\n"
        f"open({str(tmp_path / 'listening')!r}, 'w').close()\nserver.serve_forever()\n"
    )
    ui_of(monkeypatch, tmp_path, body)
    seen = []

    def press():
        # An end that every process may be given, once the address is out.
        while not (tmp_path / "listening").exists():
            threading.Event().wait(0.05)
        threading.Event().wait(1)
        seen.append(True)
        os.kill(os.getpid(), signal.SIGTERM)

    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    threading.Thread(target=press, daemon=True).start()
    done = call("ui", "--port", port)
    for name, handler in before.items():
        signal.signal(name, handler)
    assert seen
    assert done.returncode == 0, done.stderr
    assert f"MLflow UI on http://127.0.0.1:{port} for {tmp_path / 'mlruns'}" in done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
