"""The tables of a grid: scores, differences, budgets, and where they come from.

``scores.csv``        data, row, task, metric, test, spread, low, high, knows_of_batch, from_memory, trials, draw,
                      low_classes, high_classes (the interval over new classes)
``differences.csv``   task, metric, ahead, behind, data, difference, low, high, verdict_rows; over new classes
                      low_classes, high_classes, p_holm, verdict
``budgets.csv``       data, row, knows_of_batch, trials, chosen_epoch, most_epochs, draw, failed_trials, seconds,
                      unequal, method (with what its search found)
``provenance.json``   suite, commit or version, libraries, seeds, dates and hours

``spread`` is the standard deviation over the repeats of a random method, ``trials`` those of the search that found the
parameters, which the first task of a row has. ``low`` and ``high`` are bootstrap intervals over the test rows of one
split. Where classes were drawn anew, as in class folds, each draw (``draw`` 1, 2, ...) has its lines, and ``mean`` one
of all draws joined: a class has one value, and intervals are over classes (:mod:`zslplat.evidence.draws`). Differences
are of the joined draws.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.classes import class_difference, class_verdict, family_p_values, over_classes, score_ends
from zslplat.comparison.paired import difference, interval
from zslplat.data.store.atomic_files import replacing
from zslplat.evidence.scores import Scored
from zslplat.records.environment import environment_record
from zslplat.suites.cells import Cell
from zslplat.suites.entries import Entry
from zslplat.suites.result import GridResult
from zslplat.suites.suite import MEAN

BUDGETS = [
    *("data", "row", "knows_of_batch", "trials", "chosen_epoch", "most_epochs"),
    *("draw", "failed_trials", "seconds", "unequal", "method"),
]
GIVEN = "given"


def budget_lines(result: GridResult) -> list[list[Any]]:
    """Return a line for every row on every data set (and draw) whose search is recorded.

    ``trials``, epochs and failed trials are those of the search, which the row's first task had; ``seconds`` those of
    all trials and test evaluations of the row. ``unequal`` says what is not as with most of the others there;
    ``method`` is the row's with what its search found, as a row of a suite has it that needs no search.
    """
    first: dict[tuple[str, str, int | None], Cell] = {}
    seconds: Counter[tuple[str, str, int | None]] = Counter()
    for cell in result.cells:
        if cell.key in result.entries:
            row = (cell.data, cell.row, cell.draw)
            first.setdefault(row, cell)
            seconds[row] += result.entries[cell.key].seconds  # type: ignore[assignment]
    lines = []
    for row, cell in first.items():
        entry = result.entries[cell.key]
        others = [result.entries[c.key] for r, c in first.items() if (r[0], r[2]) == (row[0], row[2]) and r != row]
        scored = result.scores.get(cell.key)
        chosen = "" if entry.steps is None else entry.steps
        draw = GIVEN if cell.draw is None else cell.draw
        lines.append(
            [
                *(cell.data, cell.row, batch_knowledge(scored), entry.trials, chosen, entry.most),
                *(draw, entry.failed, round(seconds[row], 3), "; ".join(unequal(entry, others)), entry.method),
            ]
        )
    return lines


def trials_of(result: GridResult) -> dict[tuple[str, str, int | None], int]:
    """Return how many trials the search of each row had on each data set and draw: that of its first task."""
    counts: dict[tuple[str, str, int | None], int] = {}
    for cell in result.cells:
        if cell.key in result.entries:
            counts.setdefault((cell.data, cell.row, cell.draw), result.entries[cell.key].trials)
    return counts


def unequal(entry: Entry, others: list[Entry]) -> list[str]:
    """Return in words what a row was given and most others on the same data were not."""
    differences = []
    if not entry.searched:
        differences.append("nothing is searched")
    else:
        usual = _usual([other.trials for other in others if other.searched])
        if usual is not None and entry.trials != usual:
            differences.append(f"{entry.trials} trials, others {usual}")
    if entry.failed:
        differences.append(f"{entry.failed} of {entry.trials} trials failed")
    if entry.most != "":
        usual = _usual([other.most for other in others if other.most != ""])
        if usual is not None and entry.most != usual:
            differences.append(f"at most {entry.most} epochs, others {usual}")
    return differences


def batch_knowledge(scored: Scored | None) -> str:
    """Return in words what a row knows of the batch that it scores."""
    return "not recorded" if scored is None or scored.knows is None else scored.knows


def _usual(values: list[Any]) -> Any:
    return Counter(values).most_common(1)[0][0] if values else None


SCORES = ["data", "row", "task", "metric", "test", "spread", "low", "high", "knows_of_batch", "from_memory"]
SCORES += ["trials", "draw", "low_classes", "high_classes"]
OVER_CLASSES = ["low_classes", "high_classes", "p_holm", "verdict"]
DIFFERENCES = ["task", "metric", "ahead", "behind", "data", "difference", "low", "high", "verdict_rows", *OVER_CLASSES]


@dataclass(frozen=True)
class Tables:
    """The lines of each table, as the files have them."""

    scores: list[list[Any]]
    differences: list[list[Any]]
    budgets: list[list[Any]]


def tables_of(result: GridResult) -> Tables:
    """Return the tables of a grid."""
    return Tables(_scores(result), _differences(result), budget_lines(result))


def write_tables(result: GridResult, folder: Path) -> None:
    """Write the tables and where they come from; a file is there as a whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = tables_of(result)
    for name, header, lines in (
        ("scores", SCORES, tables.scores),
        ("differences", DIFFERENCES, tables.differences),
        ("budgets", BUDGETS, tables.budgets),
    ):
        with replacing(folder / f"{name}.csv") as path, open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *lines])
    with replacing(folder / "provenance.json") as path:
        path.write_text(json.dumps(provenance(result), indent=1) + "\n", encoding="utf-8")


