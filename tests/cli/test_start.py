"""What a command loads before it has anything to do, and what processes hold."""

from __future__ import annotations

import mmap
import re
import subprocess
import sys

import numpy as np
import psutil
import pytest
import typer

from zslplat.cli import app
from zslplat.evaluation.workers.memory import own_bytes
from zslplat.platforms import peak_bytes, reset_peak

HEAVY = ("mlflow", "optuna", "sklearn", "scipy", "pandas", "numpy", "sqlalchemy", "matplotlib", "numba")


def loaded_by(*arguments):
    command = [sys.executable, "-X", "importtime", "-m", "zslplat", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"\|\s+([\w.]+)$", done.stderr, flags=re.MULTILINE))


def test_help_loads_no_heavy_library():
    for arguments in (("--help",), ("tune", "--help"), ("data", "--help")):
        modules = loaded_by(*arguments)
        assert "typer" in modules
        assert not modules.intersection(HEAVY)
    # Help takes at most twice as long as importing Typer: what it loads beside that is small.
    assert not loaded_by("--help") & {
        "zslplat.registry",
        "zslplat.settings",
        "pluggy",
        "tomllib",
        "email.parser",
        "rich",
    }


def test_the_peak_of_memory_is_counted_from_the_last_reset():
    reset_peak()
    np.ones(25_000_000).sum()
    first = peak_bytes()
    reset_peak()
    assert first - peak_bytes() > 150e6


def test_mapped_files_are_not_a_process_own_memory(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(bytes(50_000_000))
    process = psutil.Process()
    before = own_bytes(process)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert np.frombuffer(mapped, np.uint8).sum() == 0
        assert own_bytes(process) - before < 25_000_000


def test_the_commands_are_made_once_in_a_process(monkeypatch, capsys):
    made, make = [], typer.main.get_command
    monkeypatch.setattr(typer.main, "get_command", lambda declared: (made.append(declared), make(declared))[1])
    app._root.cache_clear()
    for arguments in (["--version"], ["tune", "--help"], ["--version"]):
        assert app.run_app(arguments) == 0
    assert sum(declared is app.app for declared in made) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == last
    assert first.startswith("zslplat ")


@pytest.mark.long
def test_a_report_loads_no_library_of_methods(call, tmp_path):
    """Records say whether a method can be mapped, so that nobody has to import it for that."""
    made = call("run", "-m", "eszsl", "--test", "-q", "--workers", 1)
    assert made.returncode == 0, made.stderr
    modules = loaded_by("report", "--store", str(tmp_path / "mlruns"), "--out", str(tmp_path / "report.html"))
    assert "matplotlib" in modules
    assert not {"sklearn", "pandas", "mlflow", "zslplat.methods.base"} & modules
