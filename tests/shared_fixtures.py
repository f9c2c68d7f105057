"""Shared fixtures and hooks: a plugin distribution as a stranger would install one, and ways to run the program.

``call`` runs a command inside this process, ``forked`` and ``leader`` in one that has the heavy imports behind it,
``program`` and ``start_program`` in a fresh interpreter, as a user does. Those that save the imports save most of the
time, so the others are left to tests that are about the start of the program. All begin with a store whose two
databases hold no study yet, copied from one that is made once.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Leader, lead, process_with_imports
from long_tests import (  # noqa: F401  hooks
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_ignore_collect,
    pytest_report_header,
)
from support import REFERENCE, Done, blank_main, install_distribution, with_own_path

PLUGIN_SOURCE = Path(__file__).parent / "plugin_module.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Load the numerical libraries with one thread each, before a test module does, as zslplat's workers have it.

    As many threads as cores in each of several test processes wait for each other: the tests take twice as long. What
    tests start sees the variables of the user.
    """
    from zslplat.evaluation.workers.processes import one_thread_variables

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


def copy_store(template, folder):
    """Return the store of a folder, made from the template where there is none yet."""
    store = folder / "mlruns"
    if not store.exists():
        store.mkdir(parents=True)
        for name in ("mlflow.db", "optuna.db"):
            shutil.copy(template / name, store / name)
    return store


@pytest.fixture
def new_store(store_template, tmp_path):
    """Return a folder's fresh store ``mlruns``; by default that of the test's own folder."""

    return lambda folder=tmp_path: copy_store(store_template, folder)


@pytest.fixture(scope="session")
def reference(tmp_path_factory, store_template, program_environment):
    """A study of 12 trials, carried out by two workers without any interruption: its store, and what it printed.

    It is given as a user gives it, in a fresh interpreter and where there is no store yet.
    """
    folder = tmp_path_factory.mktemp("reference")
    command = [sys.executable, "-m", "zslplat", *REFERENCE, "--trials", "12", "--workers", "2"]
    done = subprocess.run(command, cwd=folder, env=program_environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "mlruns", json.loads(done.stdout)


@pytest.fixture(scope="session")
def prepared_process():
    """Have the process ready, with the heavy imports done, from which others are forked; its BLAS has one thread."""
    from zslplat.evaluation.workers.processes import one_thread_variables

    with one_thread_variables():
        return process_with_imports()


@pytest.fixture(scope="session")
def carried_out(prepared_process, program_environment, store_template):
    """Run ``zslplat`` in a folder as ``forked`` does, for what several tests share; return the :class:`Done`."""

    def run(folder, *arguments):
        copy_store(store_template, folder)
        out, err = folder / "out.txt", folder / "err.txt"
        handed = ([str(a) for a in arguments], str(folder), program_environment, str(out), str(err))
        with blank_main():
            process = prepared_process.Process(target=lead, args=handed)
            process.start()
        try:
            return Leader(process, out, err).wait(800)
        finally:
            process.kill()

    return run


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


@pytest.fixture(scope="session")
def arrangements():
    """What :func:`arranged` has made: {commands: (folder with the store, what the last of them printed)}."""
    return {}


@pytest.fixture
def arranged(call, arrangements, tmp_path, tmp_path_factory):
    """Have a store in which commands were given, in a folder of the test's own; returns what each of them printed.

    The commands run once, however many tests begin with them: each test has a copy of what they left. They name no
    file, and look at nothing but the store.
    """

    def arrange(*commands, into=tmp_path):
        for count in range(1, len(commands) + 1):
            if commands[:count] not in arrangements:
                folder = tmp_path_factory.mktemp("arranged")
                if count > 1:
                    shutil.copytree(arrangements[commands[: count - 1]][0] / "mlruns", folder / "mlruns")
                done = call(*commands[count - 1], cwd=folder)
                assert done.returncode == 0, done.stderr
                arrangements[commands[:count]] = folder, done
        shutil.copytree(arrangements[commands][0] / "mlruns", into / "mlruns")
        return [arrangements[commands[:count]][1] for count in range(1, len(commands) + 1)]

    return arrange


@pytest.fixture
def program(new_store, program_environment, tmp_path):
    """Run ``zslplat`` with arguments in a folder of the test's own; returns the finished process."""

    def run(*arguments, cwd=tmp_path, timeout=800, preexec_fn=None, **extra):
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
            process = prepared_process.Process(target=lead, args=handed)
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
        return leader(*arguments, **extra).wait(800)

    return run


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of the tests' own; they are skipped where none is installed, and say so."""
    import postgres_server as servers

    if reason := servers.missing():
        pytest.skip(reason)
    server = servers.PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres(postgres_server):
    """A running :class:`postgres_server.PostgresServer`, started again where a test before has stopped it."""
    if not postgres_server.runs:
        postgres_server.start()
    return postgres_server


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set ZSLPLAT_TEST_DATA to the folder that holds it")
    return folder
