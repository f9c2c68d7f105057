"""What several tests read from a store or a command: trials, evaluations, runs, lines."""

from __future__ import annotations

import contextlib
import csv
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


def rows_of(place, query):
    """Return the rows of a query, of a file of sqlite or a database by its URL."""
    if isinstance(place, str):
        import sqlalchemy as sa

        engine = sa.create_engine(place, poolclass=sa.pool.NullPool)
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]
    with contextlib.closing(sqlite3.connect(place)) as connection:
        return connection.execute(query).fetchall()


def _database(store, name):
    """Return the file of a store's folder; the URL of a database is its own place."""
    return store if isinstance(store, str) else store / name


def trials_of(store):
    """Return (number, state, parameters, value) of every recorded trial, by the database alone.

    ``store``: the folder, or the URL of a database.
    """
    rows = rows_of(
        _database(store, "optuna.db"),
        "select t.number, t.state, a.value_json from trials t join trial_user_attributes a on a.trial_id = t.trial_id "
        "where a.key = 'record' order by t.study_id, t.number",
    )
    result = []
    for number, state, text in rows:
        record = json.loads(json.loads(text))
        folds = [fold["metrics"] for fold in record["folds"]]
        result.append((number, state, record["parameters"], record["value"], folds))
    return result


def evaluations_of(store):
    """Return {key: metrics} of every recorded test evaluation."""
    rows = rows_of(_database(store, "optuna.db"), "select key, content from zslplat_evaluations order by id")
    return {key: json.loads(content)["metrics"] for key, content in rows}


def runs_of(store):
    """Return {key: (status, metrics)} of MLflow's runs; a key that occurs twice is an error."""
    runs, place = {}, _database(store, "mlflow.db")
    query = (
        "select r.run_uuid, r.status, t.value from runs r join tags t on t.run_uuid = r.run_uuid "
        "where t.key = 'zslplat.key' and r.lifecycle_stage = 'active'"
    )
    metrics = rows_of(place, "select run_uuid, key, value from latest_metrics")
    for run, status, key in rows_of(place, query):
        assert key not in runs, f"run {key} is there twice"
        found = [(name, value) for other, name, value in metrics if other == run]
        timed = ("seconds", "cpu_seconds", "peak_memory_bytes", "test_evaluations")
        runs[key] = (status, {k: v for k, v in found if k.removeprefix("work/") not in timed})
    return runs


def tags_of(store, name):
    """Return the values of one tag of all MLflow's runs of a store."""
    with contextlib.closing(sqlite3.connect(store / "mlflow.db")) as connection:
        return [value for (value,) in connection.execute("select value from tags where key = ?", (name,))]


def records_of(store):
    """Return the records of all trials, in order."""
    connection = sqlite3.connect(store / "optuna.db")
    query = (
        "select a.value_json from trials t join trial_user_attributes a on a.trial_id = t.trial_id "
        "where a.key = 'record' order by t.number"
    )
    return [json.loads(json.loads(text)) for (text,) in connection.execute(query)]


ESZSL, GFHF = "eszsl(gamma=1, alpha=1)", "gfhf(k=5)"


# Two studies and a test run, the run's result last: for the fixture ``arranged``.
FILLED = (
    ("tune", "-m", ESZSL, "--workers", 1, "-q"),
    ("tune", "-m", GFHF, "--workers", 1, "-q"),
    ("run", "-m", "eszsl(gamma=10, alpha=1)", "--test", "--json"),
)
RUN = ("run", "-m", ESZSL, "--test", "--json")


def rows(call, folder):
    """Return the rows of ``compare``, which all have intervals."""
    done = call("compare", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[0]["rows"]
    assert all(row["low"] is not None for row in found)
    return found


def replaced(command, *options):
    """Return a command with further options, which take the place of those of the same name."""
    line, words = list(command), list(options)
    while words:
        word = words.pop(0)
        if str(word).startswith("--") and word in line:
            line[line.index(word) + 1] = words.pop(0)
        else:
            line.append(word)
    return line


def one_line(done, code, *patterns):
    """Check the exit code, and that one line of standard error is an error that says what it should.

    Nothing follows it but commands that may have been meant.
    """
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert done.returncode == code, done.stderr
    assert len(lines) == 1, done.stderr
    below = done.stderr.splitlines()[done.stderr.splitlines().index(lines[0]) + 1 :]
    assert all(line.startswith("  zslplat ") for line in below), done.stderr
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
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=800)


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


@contextlib.contextmanager
def blank_main():
    """Keep spawned processes from importing pytest, which a spawned process takes for the main program."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def lines_of(path):
    """Return the lines of a CSV file, each as a mapping of its columns."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
