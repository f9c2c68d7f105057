"""One study of the campaign: its command, what happens to it, and what must be as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
import time
from collections import Counter
from pathlib import Path

import psutil
from commands import Leader, lead, process_with_imports
from support import blank_main, evaluations_of, install_distribution, runs_of, trials_of, with_own_path

PLUGIN = Path(__file__).parent.parent / "plugin_module.py"
STUDY = ("tune", "--method", "plain", "--dataset", "marked", "--trials", 6, "--repeats", 1)
# No study of the campaign takes so long on a machine that does anything at all.
_MOST_SECONDS = 1800
_END_SECONDS = 120
_LONG_HEX = re.compile(r"[0-9a-f]{16,}")
# What a process prints, and who is at work, differ from time to time.
_PASSING = re.compile(r"workers\.log|\.lock$|^tmp/?$|\.txt$")


class Ground:
    """Where the studies are: a scratch folder with the plugin, an empty store to copy, and an undisturbed study."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plugins = install_distribution(
            folder / "plugins", "zslplat-trouble", "zslplat_trouble", PLUGIN.read_text()
        )
        self.context = process_with_imports()
        self.template = self._empty_store()
        start = time.monotonic()
        self.reference = Case(self, "reference", random.Random(0))
        done = self.reference.start().wait(_MOST_SECONDS)
        assert done.returncode == 0, done.stderr
        self.seconds = time.monotonic() - start
        self.lines = done.stderr.count("\n")
        self.printed = self.reference.finish()
        assert not self.reference.wrong, self.reference.wrong

    def environment(self, folder: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ZSLPLAT_")}
        own = {"XDG_CONFIG_HOME": str(self.folder / "none"), "TMPDIR": str(folder / "tmp"), "TROUBLE_PAUSE": "0.05"}
        return {**kept, **own, "PYTHONPATH": with_own_path(str(self.plugins))}

    def _empty_store(self) -> Path:
        """Return a store with the tables of its databases; making them takes longer than a study."""
        case = Case(self, "empty", random.Random(0), store=False)
        done = case.start("run", "-m", "idle(mix=0.5,ridge=1)", "-d", "marked", "--workers", 1).wait(_MOST_SECONDS)
        assert done.returncode == 0, done.stderr
        store = case.folder / "mlruns"
        for name in os.listdir(store):
            if name not in ("mlflow.db", "optuna.db"):
                shutil.rmtree(store / name) if (store / name).is_dir() else (store / name).unlink()
        for name in ("mlflow.db", "optuna.db"):
            connection = sqlite3.connect(store / name)
            skipped = ("alembic_version", "version_info", "experiments", "workspaces")
            tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            for (table,) in tables:
                if not table.startswith("sqlite_") and not table.startswith(skipped):
                    connection.execute(f"delete from {table}")
            connection.execute("delete from experiments where experiment_id <> 0") if name == "mlflow.db" else None
            connection.commit()
            connection.close()
        return store


class Case:
    """A study in a folder of its own; ``wrong`` collects what is not as it must be, ``phases`` where it was struck."""

    def __init__(self, ground: Ground, name: str, draw: random.Random, *, store: bool = True) -> None:
        self.ground, self.draw, self.folder = ground, draw, ground.folder / name
        self.strikes = 0
        self.phases: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.done = None
        self.prepare = None  # called in a command before anything of it runs
        self.options: tuple[object, ...] = ()  # of every command, beside those of the study
        self.variables: dict[str, str] = {}
        # Where trials and runs are: this store, unless a server has them.
        self.studies: Path | str | None = None
        self.shown: Path | str | None = None
        self._started = 0
        (self.folder / "tmp").mkdir(parents=True)
        if store:
            shutil.copytree(ground.template, self.folder / "mlruns")

    @property
    def store(self) -> Path:
        return self.folder / "mlruns"

    def start(self, *arguments) -> Leader:
        """Start the study's command, or another one."""
        arguments = (*(arguments or (*STUDY, "--workers", self.draw.choice((1, 2)))), *self.options)
        self._started += 1
        logs = self.ground.folder / "printed" / self.folder.name
        logs.mkdir(parents=True, exist_ok=True)
        out, err = (logs / f"{kind}-{self._started}.txt" for kind in ("out", "err"))
        environment = self.ground.environment(self.folder) | self.variables
        handed = ([str(a) for a in arguments], str(self.folder), environment)
        with blank_main():
            process = self.ground.context.Process(target=lead, args=(*handed, str(out), str(err), self.prepare))
            process.start()
        return Leader(process, out, err)

    def reach(self, running: Leader) -> bool:
        """Wait for a point that is drawn over all phases of the command; False where it has ended before."""
        running.wait_for_lines(self.draw.randint(0, self.ground.lines), timeout=_MOST_SECONDS)
        time.sleep(self.draw.choice((0.0, 0.02, 0.1, 0.3)))
        return running.process.is_alive()

    def note(self, running: Leader) -> None:
        """Count a strike, and in which phase."""
        lines = running.err.read_text().splitlines() if running.err.exists() else []
        self.strikes += 1
        self.phases[_phase(lines[-1] if lines else "")] += 1

    def over(self, running: Leader) -> None:
        """See to it that a command that was struck ends, and all that it had started."""
        running.process.join(_END_SECONDS)
        if running.process.exitcode is None:
            self.wrong.append("the command goes on")
            running.process.kill()
            running.process.join()
        self._traceback(running)
        self.nothing_runs()

    def goes_on(self, running: Leader) -> None:
        """Wait for the end of a command that was struck and must get over it."""
        running.process.join(_MOST_SECONDS)
        if running.process.exitcode != 0:
            self.wrong.append(f"ended with {running.process.exitcode}: {_last(running)}")
            if running.process.exitcode is None:
                running.process.kill()
                running.process.join()
        self._traceback(running)

    def nothing_runs(self) -> None:
        """Note processes that work in the folder of the study though no command runs."""
        end = time.monotonic() + _END_SECONDS
        while (left := processes_in(self.folder)) and time.monotonic() < end:
            time.sleep(0.05)
        for process in left:
            self.wrong.append(f"left running: {process}")
            process.kill()

    def finish(self):
        """Give the command (again) until the end; return what it printed."""
        running = self.start(*STUDY, "--json")
        running.process.join(_MOST_SECONDS)
        if running.process.exitcode is None:
            self.wrong.append("the study does not end")
            running.process.kill()
            running.process.join()
        self.done = running.wait(1)
        self._traceback(running)
        self.nothing_runs()
        if self.done.returncode != 0:
            self.wrong.append(f"the same command ends with {self.done.returncode}: {_last(running)}")
            return {}
        return json.loads(self.done.stdout)

    def compare(self) -> None:
        """Finish, and note all in which the study differs from the undisturbed one: once, while its servers run."""
        if self.done is not None:
            return
        printed, expected = self.finish(), self.ground.reference
        if not printed:
            return
        if printed["test"] != self.ground.printed["test"]:
            self.wrong.append(f"test scores {printed['test']}")
        studies, shown = self.studies or self.store, self.shown or self.store
        for what, read, place in (
            ("trials", trials_of, studies),
            ("evaluations", evaluations_of, studies),
            ("runs", runs_of, shown),
        ):
            try:
                ours, theirs = read(place), read(expected.store)
            except (AssertionError, sqlite3.Error) as error:
                self.wrong.append(f"{what}: {error}")
                continue
            if ours != theirs:
                self.wrong.append(f"{what} differ: {len(ours)} of {len(theirs)}")
        more = files_of(self.folder) - files_of(expected.folder)
        less = files_of(expected.folder) - files_of(self.folder)
        if self.shown is not None and not isinstance(self.shown, str):
            # A server keeps the artifacts.
            less = Counter({name: count for name, count in less.items() if "mlruns/artifacts/" not in name})
            del more["mlruns/artifacts"]
        self.wrong += [f"left behind: {name} ({count})" for name, count in more.items()]
        self.wrong += [f"missing: {name} ({count})" for name, count in less.items()]

    def _traceback(self, running: Leader) -> None:
        printed = "".join(file.read_text() for file in (running.out, running.err) if file.exists())
        if "Traceback" in printed or "Warning:" in printed:
            self.wrong.append(f"printed: {printed[-600:]}")


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return the processes whose working folder is this one, or inside it; those that have ended do not count."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def files_of(folder: Path) -> Counter[str]:
    """Count the files below a folder, and the folders that hold nothing; identifiers are all alike."""
    found = []
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if not _PASSING.search(name) and (not path.is_dir() or not any(path.iterdir())):
            found.append(_LONG_HEX.sub("#", name))
    return Counter(found)


def _phase(line: str) -> str:
    """Return the phase of a study whose latest line of progress this is."""
    phases = ("trial", "final", "preparing", "tuning", "building", "preprocessing", "loading", "test", "prepared")
    return next((phase for phase in phases if phase in line), "start" if not line else "other")


def _last(running: Leader) -> str:
    lines = running.err.read_text().strip().splitlines() if running.err.exists() else []
    return lines[-1][:300] if lines else "nothing printed"
