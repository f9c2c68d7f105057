"""What a store of thousands of runs costs those who read it: processor time and memory of every command that does.

    python benchmarks/large_store.py [--runs 10000] [--datasets 5] [--store FOLDER]

A store is written record by record, without running any method: studies of 25 trials each, spread over the data sets,
every one with a test evaluation that has its outcomes per row, as an evaluation leaves them. Each command is then given
twice: the first time may keep what it made (values per class, say), the second finds it. Rows of the table:

seconds     processor time of the command, user and system, start of the interpreter included: at most 2
MiB         largest memory of its process, which should not grow with the store

``--store`` keeps the store in a folder, and takes the one that is there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

from zslplat.evaluation.components import build_component
from zslplat.evaluation.scoring.outcomes import replicates, write_outcomes
from zslplat.keys import key_of, run_identifier
from zslplat.records.database import Records
from zslplat.records.studies import STUDY
from zslplat.records.trials import FinishedTrial
from zslplat.settings import Settings, resolve_settings
from zslplat.space import Real
from zslplat.spec import Spec
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns

TRIALS = 25
CLASSES, ROWS = 20, 40  # of the test split: classes, and rows of each
METHODS = (
    *("eszsl", "sae", "ridge-prototypes", "keszsl", "exem", "gfzsl", "conse", "dap", "iap", "devise"),
    *("ale", "sje", "latem", "sync", "sse", "jlse", "zskl", "mfmr", "gfhf", "cmt"),
)
SPACE = {"alpha": Real(1e-3, 1e3, log=True), "gamma": Real(1e-3, 1e3, log=True)}
CODE = {"method": "m", "task": "t", "data": "d", "scoring": "s", "numpy": "2", "scipy": "1", "numba": "0"}


def settings_of_studies(count: int, datasets: int) -> Iterator[dict[str, Any]]:
    """Yield the settings of so many studies: all methods on all data sets, then with another seed."""
    for number in range(count):
        dataset, rest = number % datasets, number // datasets
        method, seed = METHODS[rest % len(METHODS)], rest // len(METHODS)
        yield {
            **{"method": method, "dataset": f"made-{dataset}", "task": "zsl"},
            "space": {name: str(dimension) for name, dimension in SPACE.items()},
            **{"features": None, "signatures": None, "seed": seed, "batch_size": 4, "sampler": "tpe"},
            **{"pruner": "median", "data": key_of("data", dataset) * 2},
        }


def record(asked: Mapping[str, Any], split: str, value: float, folds: int, parameters: Mapping[str, Any]) -> Any:
    """Return what an evaluation leaves in the records, of the size that it has there."""
    method = Spec.parse(str(asked["method"])).with_parameters(parameters)
    metrics = {"per_class_accuracy": value, "per_sample_accuracy": value, "per_class_top_5": min(value + 0.05, 1.0)}
    experiment = {k: v for k, v in asked.items() if k not in ("space", "batch_size", "sampler", "pruner")}
    experiment |= {"method": str(method), "split": split, "method_seed": asked["seed"], "carried": {}}
    numbers = {"alpha_absolute": 18.749999733619685 * value, "gamma_absolute": 4.285714285714284 * value}
    told = {"metrics": metrics, "seconds": {"fit_and_score": 0.01}, "numbers": numbers, "best_step": 1}
    return {
        **{"state": "complete", "value": value, "metrics": metrics, "carry": {}, "warnings": [], "steps": {}},
        "folds": [{"name": "test" if split == "test" else f"fold-{i + 1}", **told} for i in range(folds)],
        **{"seconds": 0.57, "cpu_seconds": 0.43, "peak_bytes": 176504832, "experiment": experiment},
        **{"question": key_of(experiment), "code": CODE, "knows": "nothing"},
    }


def fill(settings: Settings, studies: int, datasets: int) -> None:
    """Write the records of a store, and the outcomes per row of its test evaluations."""
    settings.make_store()
    records = Records(settings)
    # Whatever is lost with the power can be made again.
    sa.event.listen(records.engine, "connect", lambda c, _: c.execute("PRAGMA synchronous=OFF").close())
    records.engine.dispose()
    task, generator, began = build_component("tasks", Spec("zsl")), np.random.default_rng(0), time.time() - 1e7
    true = np.repeat(np.arange(CLASSES), ROWS)
    for place, asked in enumerate(settings_of_studies(studies, datasets)):
        name = f"{asked['method']}@{asked['dataset']}-zsl-{key_of(asked)[:8]}"
        study = records.open_study(name, asked, maximise=True)
        origin, now = str(study.recall("origin", str)), began + 100 * place
        values = generator.uniform(0.3, 0.7, size=TRIALS)
        for number, value in enumerate(values.tolist()):
            parameters = {key: float(10 ** generator.uniform(-3, 3)) for key in SPACE}
            times = {"number": number, "parameters": parameters, "reason": "", "started": now, "ended": now + 1}
            run = run_identifier(origin, study.owner, f"trial-{number}")
            content = record(asked, "validation", value, 3, parameters) | times | {"run": run}
            study.add(FinishedTrial(number, "complete", parameters, value), content, SPACE)
        winner = int(values.argmax())
        data = {"name": asked["dataset"], "fingerprint": asked["data"]}
        primary = {"name": "per_class_accuracy", "maximise": True}
        about = {"mlflow_experiment": f"zsl: {asked['dataset']}", "primary": primary, "data": data}
        study.note("about", about | {"maps": False, "own_ranges": list(SPACE)})
        study.note("environment", {"packages": {}, "platform": "made"})
        took = {"trials": TRIALS, "seconds": TRIALS * 0.57}
        study.note("finished", {"winner": winner, "complete": True, "code": "", "findings": [], "ended": now, **took})
        key = f"trial-{winner}/repeat-0"
        run = run_identifier(origin, study.owner, key)
        right = generator.random(len(true)) < values[winner] + 0.1 * np.sin(true)
        predicted = np.where(right, true, (true + 1) % CLASSES)
        columns = common_columns(np.arange(len(true)), true, predicted, generator.random(len(true)), None)
        folder = records.evaluation_folder(run)
        digest = write_outcomes(folder, RowOutcomes(columns, {"classes": [f"class {i}" for i in range(CLASSES)]}))
        replicates(task, folder)
        content = record(asked, "test", float(right.mean()), 1, {"alpha": 1.0, "gamma": 1.0})
        content["folds"][0] |= {"rows": key_of("rows", asked["dataset"])[:16], "outcomes": digest}
        content |= {"run": run, "seed": asked["seed"], "repeat": 0, "winner": winner, "created": now}
        records.add_evaluation(STUDY + name, key, "test", str(asked["data"]), content)
    records.close()


def commands(name: str) -> dict[str, list[str]]:
    """Return the commands that read records, by their names in the table; ``name``: that of a study."""
    return {
        "--help": ["--help"],
        "list": ["list"],
        "compare, one data set": ["compare", "-d", "made-0"],
        "compare, all data sets": ["compare"],
        "compare, two methods": ["compare", "-d", "made-0", "eszsl", "sae"],
        "report": ["report"],
        "report, one data set": ["report", "-d", "made-0"],
        "report, one study": ["report", name],
        "store check": ["store", "check"],
        "store gc --dry-run": ["store", "gc", "--dry-run"],
        "studies list": ["studies", "list"],
        "studies show": ["studies", "show", name],
    }


# A child's memory counts from that of the process that started it, so a small one does.
LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 2**10, code)
"""


