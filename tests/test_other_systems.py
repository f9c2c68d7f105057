"""What works without what only Linux has: zslplat on a system that is simulated (``simulated_system``).

What such a system does that no simulation knows, its own continuous integration shows (``docs/systems.md``).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import trials_of

TUNE = ("tune", "eszsl", "--dataset", "digit-pairs", "--trials", 3, "--seed", 5)

LOCKS = """
import os, sys, threading, time
from pathlib import Path
from zslplat import platforms
from zslplat.data.store.atomic_files import folder_lock, replacing
from zslplat.platforms import lock_file, unlock_file

assert platforms.WINDOWS and not platforms.FORKS
paths = [os.open(sys.argv[1], os.O_RDWR | os.O_CREAT) for _ in range(4)]

def refused(number, **how):
    try:
        lock_file(paths[number], **how)
    except BlockingIOError:
        return True
    return False

assert not refused(0, shared=True) and not refused(1, shared=True)
assert refused(2)
os.close(paths[0])
assert refused(2)
os.close(paths[1])
assert not refused(2)
assert refused(3) and refused(3, shared=True)
threading.Timer(0.2, os.close, paths[2:3]).start()
began = time.monotonic()
lock_file(paths[3], wait=True)
assert time.monotonic() - began > 0.1
assert os.lseek(paths[3], 0, os.SEEK_CUR) == 0
unlock_file(paths[3])
again = [os.open(sys.argv[1], os.O_RDWR) for _ in range(2)]
lock_file(again[0], shared=True)
lock_file(again[1], shared=True)
unlock_file(again[1])
unlock_file(again[0])
lock_file(again[1])

folder, entered = Path(sys.argv[1]).parent, threading.Event()

def enter():
    with folder_lock(folder):
        entered.set()

with folder_lock(folder):
    other = threading.Thread(target=enter)
    other.start()
    assert not entered.wait(0.2)
assert entered.wait(60)
other.join()
for text in ("first", "second"):
    with replacing(folder / "page") as new:
        new.write_text(text)
    assert (folder / "page").read_text() == text
"""

IN_USE = """
import mmap, os, subprocess, sys
from pathlib import Path

place = Path(sys.argv[1])
place.write_text("rows")
reader = f"import mmap; file = open({sys.argv[1]!r}); {{}}; print(flush=True); input()"
mapped = "rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ); file.close()"
for how in ("pass", mapped):
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", reader.format(how)], **pipes) as process:
        process.stdout.readline()
        for change in (place.unlink, lambda: place.rename(place.with_name("other"))):
            try:
                change()
            except PermissionError:
                continue
            raise SystemExit(f"{how}: a file that another process has open was removed or renamed")
        process.communicate(b"\\n")
place.unlink()
"""

IMPORTS = """
import importlib, pkgutil, zslplat
modules = [module.name for module in pkgutil.walk_packages(zslplat.__path__, "zslplat.")]
failed = []
for name in modules:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(name)
assert len(modules) > 200
print(*failed)
"""

# Tests of the folder that hold where workers are spawned, too.
SPAWNED = {
    "cli/test_interrupted.py": ["test_a_study_stopped_at_four_moments_ends_like_one_that_was_not"],
    "evaluation/test_containment.py": [
        "test_nothing_that_a_job_starts_outlives_it[plain]",
        "test_nothing_that_a_job_starts_outlives_it[session]",
        "test_the_deadline_ends_all_that_a_job_started",
        "test_the_memory_of_all_that_a_job_started_counts",
        "test_what_a_job_started_ends_with_the_worker",
    ],
}


@pytest.fixture
def system(tmp_path):
    """Return a function that runs Python on a simulated system and returns what it printed."""
    (tmp_path / "files").mkdir()

    def run(name, *arguments, cwd=tmp_path / "files"):
        path = os.pathsep.join(filter(None, (str(Path(__file__).with_name("simulated_system")), *_inherited())))
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)}
        environment |= {"SIMULATED_SYSTEM": name, "SIMULATED_ROOT": str(cwd)}
        # The encoding of files and streams that a Western Windows has.
        environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"} if name == "windows" else {}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)], env=environment, cwd=cwd, capture_output=True, timeout=800
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    return run


def _inherited():
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def test_windows_locks_files_and_folders_and_replaces_files(system, tmp_path):
    system("windows", "-c", LOCKS, tmp_path / "files" / "lock")
    assert {path.name for path in (tmp_path / "files").iterdir()} == {"lock", "page"}


def test_windows_keeps_files_that_another_process_has_open_or_mapped(system, tmp_path):
    system("windows", "-c", IN_USE, tmp_path / "files" / "rows")


def test_every_module_but_the_fork_server_is_imported_on_windows(system):
    failed = {module.rpartition(".")[2] for module in system("windows", "-c", IMPORTS).split()}
    assert failed == {"fork_server", "fork_server_exit"}


@pytest.mark.long
def test_a_study_on_windows_has_the_same_trials_and_its_results_are_used(system, call, tmp_path):
    assert call(*TUNE).returncode == 0
    expected = trials_of(tmp_path / "mlruns")
    place = tmp_path / "files"
    system("windows", "-m", "zslplat", *TUNE, "--workers", 2)
    assert trials_of(place / "mlruns") == expected
    assert compared(system("windows", "-m", "zslplat", "compare", "--json")) == compared(
        call("compare", "--json").stdout
    )
    for folder in (place, tmp_path):
        np.save(folder / "rows.npy", np.random.default_rng(0).random((5, 128)))
    system("windows", "-m", "zslplat", "predict", "rows.npy")
    assert call("predict", "rows.npy").returncode == 0
    predicted = (place / "predictions.csv").read_text()
    assert len(predicted.splitlines()) == 6
    assert predicted == (tmp_path / "predictions.csv").read_text()
    assert [path for path in place.rglob(".*") if path.is_dir()] == []  # what was written beside its place


def compared(text):
    """Return what ``compare --json`` says of scores, without seconds and memory."""
    columns = (
        "tested",
        "trials",
        "validation",
        "test",
        "low",
        "high",
        "low_classes",
        "high_classes",
        "verdict",
        "tied",
    )
    return [[row[column] for column in columns] for group in json.loads(text) for row in group["rows"]]


@pytest.mark.long
def test_windows_carries_out_class_folds_with_one_worker_and_the_same_trials(system, call, tmp_path):
    few = ("tune", "eszsl", "--dataset", "digit-pairs(rows=5)", "--trials", 1, "--class-folds", 5)
    assert "5 class folds" in system("windows", "-m", "zslplat", *few, "--workers", 1)
    assert call(*few).returncode == 0
    trials = trials_of(tmp_path / "files" / "mlruns")
    assert len(trials) >= 5
    assert trials == trials_of(tmp_path / "mlruns")


@pytest.mark.long
def test_interrupts_and_limits_end_workers_that_are_not_forked(system):
    folder = Path(__file__).parent
    tests = [f"{folder / file}::{test}" for file, tests in SPAWNED.items() for test in tests]
    shown = system("macos", "-m", "pytest", "-q", "--all", "-p", "no:cacheprovider", *tests, cwd=folder.parent)
    assert f"{len(tests)} passed" in shown
