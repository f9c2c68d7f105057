"""Throughput of workers: trials of 0.2 s on 1, 2 and 4 workers, local ones and those of a Dask cluster.

    python benchmarks/cluster.py [--trials 40] [--seconds 0.2] [--workers 1 2 4] [--grid]

A method that sleeps is tuned by random search, so that the processor is idle but for the platform itself. The ideal of
w workers is w trials in that time; a batch has four trials, so three workers would have the ideal of two. The first
batch is left out, in which processes start and inputs travel. Trials of all rows must be equal. "seconds a trial" is
what a trial takes alone, "processor" the processor time of the whole command and of its local processes. The load of
the machine is printed, too: another program on it makes every row slower.

``--grid``: a suite of four such studies on the most workers that were named, one after another and side by side. More
than four are kept busy only by several studies, since the batch of one has four trials (``--workers 8 --seconds 2``).
"of the ideal" is for the whole command, with its start and its tables; "workers busy" from when every worker has ended
a trial to the last trial.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

BATCH = 4
PLUGIN = """
import time
import numpy as np
from zslplat.api import Parameter, Real, ZeroShotMethod, hookimpl


class Sleeping(ZeroShotMethod):
    summary = "sleeps"
    parameters = {
        "a": Parameter("a", Real(0, 1), Real(0, 1)),
        "seconds": Parameter("seconds in each fit", Real(0)),
        "mark": Parameter("tells one study from another", Real(0)),
    }

    def __init__(self, a=0.5, seconds=0.0, mark=0.0):
        self.a, self.seconds, self.mark = a, seconds, mark

    def fit(self, X, y, S, *, statistics=None):
        time.sleep(self.seconds)
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return np.broadcast_to(self.a * S[:, 0], (len(X), len(S)))


@hookimpl
def zslplat_methods():
    return {"sleeping": Sleeping}
"""


def write_plugin(folder: Path) -> None:
    info = folder / "sleeping-1.dist-info"
    info.mkdir()
    (folder / "sleeping_plugin.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sleeping\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[zslplat]\nsleeping = sleeping_plugin\n")


@contextmanager
def dask_cluster(folder: Path, threads: int, environment: dict[str, str]) -> Iterator[str]:
    """A scheduler and one worker with so many threads, in folders of their own."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    scheduler = [*dask[:2], dask[2] + "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    worker = [
        *dask[:2],
        dask[2] + "worker",
        "--scheduler-file",
        str(file),
        "--nthreads",
        str(threads),
        "--no-dashboard",
    ]
    worker += ["--no-dashboard", "--local-directory", str(folder / "worker")]
    with (folder / "dask.log").open("w") as log:
        started = [subprocess.Popen(c, env=environment, stdout=log, stderr=log) for c in (scheduler, worker)]
        try:
            while not file.exists():
                time.sleep(0.1)
            yield str(file)
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def command(store: Path, environment: dict[str, str], *arguments: object) -> tuple[float, float]:
    """Run zslplat and return how long it took, and what it took of the processor itself (workers of Dask apart)."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "zslplat", *map(str, arguments), "--store", str(store), "-q"],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recorded(store: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        query = (
            "select a.value_json from trials t join trial_user_attributes a on a.trial_id = t.trial_id "
            "where a.key = 'record' order by t.study_id, t.number"
        )
        return [json.loads(json.loads(text)) for (text,) in connection.execute(query)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--grid", action="store_true")
    given = parser.parse_args()
    if given.trials <= BATCH or 4 * given.trials <= max(given.workers):
        parser.error(f"--trials {given.trials} are over when all workers have started; give more")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_plugin(folder)
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path}
        (grid if given.grid else study)(folder, environment, given)


def study(folder: Path, environment: dict[str, str], given: argparse.Namespace) -> None:
    table = Table("workers", "", "trials a second", "of the ideal", "seconds a trial", "processor, s", "load")
    expected = None
    # Three folds share the time of a trial.
    method = f"sleeping(seconds={given.seconds / 3:.4f})"
    asked = ["tune", "--method", method, "--dataset", "digit-pairs", "--trials", given.trials, "--sampler", "random"]
    for count in given.workers:
        for kind in ("local", "Dask"):
            own = folder / f"{kind}-{count}"
            own.mkdir()
            load = os.getloadavg()[0]
            if kind == "local":
                _, used = command(own / "store", environment, *asked, "--workers", count)
            else:
                with dask_cluster(own, count, environment) as address:
                    _, used = command(own / "store", environment, *asked, "--cluster", address)
            records = recorded(own / "store")
            trials = [(r["parameters"], r["value"]) for r in records]
            expected = expected or trials
            assert trials == expected, f"{kind} {count}: other trials"
            ended = [float(r["ended"]) for r in records]
            rate = (len(ended) - BATCH) / (ended[-1] - ended[BATCH - 1])
            alone = sum(float(r["seconds"]) for r in records) / len(records)
            share = rate * given.seconds / count
            table.add_row(str(count), kind, f"{rate:.2f}", f"{share:.0%}", f"{alone:.3f}", f"{used:.1f}", f"{load:.1f}")
    Console().print(table)


def grid(folder: Path, environment: dict[str, str], given: argparse.Namespace) -> None:
    rows = "\n".join(
        f'[[row]]\nname = "row {n}"\nmethod = "sleeping(seconds={given.seconds / 3:.4f}, mark={n})"' for n in range(4)
    )
    suite = f'trials = {given.trials}\nrepeats = 1\ntasks = ["zsl"]\n[metrics]\nzsl = ["per_class_accuracy"]\n'
    (folder / "suite.toml").write_text(f'{suite}[[data]]\nname = "toy"\ndataset = "digit-pairs"\n{rows}\n')
    threads = max(given.workers)
    ideal = 4 * given.trials * given.seconds / threads
    table = Table("side by side", "seconds", "of the ideal", "workers busy", "load")
    expected = None
    for abreast in (1, 2, 4):
        own = folder / f"grid-{abreast}"
        own.mkdir()
        load = os.getloadavg()[0]
        with dask_cluster(own, threads, environment) as address:
            asked = ["bench", folder / "suite.toml", "--cluster", address, "--abreast", abreast, "--out", own / "out"]
            took, _ = command(own / "store", environment, *asked)
        records = recorded(own / "store")
        ended = sorted(float(r["ended"]) for r in records)
        busy = (len(ended) - threads) * given.seconds / threads / (ended[-1] - ended[threads - 1])
        found = sorted((str(r["parameters"]), str(r["value"])) for r in records)
        expected = expected or found
        assert found == expected, f"{abreast} side by side: other trials"
        table.add_row(str(abreast), f"{took:.1f}", f"{ideal / took:.0%}", f"{busy:.0%}", f"{load:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
