"""Shared fixtures: a plugin distribution made on the fly, as a stranger would install one; ways to run the program.

``call`` runs a command inside this process, ``forked`` and ``leader`` in one that has the heavy imports behind it,
``program`` and ``start_program`` in a fresh interpreter, as a user does. Those that save the imports save most of the
time, so the others are left to tests that are about the start of the program. All begin with a store whose two
databases hold no study yet, copied from one that is made once.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import psutil
import pytest
from support import REFERENCE, Done, blank_main, install_distribution, with_own_path

PLUGIN_SOURCE = Path(__file__).parent / "plugin_module.py"
HEAVY = ("zslplat.tuning.study", "zslplat.tuning.sweep", "mlflow.tracking", "optuna.storages", "alembic.command")


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Load the numerical libraries with one thread each, before a test module does, as zslplat's workers have it.

    As many threads as cores in each of several test processes wait for each other: the tests take twice as long. What
    tests start sees the variables of the user.
    """
    from zslplat.evaluation.processes import one_thread_variables

    with one_thread_variables():
        for name in ("numpy", "scipy.linalg", "sklearn.utils._openmp_helpers"):
            importlib.import_module(name)


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory):
    """A folder with the distribution ``zslplat-trouble``: methods that misbehave in every way that must be survived."""
    folder = tmp_path_factory.mktemp("plugins")
    return install_distribution(folder, "zslplat-trouble", "zslplat_trouble", PLUGIN_SOURCE.read_text())