def origin_of_tables(folder: Path) -> str:
    """Return where the suite is from of which a folder has the tables; empty where nothing says it."""
    with suppress(OSError, ValueError, KeyError):
        return str(json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["origin"])
    return ""


def provenance(result: GridResult) -> dict[str, Any]:
    """Return where the tables come from: suite, code, libraries, seeds, dates, and hours of computation.

    ``hours`` are those of all trials and test evaluations, one after another, whenever they were computed; ``elapsed``
    those of the command that wrote the tables.
    """
    environment = environment_record()
    git = environment["git"]
    entries = result.entries.values()
    done = [cell for cell in result.cells if cell.key in result.entries]
    return {
        "suite": result.suite.name,
        "origin": result.suite.origin,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": environment["packages"]["zslplat"],
        **({"commit": git["commit"], "changed_since": git["dirty"]} if git else {}),
        "python": environment["python"],
        "libraries": {name: environment["packages"][name] for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "machine": {name: environment[name] for name in ("platform", "processor", "cores")},
        "seed": result.suite.seed,
        "repeats": result.repeats,
        "draws": sorted({cell.draw for cell in done if cell.draw is not None}) or GIVEN,
        "cells": {status: len(result.having(status)) for status in sorted({cell.status for cell in result.cells})},
        "hours": round(sum(entry.seconds for entry in entries) / 3600, 4),
        "elapsed_hours": round(result.seconds / 3600, 4),
        "studies": {cell.title: cell.study for cell in done},
    }


def _scores(result: GridResult) -> list[list[Any]]:
    lines: list[list[Any]] = []
    marks: dict[tuple[str, str], list[Any]] = {}
    trials = trials_of(result)
    joined = [(key, scored) for key, scored in result.comparable.items() if scored.draws]
    for key, scored in [*result.scores.items(), *joined]:
        data, row, task, draw = key
        # What a row knows is that of its first task where a search chooses it.
        mark = marks.setdefault((data, row), [batch_knowledge(scored), scored.from_memory])
        where = MEAN if scored.draws else GIVEN if draw is None else draw
        budgets = {trials.get((data, row, number), "") for number in scored.draws or [draw]}
        for metric in result.metrics_of(key):
            if metric in scored.values:
                estimate = interval(scored, metric)
                values = scored.values[metric]
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else ""
                anew = score_ends(over_classes(scored, metric), metric)
                budget = next(iter(budgets)) if len(budgets) == 1 else ""
                line = [estimate.estimate, spread, estimate.low, estimate.high, *mark, budget, where]
                lines.append([data, row, task, metric, *line, *anew])
    return lines


def _differences(result: GridResult) -> list[list[Any]]:
    """Return a line for each difference that the suite names.

    Holm's correction is over the differences that it names, of one metric on one data set.
    """
    lines: list[list[Any]] = []
    for kind, metric in kinds_of(result):
        for data in dict.fromkeys(cell.data for cell in result.cells):
            pairs = pairs_of(result, result.suite.differences, data, kind, metric)
            gaps, _, corrected = family_p_values([class_difference(*pair, metric) for *_, pair in pairs])
            for (ahead, behind, pair), over, p in zip(pairs, gaps, corrected.tolist(), strict=True):
                rows = difference(*pair, metric)
                line = [kind, metric, ahead, behind, data, rows.estimate, rows.low, rows.high, rows.verdict(metric)]
                classes = [*over.ends, p, class_verdict(over, p)] if over else [""] * len(OVER_CLASSES)
                lines.append([*line, *classes])
    return lines


def kinds_of(result: GridResult) -> list[tuple[str, str]]:
    """Return the pairs of a kind of task (``kinds`` of the result) and a metric that are reported of it."""
    kinds = result.kinds
    pairs = {(kinds[key[2]], metric): None for key in result.scores for metric in result.metrics_of(key)}
    return list(pairs)


def pairs_of(
    result: GridResult, differences: Iterable[tuple[str, str]], data: str, kind: str, metric: str
) -> list[tuple[str, str, tuple[Scored, Scored]]]:
    """Return what two rows have of a metric on a data set, for each of these differences and each task of a kind."""
    pairs, scores = [], result.comparable
    for ahead, behind in differences:
        for key, scored in scores.items():
            other = scores.get((data, behind, key[2], None))
            if key[:2] != (data, ahead) or result.kinds[key[2]] != kind or other is None:
                continue
            if metric in result.metrics_of(key) and metric in scored.values and metric in other.values:
                pairs.append((ahead, behind, (scored, other)))
    return pairs
