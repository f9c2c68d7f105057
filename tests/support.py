"""What several tests read from a store or a command: trials, evaluations, runs, lines."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tomllib
import types
from typing import NamedTuple

REFERENCE = ("tune", "--method", "plain", "--dataset", "marked", "--json")


def trials_of(store):
    """Return (number, state, parameters, value) of every recorded trial, by the database alone."""
    connection = sqlite3.connect(store / "optuna.db")
    rows = connection.execute(
        "select t.number, t.state, a.value_json from trials t join trial_user_attributes a on a.trial_id = t.trial_id "
        "where a.key = 'record' order by t.number"
    ).fetchall()
    result = []
    for number, state, text in rows:
        record = json.loads(json.loads(text))
        folds = [fold["metrics"] for fold in record["folds"]]
        result.append((number, state, record["parameters"], record["value"], folds))
    return result


def evaluations_of(store):
    """Return {key: metrics} of every recorded test evaluation."""
    connection = sqlite3.connect(store / "optuna.db")
    rows = connection.execute("select key, content from zslplat_evaluations order by id").fetchall()
    return {key: json.loads(content)["metrics"] for key, content in rows}


def runs_of(store):
    """Return {key: (status, metrics)} of MLflow's runs; a key that occurs twice is an error."""
    connection = sqlite3.connect(store / "mlflow.db")
    runs = {}
    query = (
        "select r.run_uuid, r.status, t.value from runs r join tags t on t.run_uuid = r.run_uuid "
        "where t.key = 'zslplat.key'"
    )
    for run, status, key in connection.execute(query).fetchall():
        assert key not in runs, f"run {key} is there twice"
        found = connection.execute("select key, value from latest_metrics where run_uuid = ?", (run,)).fetchall()
        timed = ("seconds", "cpu_seconds", "peak_memory_bytes", "looks_at_test")
        runs[key] = (status, {k: v for k, v in found if k not in timed})
    return runs


def records_of(store):
    """Return the records of all trials, in order."""
    connection = sqlite3.connect(store / "optuna.db")
    query = (
        "select a.value_json from trials t join trial_user_attributes a on a.trial_id = t.trial_id "
        "where a.key = 'record' order by t.number"
    )
    return [json.loads(json.loads(text)) for (text,) in connection.execute(query)]


def one_line(done, code, *patterns):
    """Check the exit code, and that one line of standard error is an error that says what it should."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert done.returncode == code, done.stderr
    assert len(lines) == 1, done.stderr
    assert done.stderr.splitlines()[-1] == lines[0]
    assert "Traceback" not in done.stderr + done.stdout
    for pattern in patterns:
        assert re.search(pattern, lines[0]), lines[0]


def lay_out(package, folder):
    """Give a package the metadata of an installed one, in ``folder``; return the paths that make it visible."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return os.pathsep.join([str(folder), str(package)])


def with_own_path(path):
    """Return a module search path with that of this process behind it, so that programs run the code under test."""
    return os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))


def run(arguments, path, cwd):
    environment = {**os.environ, "PYTHONPATH": with_own_path(path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=250)


def install_distribution(folder, name, module, source, group="zslplat", version="1.2.3"):
    """Lay out a distribution with one entry point in ``folder``, which then only has to be on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{module} = {module}\n")
    return folder


class Done(NamedTuple):
    """What a command left: exit code, standard output and standard error."""

    returncode: int
    stdout: str
    stderr: str


class InEnvironment:
    """A function that runs in the environment of the process that has sent it, as in a new interpreter."""

    def __init__(self, function):
        self.function, self.environment = function, None

    def __getstate__(self):
        return {"function": self.function, "environment": dict(os.environ)}

    def __call__(self, *arguments):
        os.environ.clear()
        os.environ.update(self.environment)
        return self.function(*arguments)


@contextlib.contextmanager
def blank_main():
    """Keep spawned processes from importing pytest, which a spawned process takes for the main program."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
