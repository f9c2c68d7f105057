"""What happens to the studies of the campaign: one function per mode, which leaves a study to be continued.

A mode takes a :class:`disturbed.Case` and strikes its study; the campaign then gives the same command again and
compares. ``MODES`` holds them by name, ``WEIGHTS`` how often each is drawn; to add one is to write a function.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from commands import Leader
from disturbed import STUDY, Case

MODES: dict[str, Callable[[Case], None]] = {}
WEIGHTS: dict[str, int] = {}
_MOST_STRIKES = 4


def mode(name: str, weight: int = 1):
    """Let a function be a mode of this name, drawn so often beside the others."""

    def register(function: Callable[[Case], None]) -> Callable[[Case], None]:
        MODES[name], WEIGHTS[name] = function, weight
        return function

    return register


def strike_again_and_again(case: Case, strike: Callable[[Leader], None]) -> None:
    """Start the command and strike it at a point that is drawn, until it got to its end or has had enough."""
    for _ in range(_MOST_STRIKES):
        running = case.start()
        if not case.reach(running):
            case.over(running)
            return
        case.note(running)
        strike(running)
        case.over(running)


@mode("leader killed", 3)
def leader_killed(case: Case) -> None:
    strike_again_and_again(case, lambda running: running.process.kill())


@mode("group killed", 3)
def group_killed(case: Case) -> None:
    strike_again_and_again(case, lambda running: os.killpg(running.process.pid, signal.SIGKILL))


@mode("SIGTERM", 2)
def terminated(case: Case) -> None:
    strike_again_and_again(case, lambda running: running.process.terminate())


@mode("Ctrl-C", 2)
def interrupted(case: Case) -> None:
    strike_again_and_again(case, lambda running: os.killpg(running.process.pid, signal.SIGINT))


def strike_one(case: Case, found: Callable[[Leader], list], number: int = signal.SIGKILL) -> None:
    """Strike one of a command's processes two times; the command must get over it."""
    running = case.start()
    for _ in range(2):
        if not case.reach(running):
            break
        candidates = found(running)
        if candidates:
            case.note(running)
            try:
                case.draw.choice(candidates).send_signal(number)
            except Exception as error:
                if type(error).__name__ != "NoSuchProcess":
                    raise
    case.goes_on(running)


@mode("worker killed", 2)
def worker_killed(case: Case) -> None:
    strike_one(case, Leader.workers)


@mode("method process killed", 2)
def method_process_killed(case: Case) -> None:
    strike_one(case, Leader.children)


@mode("guardian killed")
def guardian_killed(case: Case) -> None:
    strike_one(case, Leader.guardians)


@mode("fork server killed")
def fork_server_killed(case: Case) -> None:
    strike_one(case, Leader.fork_servers)


@mode("stopped and continued", 2)
def stopped_and_continued(case: Case) -> None:
    running = case.start()
    if case.reach(running):
        case.note(running)
        everything = [running.process.pid, *(p.pid for p in running.all_started())]
        for number, pause in ((signal.SIGSTOP, 1.0), (signal.SIGCONT, 0.0)):
            for pid in everything:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            time.sleep(pause)
    case.goes_on(running)


class _ShortFiles:
    """Let a command write no file beyond so many bytes, as a full disk does."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))


@mode("no longer files")
def files_cut_short(case: Case) -> None:
    largest = max(path.stat().st_size for path in case.store.glob("*.db"))
    case.prepare = _ShortFiles(case.draw.randint(1_000, 2 * largest))
    running = case.start()
    running.process.join(1800)
    case.note(running)
    case.prepare = None
    one_clear_end(case, running)


def one_clear_end(case: Case, running: Leader) -> None:
    """Note a command that neither got to its end nor ended with one error."""
    case.over(running)
    lines = running.err.read_text().splitlines()
    errors = [line for line in lines if line.startswith("error:")]
    if running.process.exitcode != 0 and (running.process.exitcode not in (1, 2) or len(errors) != 1):
        case.wrong.append(f"ended with {running.process.exitcode} and {len(errors)} errors: {lines[-1:]}")


def _mounted(case: Case, *options: str) -> bool:
    if sys.platform != "linux":
        return False
    command = ["mount", "-t", "tmpfs", *options, "none", str(case.store)]
    return subprocess.run(command, capture_output=True).returncode == 0


@mode("disk full")
def disk_full(case: Case) -> None:
    """A file system of its own for the store, which is full at some point and then is not."""
    kept = case.folder.with_name(f"{case.folder.name}.kept")
    size = sum(path.stat().st_size for path in case.store.rglob("*") if path.is_file())
    shutil.copytree(case.store, kept)
    if not _mounted(case, "-o", f"size={size + case.draw.randint(20_000, 1_500_000)}"):
        shutil.rmtree(kept)
        files_cut_short(case)
        return
    try:
        shutil.copytree(kept, case.store, dirs_exist_ok=True)
        running = case.start()
        running.process.join(1800)
        case.note(running)
        one_clear_end(case, running)
        shutil.rmtree(kept)
        shutil.copytree(case.store, kept)
    finally:
        subprocess.run(["umount", "-l", str(case.store)], check=True)
        shutil.copytree(kept, case.store, dirs_exist_ok=True)
        shutil.rmtree(kept)


def killed_once(case: Case) -> None:
    """Kill the command somewhere before its end."""
    running = case.start()
    case.reach(running)
    running.process.kill()
    case.over(running)


@mode("store moved")
def store_moved(case: Case) -> None:
    killed_once(case)
    case.strikes += 1
    other = case.folder.with_name(f"{case.folder.name}-moved")
    case.folder.rename(other)
    case.folder = other


@mode("read-only")
def read_only(case: Case) -> None:
    """The store cannot be written for one command, and then it can."""
    killed_once(case)
    case.strikes += 1
    if os.geteuid() == 0:
        if subprocess.run(["mount", "--bind", str(case.store), str(case.store)], capture_output=True).returncode:
            return
        subprocess.run(["mount", "-o", "remount,bind,ro", str(case.store)], check=True)
    else:
        _chmod(case.store, 0o555, 0o444)
    try:
        running = case.start()
        running.process.join(1800)
        one_clear_end(case, running)
        if running.process.exitcode == 0:
            case.wrong.append("a store that cannot be written was written")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", "-l", str(case.store)], check=True)
        else:
            _chmod(case.store, 0o755, 0o644)


def _chmod(store: Path, folders: int, files: int) -> None:
    for path in (store, *store.rglob("*")):
        path.chmod(folders if path.is_dir() else files)


class _Clock:
    """Set the wall clock of a command by so many seconds once it has run for a while."""

    def __init__(self, after: float, jump: float) -> None:
        self.after, self.jump = after, jump

    def __call__(self) -> None:
        true, begun = time.time, time.monotonic()
        time.time = lambda: true() + (self.jump if time.monotonic() - begun > self.after else 0.0)


@mode("clock set")
def clock_set(case: Case) -> None:
    case.prepare = _Clock(case.draw.uniform(0, case.ground.seconds), case.draw.choice((-86400.0, 86400.0)))
    running = case.start(*STUDY, "--timeout", 3600)
    case.goes_on(running)
    case.note(running)
    case.prepare = None
