"""What it costs that methods run in another process than the one that scores them, and in a fresh one each time.

    python benchmarks/separation.py [--trials 15] [--rows 12000] [--dimensions 64] [--classes 20]

A trial of a method that does nothing is evaluated in one process, in two, and in two of which that of the method is
forked for the trial, in turns, on problems of the given size. The table has medians over the trials of the wall time,
and of the difference to one process, which is to be at most 3 ms for two and 5 ms more for a fresh one. Forking, the
end of the process and the copies of the pages that it writes to are most of the latter; a virtual machine takes longer.

direct    one problem, the scores of all rows once: a final evaluation
folds     three problems, one after another: a trial
epochs    one problem, five steps, each of them scored; all five steps together
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.evaluation.workers.method_host import MethodHost, host
from zslplat.evaluation.workers.method_process import serve
from zslplat.evaluation.workers.proxies import LocalMethods, MethodClient
from zslplat.tasks.base import Problem

BOUNDS = (0.003, 0.008)

PLUGIN = """
import numpy as np
from zslplat.api import Integer, Parameter, ZeroShotMethod, hookimpl


class Still(ZeroShotMethod):
    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        if not hasattr(self, "scores_"):
            self.scores_ = np.random.default_rng(0).random((len(X), len(S)))
        return self.scores_


class Stepping(Still):
    step_parameter = "epochs"
    parameters = {"epochs": Parameter("steps", Integer(1))}

    def __init__(self, epochs=1):
        self.epochs = epochs

    def _fit_steps(self, X, y, S, statistics):
        yield from range(1, self.epochs + 1)


@hookimpl
def zslplat_methods():
    return {"still": Still, "stepping": Stepping}
"""


def install_plugin(folder: Path) -> None:
    """Put a distribution with the methods on the path of this process."""
    (folder / "zslplat_still.py").write_text(PLUGIN)
    info = folder / "zslplat_still-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zslplat-still\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[zslplat]\nstill = zslplat_still\n")
    sys.path.insert(0, str(folder))


def problem(number: int, rows: int, dimensions: int, classes: int) -> Problem:
    """Return a zero-shot problem of so many scored rows and candidate classes."""
    rng = np.random.default_rng(number)
    inputs = {
        "X": rng.random((1000, dimensions)),
        "y": np.arange(1000) % classes,
        "S": rng.random((classes, 30)),
        "X_pool": rng.random((rows, dimensions)),
        "S_pool": rng.random((classes, 30)),
        "seen": np.zeros(classes, dtype=bool),
        "classes:U->U": np.arange(classes),
    }
    truth = {"y_pool": np.arange(rows) % classes, "row_pool": np.arange(rows), "rows:U->U": np.arange(rows)}
    meta = {"dataset": "still", "classes": [f"{i}" for i in range(classes)], "requests": ["U->U"]}
    return Problem(f"fold-{number}", inputs, truth, meta)


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--rows", type=int, default=12000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--classes", type=int, default=20)
    options = parser.parse_args()
    title = f"Separated scoring, {options.rows} rows x {options.dimensions}, {options.classes} classes, medians"
    columns = ("trial", "one process", "two processes", "difference", "a fresh one", "difference", "bounds")
    table = Table(*columns, title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        install_plugin(folder)
        problems: Any = []
        for number in range(3):
            content = problem(number, options.rows, options.dimensions, options.classes)
            save_problem(folder / f"problem-{number}", content)
            problems.append((f"problem-{number}", None))
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        persistent = MethodClient(process, ours)
        ours, theirs = context.Pipe()
        hosting = context.Process(target=host, args=(theirs, ["zslplat_still"]))
        hosting.start()
        fresh = MethodHost(hosting, ours, lambda done: None)
        for row, method, folds, epochs in (
            ("direct", "still", 1, 1),
            ("folds", "still", 3, 1),
            ("epochs", "stepping", 1, 5),
        ):
            parameters = {"epochs": epochs} if epochs > 1 else {}
            job = EvaluateJob(row, method, parameters, 0, "zsl", tuple(problems[:folds]), artifacts=folder / row)
            seconds: list[list[float]] = [[], [], []]
            for trial in range(options.trials + 2):
                for way, taken in enumerate(seconds):
                    start = time.perf_counter()
                    evaluate(job, folder, (LocalMethods(), persistent, fresh.methods)[way])
                    if way == 2:
                        fresh.renew()
                    if trial >= 2:
                        taken.append(time.perf_counter() - start)
            # Of each trial, so that what else the machine does falls on all alike.
            more = [statistics.median(b - a for a, b in zip(seconds[0], taken, strict=True)) for taken in seconds[1:]]
            one, two, three = (1000 * statistics.median(taken) for taken in seconds)
            cells = [f"{one:.2f} ms", f"{two:.2f} ms", f"{1000 * more[0]:.2f} ms", f"{three:.2f} ms"]
            table.add_row(row, *cells, f"{1000 * more[1]:.2f} ms", " / ".join(f"{1000 * b:.0f} ms" for b in BOUNDS))
        process.kill()
        hosting.kill()
    Console().print(table)


if __name__ == "__main__":
    main()
