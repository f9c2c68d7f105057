"""Tables of methods on several data sets, as the papers print them, with paired intervals.

    python benchmarks/tables.py benchmarks/tables/mfmr.toml --out FOLDER [--data-root FOLDER] [--only NAME ...]

A suite names data sets, rows (methods with what is fixed and searched, ``features``, steps in place of the method's
own, and ``tasks`` in place of the suite's, where another one is to be tuned for) and comparisons. Every row gets the
suite's number of trials (a data set may have a number of its own, for all rows; methods with nothing to search have
one). It is tuned for the first task on validation classes; the parameters found there serve the other tasks, too, where
validation only carries what a task carries (the bias of calibrated stacking), and tasks that carry nothing may do
without (``only_tested``). Random methods are repeated five times. Everything is a study or run of its own in
FOLDER/store: a stopped command goes on where it was, and `zslplat ui --store FOLDER/store` and `zslplat compare` show
the same runs.

Written after each data set: ``scores.csv``; ``differences.csv``; and ``budgets.csv``, which says of every row what it
knows of the batch that it scores, its trials and, for methods that train in epochs, which epoch validation chose out of
how many. Rows marked * are methods that were written down without their source at hand. Where a row fails, the others
go on, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from zslplat.cli.options import method_spec
from zslplat.comparison.paired import Scored, difference, interval, mean_difference
from zslplat.comparison.test_evaluations import read_test_evaluations
from zslplat.config import read_config
from zslplat.errors import ZslplatError
from zslplat.evaluation.components import searched_space
from zslplat.evaluation.setting import Setting
from zslplat.registry import component
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.single import run_setting
from zslplat.tuning.study import run_study

Scores = dict[tuple[str, str, str], Scored]
Costs = dict[tuple[str, str], list[Any]]


class Ledger:
    """What is done already: the name, the parameters and the value of each study, by its request.

    Giving a finished study's request again changes nothing, but takes seconds; a suite has hundreds of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}

    def study(
        self, experiment: Setting, trials: int, suite: dict[str, Any], settings: Any
    ) -> tuple[dict[str, Any], bool]:
        """Return the entry of a study (of a single test run where no trial is asked for), and whether it is new."""
        key = json.dumps([experiment.to_json(), trials, suite["repeats"]], sort_keys=True)
        if key in self.entries:
            return self.entries[key], False
        options = StudyOptions(
            trials=max(trials, 1), repeats=suite["repeats"], workers=suite["workers"], artifact_bytes=0
        )
        if trials:
            result = run_study(experiment, options, settings)
            name, found, test, primary = result.name, result.parameters, result.test, result.primary
            steps = read_config(result.config).get("carried", {}).get("best_step") if result.config else None
            done = sum(result.trials.values())
        else:
            run = run_setting(experiment, settings, test=True, repeats=options.repeats, workers=options.workers)
            name, found, test, primary = run.run_ids[0], {}, run.metrics, run.primary
            steps, done = None, 0
        value = float(np.mean([metrics[primary] for metrics in test]))
        self.entries[key] = {"study": name, "parameters": found, "value": value, "trials": done, "steps": steps}
        self.path.write_text(json.dumps(self.entries, indent=1))
        return self.entries[key], True