@pytest.fixture(scope="session")
def program_environment(plugin_path):
    """Environment of a program that sees the test plugin and nothing of the user's configuration."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ZSLPLAT_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(plugin_path), *filter(None, [environment.get("PYTHONPATH")])])
    environment["XDG_CONFIG_HOME"] = str(plugin_path / "no-config")
    return environment


@pytest.fixture(scope="session")
def store_template(tmp_path_factory):
    """A store with the tables of both databases and nothing in them; making them takes longer than a small study."""
    from zslplat.records.database import Records
    from zslplat.settings import resolve_settings
    from zslplat.tracking.projection import Projection

    settings = resolve_settings({"store": tmp_path_factory.mktemp("template") / "mlruns"})
    settings.make_store()
    records = Records(settings)
    projection = Projection(settings, "template", "template", records.identity, pytest.fail)
    projection.client.delete_experiment(projection.experiment_id)
    projection.close()
    records.close()
    assert sorted(path.name for path in settings.store.glob("*.db*")) == ["mlflow.db", "optuna.db"]
    with contextlib.closing(sqlite3.connect(settings.store / "optuna.db")) as connection, connection:
        connection.execute("delete from zslplat_store")  # every copy gets an identity of its own
    return settings.store


@pytest.fixture
def new_store(store_template, tmp_path):
    """Return a folder's fresh store ``mlruns``; by default that of the test's own folder."""

    def copy(folder=tmp_path):
        store = folder / "mlruns"
        if not store.exists():
            store.mkdir(parents=True)
            for name in ("mlflow.db", "optuna.db"):
                shutil.copy(store_template / name, store / name)
        return store

    return copy


@pytest.fixture(scope="session")
def reference(tmp_path_factory, store_template, program_environment):
    """A study of 12 trials, carried out by two workers without any interruption: its store, and what it printed."""
    folder = tmp_path_factory.mktemp("reference")
    command = [sys.executable, "-m", "zslplat", *REFERENCE, "--trials", "12", "--workers", "2"]
    done = subprocess.run(command, cwd=folder, env=program_environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return folder / "mlruns", json.loads(done.stdout)


@pytest.fixture(scope="session")
def prepared_process():
    """Have the process ready, with the heavy imports done, from which others are forked; its BLAS has one thread."""
    from zslplat.evaluation.processes import one_thread_variables

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(HEAVY))
    with one_thread_variables():
        forkserver.ensure_running()
    return context


@pytest.fixture
def call(new_store, plugin_path, program_environment, tmp_path, monkeypatch, capfd):
    """Run ``zslplat`` with arguments inside this process, in a folder of the test's own."""
    from zslplat.cli.app import run_app
    from zslplat.registry import registry

    monkeypatch.syspath_prepend(str(plugin_path))
    for name in [name for name in os.environ if name.startswith("ZSLPLAT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", program_environment["XDG_CONFIG_HOME"])
    registry.cache_clear()

    def run(*arguments, cwd=tmp_path):
        new_store(cwd)
        monkeypatch.chdir(cwd)
        capfd.readouterr()
        with blank_main():
            code = run_app([str(a) for a in arguments])
        return Done(code, *capfd.readouterr())

    yield run
    registry.cache_clear()


@pytest.fixture
def program(new_store, program_environment, tmp_path):
    """Run ``zslplat`` with arguments in a folder of the test's own; returns the finished process."""

    def run(*arguments, cwd=tmp_path, timeout=120, preexec_fn=None, **extra):
        new_store(cwd)
        if "PYTHONPATH" in extra:
            extra["PYTHONPATH"] = with_own_path(extra["PYTHONPATH"])
        return subprocess.run(
            [sys.executable, "-m", "zslplat", *map(str, arguments)],
            cwd=cwd,
            env={**program_environment, **extra},
            capture_output=True,
            text=True,
            timeout=timeout,
            preexec_fn=preexec_fn,
        )

    return run


@pytest.fixture
def start_program(new_store, program_environment, tmp_path):
    """Start ``zslplat`` and return the process, in a session of its own, with its standard error as a pipe."""
    started = []

    def start(*arguments, cwd=tmp_path, **extra):
        new_store(cwd)
        process = subprocess.Popen(
            [sys.executable, "-m", "zslplat", *map(str, arguments)],
            cwd=cwd,
            env={**program_environment, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Leader:
    """A running command: its process, what it has printed, and the processes that it has started."""

    def __init__(self, process, out, err):
        self.process, self.out, self.err = process, out, err

    def wait_for(self, text, timeout=120):
        """Wait until the text has been printed on standard error."""
        end = time.monotonic() + timeout
        while not self.err.exists() or text not in self.err.read_text():
            printed = self.err.read_text() if self.err.exists() else ""
            assert self.process.is_alive(), printed
            assert time.monotonic() < end, printed
            time.sleep(0.02)

    def wait_for_lines(self, count, timeout=120):
        """Wait until so many lines have been printed on standard error, or the end."""
        end = time.monotonic() + timeout
        while self.process.is_alive() and time.monotonic() < end:
            if self.err.exists() and self.err.read_text().count("\n") >= count:
                return
            time.sleep(0.02)

    def interrupt(self):
        """Press Ctrl-C: the signal goes to the command and all that it has started. Return how long it took to end."""
        return self._end(lambda: os.killpg(self.process.pid, signal.SIGINT))

    def kill(self):
        """Kill the command itself, and nothing that it has started."""
        return self._end(self.process.kill)

    def _end(self, how):
        tree = psutil.Process(self.process.pid).children(recursive=True) if self.process.is_alive() else []
        start = time.monotonic()
        how()
        self.process.join(60)
        took = time.monotonic() - start
        _, left = psutil.wait_procs(tree, timeout=10)
        assert not left, left
        return took

    def wait(self, timeout=120):
        """Wait for the end and return the :class:`Done`."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, f"still running after {timeout} s: {self.err.read_text()}"
        return Done(self.process.exitcode, self.out.read_text(), self.err.read_text())

    def workers(self):
        """Return the worker processes."""
        return [worker for nursery in _started_by(self.process.pid) for worker in _started_by(nursery.pid)]

    def children(self):
        """Return the processes in which trials are evaluated."""
        return [child for worker in self.workers() for child in _started_by(worker.pid)]


def _started_by(pid):
    try:
        return [p for p in psutil.Process(pid).children() if "forkserver" in " ".join(p.cmdline())]
    except psutil.Error:
        return []


def _lead(arguments, cwd, environment, out, err):
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    sys.argv = ["zslplat", *arguments]
    # A tracker of its own, as a program that was started by itself has.
    resource_tracker._resource_tracker.__init__()
    from zslplat.cli import main

    try:
        main()
    finally:
        sys.stdout.flush()


@pytest.fixture
def leader(new_store, program_environment, tmp_path, prepared_process):
    """Start ``zslplat`` as a :class:`Leader` of its own session, forked from a process with the imports done."""
    started = []

    def start(*arguments, cwd=tmp_path, **extra):
        new_store(cwd)
        out, err = (tmp_path / f"{kind}-{len(started)}.txt" for kind in ("out", "err"))
        if "PYTHONPATH" in extra:
            extra["PYTHONPATH"] = with_own_path(extra["PYTHONPATH"])
        environment = {**program_environment, **extra}
        handed = ([str(a) for a in arguments], str(cwd), environment, str(out), str(err))
        with blank_main():
            process = prepared_process.Process(target=_lead, args=handed)
            process.start()
        started.append(process)
        return Leader(process, out, err)

    yield start
    for process in started:
        if process.is_alive():
            process.kill()
        process.join()


@pytest.fixture
def forked(leader):
    """Run ``zslplat`` with arguments in a process of its own, which costs no imports; return the :class:`Done`."""

    def run(*arguments, **extra):
        return leader(*arguments, **extra).wait(250)

    return run


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set ZSLPLAT_TEST_DATA to the folder that holds it")
    return folder
