"""One option of a task over a range, for one or several methods: how results change with the protocol.

Each point is a run of its own on validation, and on request one on test (:mod:`zslplat.tuning.single`). ``compare`` and
``rerun`` know runs by the task's spec; points that are recorded are not computed again. Like every sweep this is
analysis: nothing ever selects by its test curves.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.base import UNNAMED, Finding, drop_silenced
from zslplat.checks.facts import RecordedWarning
from zslplat.drawing import optional_picture, render
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.figures import Curve, Table, write_table
from zslplat.keys import key_of
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.folders import owner_folder
from zslplat.settings import Settings
from zslplat.spec import format_value
from zslplat.tuning.findings import warning_findings
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.single import RunResult, run_experiment
from zslplat.tuning.sweep import record_sweep

Curves = dict[str, list[float | None]]


@dataclass
class TaskSweepResult:
    """The points of a sweep: by method the mean primary metric on validation (None where there is none) and on test.

    ``test`` is empty where the test split was not scored.
    ``chance`` has an entry per value; ``findings`` are what checks found, ``warnings`` the lines of those that are not
    silenced, ``silenced`` counts the rest.
    """

    parameter: str
    task: str
    values: list[Any]
    primary: str
    validation: Curves = field(default_factory=dict)
    test: Curves = field(default_factory=dict)
    chance: list[float] = field(default_factory=list)
    run_id: str = ""
    figure: Path = Path()
    table: Path = Path()
    test_evaluations: int = 0
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    silenced: int = 0


def run_task_sweep(
    chosen: Sequence[Experiment],
    option: str,
    values: Sequence[Any],
    options: EvaluationOptions,
    settings: Settings,
    reporter: Reporter | None = None,
) -> TaskSweepResult:
    """Evaluate each experiment (they differ in their methods) under every value of a task's option.

    Each is evaluated on the validation folds, with ``options.test`` on the test split, too.

    What validation hands to a refit is handed on to the test of the same value. A protocol without validation (two
    seen classes, say) has its test alone, with a warning, and raises :class:`DataError` without ``test``. Raises
    :class:`UsageError` for an option that the task's spec fixes already or that changes the primary metric, and like
    :func:`zslplat.tuning.single.run_experiment`.
    """
    reporter = reporter or SilentReporter()
    task = chosen[0].task
    if option in task.parameters:
        raise UsageError(f"{option} is both in the task ({task}) and swept (--param); leave one out")
    labels = [str(experiment.method) for experiment in chosen]
    if len(set(labels)) < len(labels):
        raise UsageError(f"a method is given twice: {', '.join(labels)}")
    result = TaskSweepResult(option, str(task), list(values), "")
    started, about = time.time(), {}
    for value in values:
        chances = set()
        for label, experiment in zip(labels, chosen, strict=True):
            point = replace(experiment, task=task.with_parameters({option: value}))
            where = f"{label}, {option}={format_value(value)}"
            reporter.stage(where)
            run = _point(point, options, settings, where, result, label, reporter)
            if result.primary not in ("", run.primary):
                raise UsageError(
                    f"{option} changes what is measured, from {result.primary} to {run.primary}, which make no "
                    "curve; evaluate each value by itself with run"
                )
            about, result.primary, result.test_evaluations = run.about, run.primary, run.test_evaluations
            chances.add(run.chance)
        result.chance.append(max(chances))
    if len(values) > 1 and not options.test and all(len(set(curve)) == 1 for curve in result.validation.values()):
        result.warnings.append(f"{option} changes nothing on the validation folds; --test scores the test split")
    _finish(result, chosen, about, started, settings, reporter)
    return result


def _point(
    experiment: Experiment,
    options: EvaluationOptions,
    settings: Settings,
    where: str,
    result: TaskSweepResult,
    label: str,
    reporter: Reporter,
) -> RunResult:
    """Evaluate one point on validation, with ``options.test`` on the test split, too; keep its values and warnings."""

    def evaluated(split: str, validation_choices: Mapping[str, Any]) -> RunResult:
        of_split = replace(options, test=split == TEST, validation_choices=validation_choices)
        run = run_experiment(experiment, of_split, settings, reporter)
        findings = [Finding.from_json(one) for one in run.findings]
        _add_findings(
            result, [replace(one, text=f"{where}, {split}: {one.text}") for one in findings], settings.silenced
        )
        return run

    choices: Mapping[str, Any] = {}
    validation: float | None = None
    try:
        run = evaluated(VALIDATION, {})
        choices = run.validation_choices
        validation = _mean(run)
    except DataError as error:
        if not options.test:
            raise DataError(f"{where}: no validation: {error}; --test scores the test split") from error
        failed = RecordedWarning(f"{where}: no validation: {error}", UNNAMED)
        _add_findings(result, warning_findings(str(experiment.method), [failed]), settings.silenced)
    result.validation.setdefault(label, []).append(validation)
    if options.test:
        run = evaluated(TEST, choices)
        result.test.setdefault(label, []).append(_mean(run))
    return run


def _add_findings(result: TaskSweepResult, findings: Sequence[Finding], silenced: Collection[str]) -> None:
    visible, count = drop_silenced(findings, silenced)
    result.findings += [one.to_json() for one in findings]
    result.warnings += [one.line for one in visible]
    result.silenced += count


def _mean(run: RunResult) -> float:
    return float(np.mean([metrics[run.primary] for metrics in run.metrics]))


def _finish(
    result: TaskSweepResult,
    chosen: Sequence[Experiment],
    about: Mapping[str, Any],
    started: float,
    settings: Settings,
    reporter: Reporter,
) -> None:
    """Draw the curves, and record the sweep as a whole."""
    curves = {f"{label} {split}": c for split, of in _sides(result).items() for label, c in of.items()}
    identity = {
        "settings": [experiment.to_json() for experiment in chosen],
        "option": result.parameter,
        "values": [format_value(value) for value in result.values],
        "curves": curves,
    }
    owner = f"sweep:{key_of(identity)}"
    folder = owner_folder(settings, owner)
    folder.mkdir(parents=True, exist_ok=True)
    result.table, result.figure = folder / "sweep.csv", folder / "sweep.png"
    write_table(Table({result.parameter: result.values, "chance": result.chance, **curves}), result.table)
    with optional_picture(result.figure, reporter.warn):
        render(task_sweep_figure(result), result.figure)
    records = Records(settings, reporter.warn)
    content = {
        "experiment": chosen[0].to_json(),
        "about": dict(about),
        "environment": environment_record(),
        "parameter": f"task option {result.parameter}",
        "values": identity["values"],
        "curves": curves,
        "findings": result.findings,
        "started": started,
    }
    data, files = str(about["data"]["fingerprint"]), (result.figure, result.table)
    result.run_id = record_sweep(settings, records, owner, data, content, files, reporter.warn)
    records.close()


def _sides(result: TaskSweepResult) -> dict[str, Curves]:
    return {VALIDATION: result.validation, TEST: result.test}


def task_sweep_figure(result: TaskSweepResult) -> Curve:
    """Return the curves of a sweep over the values: of one method all, of several the tests where there are any."""
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in result.values)
    positions = result.values if numeric else list(range(len(result.values)))
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for split, curves in _sides(result).items():
        if split == VALIDATION and len(result.test) > 1:
            continue
        for label, curve in curves.items():
            points = [(x, v) for x, v in zip(positions, curve, strict=True) if v is not None]
            if points:
                name = label if len(curves) > 1 else split
                lines[name] = ([x for x, _ in points], [v for _, v in points])
    lines["chance"] = (list(positions), list(result.chance))
    label = result.parameter if numeric else f"{result.parameter}: {', '.join(map(format_value, result.values))}"
    several = f" ({TEST if result.test else VALIDATION})" if len(result.validation) > 1 else ""
    title = f"{result.primary} against the task's {result.parameter}{several}"
    return Curve(lines, label, result.primary, title)
