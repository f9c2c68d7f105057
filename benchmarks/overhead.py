"""What the platform itself costs: the start of the program, and each trial of a method that does nothing.

    python benchmarks/overhead.py [--trials 60] [--sampler tpe]

``--help`` has to come within 0.3 s (median of 7), a trial within 60 ms. The rows of a study:

propose     which parameters a trial tries
dispatch    waiting for a child: the job there, its work (fitting nothing, scoring, files), and the answer back
store       the finished trial into the database of records
MLflow      the finished trial's run; it is made while the next batch is evaluated, so it overlaps with dispatch
whole       the time from one recorded trial to the next, once all workers are there (after the eighth trial)
outside propose
            the leader's work from one recorded trial to the next without the sampler's: at most 15 ms; with 200 trials
            or more also by hundreds, which tells whether it grows with what is recorded. The collector of garbage is
            left out of the parts and the hundreds, and has a row: it comes rarely, and then for what was made long
            before. To propose a trial tpe looks at all that are recorded, random at none

Wall time is what a user waits; the leader's CPU time says what is left of it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from zslplat.cli import OBJECTS_BETWEEN_COLLECTIONS

STARTING, STRETCH = 8, 100
COLLECTOR = "collector"
OUTSIDE = 0.015

PLUGIN = """
import numpy as np
from zslplat.api import Parameter, Real, ZeroShotMethod, hookimpl


class Idle(ZeroShotMethod):
    summary = "does nothing"
    parameters = {n: Parameter(n, Real(0, 1), Real(0, 1)) for n in ("a", "b")}

    def __init__(self, a=0.5, b=0.5):
        self.a, self.b = a, b

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return np.broadcast_to(self.a * S[:, 0], (len(X), len(S)))


@hookimpl
def zslplat_methods():
    return {"idle": Idle}
"""


def install_plugin(folder: Path) -> None:
    """Lay out a distribution with the idle method and put it on the path of this process and of its children."""
    (folder / "zslplat_idle.py").write_text(PLUGIN)
    info = folder / "zslplat_idle-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zslplat-idle\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[zslplat]\nidle = zslplat_idle\n")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


class Clock:
    """Wall and CPU seconds of this process by name, of functions that are replaced by timed ones."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {COLLECTOR: 0.0}
        self.calls: dict[str, int] = {}
        # The processor time of the process, and that of each name, at every end of a call.
        self.ends: dict[str, list[tuple[float, dict[str, float]]]] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time added to ``name``."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time() - self.cpu[COLLECTOR]
            try:
                return function(*args, **kwargs)
            finally:
                self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
                self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - self.cpu[COLLECTOR] - cpu
                self.calls[name] = self.calls.get(name, 0) + 1
                self.ends.setdefault(name, []).append((time.process_time(), dict(self.cpu)))

        return run

    def collecting(self, phase: str, _: dict[str, int]) -> None:
        """Add the time of a collection of garbage, which begins and ends in one thread; no other part has it."""
        if phase == "start":
            self.collection = time.thread_time()
        else:
            self.cpu[COLLECTOR] += time.thread_time() - self.collection

    @contextmanager
    def watching(self, places: dict[str, tuple[Any, str]]) -> Iterator[None]:
        """Time the named attributes while the block runs."""
        saved = {name: getattr(*place) for name, place in places.items()}
        for name, (owner, attribute) in places.items():
            setattr(owner, attribute, self.timed(name, saved[name]))
        gc.callbacks.append(self.collecting)
        try:
            yield
        finally:
            gc.callbacks.remove(self.collecting)
            for name, (owner, attribute) in places.items():
                setattr(owner, attribute, saved[name])


