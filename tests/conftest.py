"""Shared fixtures: a plugin distribution made on the fly, as a stranger would install one; ways to run the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN_SOURCE = Path(__file__).parent / "plugin_module.py"


def install_distribution(folder, name, module, source, group="zslplat", version="1.2.3"):
    """Lay out a distribution with one entry point in ``folder``, which then only has to be on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{module} = {module}\n")
    return folder


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory):
    """A folder with the distribution ``zslplat-trouble``: methods that misbehave in every way that must be survived."""
    folder = tmp_path_factory.mktemp("plugins")
    return install_distribution(folder, "zslplat-trouble", "zslplat_trouble", PLUGIN_SOURCE.read_text())


@pytest.fixture(scope="session")
def program_environment(plugin_path):
    """Environment of a program that sees the test plugin and nothing of the user's configuration."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ZSLPLAT_")}
    environment["PYTHONPATH"] = str(plugin_path)
    environment["XDG_CONFIG_HOME"] = str(plugin_path / "no-config")
    return environment


@pytest.fixture
def program(program_environment, tmp_path):
    """Run ``zslplat`` with arguments in a folder of the test's own; returns the finished process."""

    def run(*arguments, cwd=tmp_path, timeout=120, **extra):
        command = [sys.executable, "-m", "zslplat", *map(str, arguments)]
        environment = {**program_environment, **extra}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)

    return run


@pytest.fixture
def start_program(program_environment, tmp_path):
    """Start ``zslplat`` and return the process, in a session of its own, with its standard error as a pipe."""
    started = []

    def start(*arguments, cwd=tmp_path, **extra):
        command = [sys.executable, "-m", "zslplat", *map(str, arguments)]
        process = subprocess.Popen(
            command,
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


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set ZSLPLAT_TEST_DATA to the folder that holds it")
    return folder
