"""One option of a task over a range, for one or several methods: how results change with the protocol.

Each point is a run of its own on validation, and on request one on test (:mod:`zslplat.tuning.single`). ``compare`` and
``rerun`` know runs by the task's spec; points that are recorded are not computed again. Like every sweep this is
analysis: nothing ever selects by its test curves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zslplat.checks.base import UNNAMED, Finding
from zslplat.checks.facts import RecordedWarning
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.keys import key_of
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.spec import format_value
from zslplat.tuning.findings import warning_findings
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.single import RunResult, run_experiment
from zslplat.tuning.sweep import SweepResult, record_sweep


def run_task_sweep(
    chosen: Sequence[Experiment],
    option: str,
    values: Sequence[Any],
    options: EvaluationOptions,
    settings: Settings,
    reporter: Reporter | None = None,
) -> SweepResult:
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
    result = SweepResult(option, str(task), list(values))
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
    identity = {
        "settings": [experiment.to_json() for experiment in chosen],
        "option": option,
        "values": [format_value(value) for value in values],
        "curves": result.curves,
    }
    content = {
        "experiment": chosen[0].to_json(),
        "about": dict(about),
        "parameter": f"task option {option}",
        "curves": result.curves,
        "started": started,
    }
    with Records(settings, reporter.warn) as records:
        record_sweep(result, content, settings, records, f"sweep:{key_of(identity)}", reporter.warn)
    return result


def _point(
    experiment: Experiment,
    options: EvaluationOptions,
    settings: Settings,
    where: str,
    result: SweepResult,
    label: str,
    reporter: Reporter,
) -> RunResult:
    """Evaluate one point on validation, with ``options.test`` on the test split, too; keep its values and warnings."""

    def evaluated(split: str, validation_choices: Mapping[str, Any]) -> RunResult:
        of_split = replace(options, test=split == TEST, validation_choices=validation_choices)
        run = run_experiment(experiment, of_split, settings, reporter)
        findings = [Finding.from_json(one) for one in run.findings]
        result.add_findings([replace(one, text=f"{where}, {split}: {one.text}") for one in findings], settings.silenced)
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
        result.add_findings(warning_findings(str(experiment.method), [failed]), settings.silenced)
    result.validation.setdefault(label, []).append(validation)
    if options.test:
        run = evaluated(TEST, choices)
        result.test.setdefault(label, []).append(_mean(run))
    return run


def _mean(run: RunResult) -> float:
    return float(np.mean([metrics[run.primary] for metrics in run.metrics]))