def help_seconds(repeats: int) -> list[float]:
    """Return the wall time of ``zslplat --help``, repeatedly."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "zslplat", "--help"], check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return found


def study_costs(store: Path, trials: int, workers: int, sampler: str) -> tuple[Clock, dict[str, float]]:
    """Run a study of the idle method; returns the leader's times, and seconds per trial after the first ones."""
    from zslplat.evaluation.components import searched_space
    from zslplat.evaluation.context import ExperimentContext
    from zslplat.evaluation.experiment import Experiment
    from zslplat.evaluation.reporter import SilentReporter
    from zslplat.evaluation.session import Session
    from zslplat.records.database import Records
    from zslplat.records.studies import OpenStudy
    from zslplat.registry import component
    from zslplat.settings import resolve_settings
    from zslplat.spec import Spec
    from zslplat.tracking.listener import ShownStudy
    from zslplat.tuning import study
    from zslplat.tuning.options import StudyOptions
    from zslplat.tuning.trial_log import TrialLog

    clock = Clock()
    space = searched_space(component("methods", "idle").build({}), {}, {})
    experiment = Experiment(Spec("idle"), Spec("digit-pairs"), Spec("zsl"), space)
    settings = resolve_settings({"store": store})
    reporter = SilentReporter()
    options = StudyOptions(name=f"{workers} workers", trials=trials, workers=workers, sampler=sampler)
    places = {
        "propose": (study.Proposer, "batch"),
        "store": (OpenStudy, "add"),
        "record": (TrialLog, "add"),
        "MLflow": (ShownStudy, "trials"),
        "whole": (study.StudyRun, "_search"),
    }
    context = ExperimentContext(experiment, settings)
    with Session(context, Records(settings, reporter.warn), reporter, workers=workers) as session:
        leader = study.StudyRun(session, options)
        with clock.watching(places):
            leader.run()
        records = leader.log.records[STARTING:]
    means = {key: statistics.fmean(record[key] for record in records) for key in ("seconds", "cpu_seconds")}
    means["whole"] = (records[-1]["ended"] - records[0]["ended"]) / (len(records) - 1)
    # Each trial costs all of this, whatever the leader did in between; starting workers and MLflow comes before.
    means["outside propose"] = outside(clock, STARTING, trials - 1, "propose")
    means[COLLECTOR] = means["outside propose"] - outside(clock, STARTING, trials - 1, "propose", COLLECTOR)
    return clock, means


def outside(clock: Clock, start: int, end: int, *parts: str) -> float:
    """Return the leader's processor seconds a trial without those parts, from one recorded trial to another."""
    (first, before), (last, after) = (clock.ends["record"][place] for place in (start, end))
    return (last - first - sum(after[part] - before[part] for part in parts)) / (end - start)


def by_hundreds(clock: Clock, trials: int) -> str:
    """Return milliseconds a trial outside the sampler and the collector, a number for each hundred trials."""
    ends = [min(start + STRETCH, trials - 1) for start in range(STARTING, trials - 1, STRETCH)]
    starts = [STARTING, *ends[:-1]]
    return "  ".join(
        f"{1000 * outside(clock, *place, 'propose', COLLECTOR):.1f}" for place in zip(starts, ends, strict=True)
    )


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--sampler", choices=("tpe", "random", "qmc"), default="tpe")
    given = parser.parse_args()
    trials, sampler = given.trials, given.sampler
    title = f"Overhead, {trials} trials ({sampler}) of a method that is idle"
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)  # as commands do
    table = Table("what", "wall", "leader's CPU", "bound", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    hundreds: list[str] = []
    times = help_seconds(7)
    table.add_row("zslplat --help, median of 7", f"{statistics.median(times):.3f} s", "", "0.3 s")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plugin").mkdir()
        install_plugin(Path(folder) / "plugin")
        for workers in (1, 2):
            clock, means = study_costs(Path(folder) / "mlruns", trials, workers, sampler)
            table.add_section()
            for name in ("propose", "dispatch", "store", "MLflow", "whole"):
                cpu = f"{1000 * clock.cpu[name] / trials:.1f} ms" if name in clock.cpu else ""
                seconds = clock.wall.get(name, 0.0) / trials
                if name == "whole":
                    seconds = means["whole"]
                if name == "dispatch":
                    # Nobody waits for a process here: what is left when the leader has done its own work.
                    own = sum(clock.wall[part] for part in ("propose", "store", "MLflow")) / trials
                    seconds = max(0.0, means["whole"] - own)
                label = f"{workers} worker{'s' * (workers > 1)}: {name}"
                table.add_row(label, f"{1000 * seconds:.1f} ms", cpu, "60 ms" if name == "whole" else "")
            label = f"{workers} worker{'s' * (workers > 1)}: outside propose"
            table.add_row(label, "", f"{1000 * means['outside propose']:.1f} ms", f"{1000 * OUTSIDE:.0f} ms")
            table.add_row("  of it, the collector", "", f"{1000 * means[COLLECTOR]:.1f} ms", "")
            if trials >= 2 * STRETCH:
                hundreds.append(f"{label}, by hundreds of trials, in ms: {by_hundreds(clock, trials)}")
            table.add_row("  of dispatch, in the child", f"{1000 * means['seconds']:.1f} ms", "", "")
    Console().print(table)
    for line in hundreds:
        print(line)


if __name__ == "__main__":
    main()
