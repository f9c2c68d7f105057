"""What it costs that methods run in another process than the one that scores them.

    python benchmarks/separation.py [--trials 15] [--rows 12000] [--classes 20]

A trial of a method that does nothing is evaluated in one process and in two, in turns, on problems of the given size;
the table has medians over the trials of the wall time, and of the differences, which are to be at most 3 ms. The
difference in processor time, of both processes together, says the same on a machine that has other things to do.

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

from zslplat.evaluation.jobs import EvaluateJob, evaluate, save_problem
from zslplat.evaluation.method_process import serve
from zslplat.evaluation.stand_ins import InProcess, MethodProcess
from zslplat.tasks.base import Problem

BOUND = 0.003

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

    def fit_steps(self, X, y, S, *, statistics=None):
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


def problem(number: int, rows: int, classes: int) -> Problem:
    """Return a zero-shot problem of so many scored rows and candidate classes."""
    rng = np.random.default_rng(number)
    inputs = {
        "X": rng.random((1000, 64)),
        "y": np.arange(1000) % classes,
        "S": rng.random((classes, 30)),
        "X_pool": rng.random((rows, 64)),
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
    parser.add_argument("--classes", type=int, default=20)
    asked = parser.parse_args()
    title = f"Separated scoring, {asked.rows} rows x {asked.classes} classes, medians of {asked.trials} trials"
    table = Table("trial", "one process", "two processes", "difference", "of processor time", "bound", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        install_plugin(folder)
        problems: Any = []
        for number in range(3):
            save_problem(folder / f"problem-{number}", problem(number, asked.rows, asked.classes))
            problems.append((f"problem-{number}", None))
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        both = (InProcess(), MethodProcess(process, ours))
        for row, method, folds, epochs in (
            ("direct", "still", 1, 1),
            ("folds", "still", 3, 1),
            ("epochs", "stepping", 1, 5),
        ):
            told = {"epochs": epochs} if epochs > 1 else {}
            job = EvaluateJob(row, method, told, 0, "zsl", tuple(problems[:folds]), artifacts=folder / row)
            seconds: tuple[list[float], list[float]] = ([], [])
            processor: tuple[list[float], list[float]] = ([], [])
            for trial in range(asked.trials + 2):
                for place, taken, worked in zip(both, seconds, processor, strict=True):
                    start = time.perf_counter()
                    record = evaluate(job, folder, place)
                    if trial >= 2:
                        taken.append(time.perf_counter() - start)
                        worked.append(record["cpu_seconds"])
            one, two = (statistics.median(taken) for taken in seconds)
            # Of each pair, so that what else the machine does falls on both alike.
            apart, more = (
                statistics.median(b - a for a, b in zip(*each, strict=True)) for each in (seconds, processor)
            )
            cells = (f"{1000 * value:.2f} ms" for value in (one, two, apart, more, BOUND))
            table.add_row(row, *cells)
        process.kill()
    Console().print(table)


if __name__ == "__main__":
    main()