def tuned(
    row: dict[str, Any], data: dict[str, Any], suite: dict[str, Any], settings: Any, ledger: Ledger
) -> tuple[dict[str, str], list[Any]]:
    """Carry out the studies of one row on one data set; returns their names by task, and what the search cost.

    The cost is (trials, chosen epoch, most epochs), the epochs empty for methods without.
    """
    spec = method_spec(row["method"], None, None)
    given = data.get("fixed", {}).items()  # epochs, say: a small data set needs more of them
    known = component("methods", spec.name).parameters
    spec = spec.with_parameters({k: v for k, v in given if k in known and k not in spec.parameters})
    template = component("methods", spec.name).build(spec.parameters)
    features = row.get("features")
    if "first_steps" in data:
        wanted = template.wanted_preprocessing.overridden(features, None)
        features = ",".join([*data["first_steps"], *wanted.features])
    tasks = [*row.get("tasks", data.get("tasks", suite["tasks"]))]
    names: dict[str, str] = {}
    parameters: dict[str, Any] = {}
    cost: list[Any] = []
    for task in tasks:
        if task == tasks[0]:
            method, space = spec, searched_space(template, spec.parameters, row.get("space", {}))
            trials = data.get("trials", suite["trials"]) if space else 1
        else:
            method, space = spec.with_parameters(parameters), {}
            trials = 0 if task in suite.get("only_tested", []) else 1
        experiment = Setting(method, Spec.parse(data["dataset"]), Spec.parse(task), space, features)
        began = time.time()
        entry, new = ledger.study(experiment, trials, suite, settings)
        names[task], parameters = entry["study"], parameters or entry["parameters"]
        if task == tasks[0]:
            most = template.get_params(deep=False).get(template.step_parameter, "")
            cost = [entry.get("trials", trials), entry.get("steps") or "", most]
        if new:
            value, seconds = entry["value"], time.time() - began
            print(f"{data['name']:18} {row['name']:26} {task:22} {value:.4f}  {seconds:6.1f} s", flush=True)
    return names, cost


def collected(data: dict[str, Any], row: str, studies: dict[str, str], settings: Any) -> Scores:
    """Return the recorded test evaluations of one row by (data set, row, task)."""
    return {
        (data["name"], row, task): read_test_evaluations(
            settings, str(Spec.parse(data["dataset"])), task, [study], warn=print
        )[0]
        for task, study in studies.items()
    }


def metrics_of(suite: dict[str, Any], task: str) -> list[str]:
    """Return the metrics that a suite reports of a task."""
    return list(suite["metrics"][task.partition("(")[0]])