def cost(arguments: list[str], store: Path) -> tuple[float, float, float, int]:
    """Run a command; return its processor time and wall time in seconds, its memory in MiB, and its exit code."""
    command = [sys.executable, "-S", "-c", LAUNCHER, sys.executable, "-m", "zslplat", *arguments]
    environment = {**os.environ, "ZSLPLAT_STORE": str(store)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as they are for everybody
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()
    return float(told[0]), float(told[1]), float(told[2]), int(told[3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10000, help="runs in all: trials and final evaluations")
    parser.add_argument("--datasets", type=int, default=5)
    parser.add_argument("--store", type=Path, help="folder that keeps the store; default: none is kept")
    parser.add_argument("--only", help="commands whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="large-store-") as place:
        settings = resolve_settings({"store": (options.store or Path(place) / "mlruns").absolute()})
        if not (settings.store / "optuna.db").exists():
            began = time.perf_counter()
            fill(settings, max(1, options.runs // (TRIALS + 1)), options.datasets)
            print(f"{options.runs} runs written in {time.perf_counter() - began:.0f} s")
        records = Records(settings)
        study, count = records.study_names()[0], len(records.study_names())
        records.close()
        table = Table("command", "first: s", "then: s", "wall: s", "MiB", "exit code")
        for name, arguments in commands(study).items():
            if options.only is None or options.only in name:
                first, (again, wall, memory, code) = cost(arguments, settings.store), cost(arguments, settings.store)
                table.add_row(name, f"{first[0]:.2f}", f"{again:.2f}", f"{wall:.2f}", f"{memory:.0f}", str(code))
        print(f"{count} studies of {TRIALS} trials, each with a test evaluation, on {options.datasets} data sets")
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