def write(path: Path, header: list[str], lines: list[list[Any]]) -> None:
    """Write a CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


def report(scores: Scores, costs: Costs, suite: dict[str, Any], out: Path, *, quiet: bool) -> None:
    """Write scores, budgets and differences, and print them unless ``quiet``."""
    console = Console(width=200, quiet=quiet)
    knows: dict[tuple[str, str], str] = {}
    remembered: set[str] = set()
    for (name, row, _), scored in scores.items():
        knows.setdefault((name, row), "not recorded" if scored.knows is None else scored.knows)
        if scored.from_memory:
            remembered.add(row)
    lines: list[list[Any]] = [[name, row, knows[name, row], *cost] for (name, row), cost in costs.items()]
    write(out / "budgets.csv", ["data", "row", "knows_of_batch", "trials", "chosen_epoch", "most_epochs"], lines)
    lines = []
    for (name, row, task), scored in scores.items():
        for metric in metrics_of(suite, task):
            if metric in scored.values:
                own = interval(scored, metric)
                spread = float(np.std(scored.values[metric], ddof=1)) if len(scored.values[metric]) > 1 else ""
                marks = [knows[name, row], row in remembered]
                lines.append([name, row, task, metric, own.estimate, spread, own.low, own.high, *marks])
    header = ["data", "row", "task", "metric", "test", "spread", "low", "high", "knows_of_batch", "from_memory"]
    write(out / "scores.csv", header, lines)
    names, rows = list(dict.fromkeys(k[0] for k in scores)), list(dict.fromkeys(k[1] for k in scores))
    kinds = dict.fromkeys(
        (task.partition("(")[0], metric) for _, _, task in scores for metric in metrics_of(suite, task)
    )
    values = {(line[0], line[1], line[2].partition("(")[0], line[3]): line for line in lines}
    for kind, metric in kinds:
        table = Table(f"{kind}: {metric}", *names, "knows of batch")
        for row in rows:
            cells = [values.get((name, row, kind, metric)) for name in names]
            shown = ["" if c is None else f"{c[4]:.3f}" + (f" ±{c[5]:.3f}" if c[5] != "" else "") for c in cells]
            # What a row knows may differ between data sets where the search chooses it.
            marks = dict.fromkeys(knows[name, row] for name in names if (name, row) in knows)
            table.add_row(row + " *" * (row in remembered), *shown, " / ".join(marks))
        console.print(table)
    table = Table("trials; epochs chosen of most", *names)
    for row in rows:
        table.add_row(row, *(_budget(costs[name, row]) if (name, row) in costs else "" for name in names))
    console.print(table)
    lines = []
    for kind, metric in kinds:
        table = Table(f"{kind}: {metric}", *names, "mean")
        for ahead, behind in suite.get("differences", []):
            pairs, cells = [], []
            for name in names:
                found = [
                    (scores[key], scores[(name, behind, key[2])])
                    for key in scores
                    if key[:2] == (name, ahead) and key[2].partition("(")[0] == kind
                    if metric in scores[key].values
                    if (name, behind, key[2]) in scores and metric in scores[(name, behind, key[2])].values
                ]
                cells.append("")
                for pair in found:
                    gap = difference(*pair, metric)
                    lines.append([kind, metric, ahead, behind, name, gap.estimate, gap.low, gap.high, gap.verdict])
                    cells[-1] = f"{gap.estimate:+.3f} [{gap.low:+.3f} {gap.high:+.3f}]"
                    pairs.append(pair)
            if pairs:
                gap = mean_difference(pairs, metric)
                lines.append([kind, metric, ahead, behind, "mean", gap.estimate, gap.low, gap.high, gap.verdict])
                table.add_row(f"{ahead} - {behind}", *cells, f"{gap.estimate:+.3f} [{gap.low:+.3f} {gap.high:+.3f}]")
        if table.row_count:
            console.print(table, markup=False)
    header = ["task", "metric", "ahead", "behind", "data", "difference", "low", "high", "verdict"]
    write(out / "differences.csv", header, lines)


def _budget(cost: list[Any]) -> str:
    trials, chosen, most = cost
    return str(trials) + (f"; {chosen:g} of {most}" if chosen != "" else "")


def main() -> None:
    """Carry out a suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--store", type=Path, help="default: OUT/store; suites that share it share their studies")
    parser.add_argument("--only", nargs="*", default=[], help="names of data sets; default: all of the suite")
    parser.add_argument("--quiet-report", action="store_true", help="print no tables, only write them")
    arguments = parser.parse_args()
    suite = {"trials": 20, "repeats": 5, "workers": 2, **tomllib.loads(arguments.suite.read_text())}
    arguments.out.mkdir(parents=True, exist_ok=True)
    settings = resolve_settings({"data_root": arguments.data_root, "store": arguments.store or arguments.out / "store"})
    settings.make_store()
    ledger = Ledger(settings.store / f"{arguments.suite.stem}.json")
    names = [data["name"] for data in suite["data"]]
    if unknown := sorted(set(arguments.only) - set(names)):
        parser.error(f"--only {unknown[0]}: no such data set in {arguments.suite}; it has {', '.join(names)}")
    scores: Scores = {}
    costs: Costs = {}
    failed = False
    for data in suite["data"]:
        if arguments.only and data["name"] not in arguments.only:
            continue
        for row in suite["row"]:
            if data["name"] in row.get("not_on", []):
                continue
            try:
                studies, costs[data["name"], row["name"]] = tuned(row, data, suite, settings, ledger)
                scores |= collected(data, row["name"], studies, settings)
            except ZslplatError as error:
                print(f"{data['name']} {row['name']}: {error}", file=sys.stderr, flush=True)
                failed = True
        if scores:
            report(scores, costs, suite, arguments.out, quiet=arguments.quiet_report)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
