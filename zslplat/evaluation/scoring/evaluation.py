"""What a scorer does with a job: it prepares statistics for a problem, or evaluates parameters on problems.

A job names cache entries and components, never live objects or folders, so it runs the same in any process. The scorer
sees the problems of the job and nothing else: in a study these are validation problems, which have no test row. Methods
run in a process of their own, which sees what the task passes to them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import MethodError
from zslplat.evaluation.cache.arrays import read_arrays, write_arrays
from zslplat.evaluation.cache.problems import load_problem, views_of
from zslplat.evaluation.components import build_component
from zslplat.evaluation.jobs import EvaluateJob, PrepareJob
from zslplat.evaluation.scoring.folds import Fold, advance_together
from zslplat.evaluation.scoring.messages import MOST_TEXTS, collect_warnings, warning_entries
from zslplat.evaluation.workers.proxies import LocalMethods, Methods
from zslplat.keys import RECORD_CHOICES
from zslplat.platforms import peak_bytes, reset_peak
from zslplat.records.costs import CPU_SECONDS, PEAK_BYTES, PREPARED, SECONDS
from zslplat.records.environment import processor
from zslplat.spec import Spec
from zslplat.tasks.base import Outcome, Problem, Task

_KEY_LETTERS = 16  # of the key of statistics in a record: enough to tell those of one store apart


def make_task(spec: str) -> Task:
    """Build a task from its spec."""
    task: Task = build_component("tasks", Spec.parse(spec))
    return task


def prepare(job: PrepareJob, cache: Path, methods: Methods | None = None) -> dict[str, Any]:
    """Run a :class:`PrepareJob`; returns seconds, bytes and the names of the statistics.

    ``cache``: the folder of the entries that the job names. ``methods``: where its method runs, by default in this
    process.
    """
    methods = methods or LocalMethods()
    wall, cpu = time.perf_counter(), time.process_time()
    reset_peak()
    methods.begin(0)
    method = methods.build(job.method, job.fixed, 0)
    # Warnings are stored with the statistics, for evaluations that read these from the cache.
    with collect_warnings() as warned:
        problem = load_problem(cache / job.problem, blocks=job.blocks)
        arrays = make_task(job.task).prepare(_with_views(problem, method), problem, job.space)
    seconds = time.perf_counter() - wall
    method_seconds, method_bytes = methods.usage()
    cpu_seconds = time.process_time() - cpu + method_seconds
    costs = {SECONDS: seconds, CPU_SECONDS: cpu_seconds, PEAK_BYTES: peak_bytes() + method_bytes}
    write_arrays(cache / job.target, arrays, {"method": job.method, **costs, "warned": warned[:MOST_TEXTS]})
    return {**costs, "bytes": int(sum(np.asarray(a).nbytes for a in arrays.values())), "names": list(arrays)}


def evaluate(job: EvaluateJob, cache: Path, methods: Methods | None = None) -> dict[str, Any]:
    """Run an :class:`EvaluateJob`; returns a record that can be written as JSON.

    It has state, value, metrics, folds, ``carry``, steps, warnings, times and processor. ``steps`` is the mean curve
    over the folds where validation chooses the step of an iterative method: it maps the numbers of the steps to the
    mean of the primary metric. Value, metrics and ``carry`` are those at its best step. ``cache``: the folder of the
    entries that the job names. ``methods``: where its method runs, by default in this process.
    """
    methods = methods or LocalMethods()
    wall, cpu = time.perf_counter(), time.process_time()
    reset_peak()
    methods.begin(job.seed)
    task = make_task(job.task)
    parameters = dict(job.parameters)
    step_parameter = methods.step_parameter(job.method)
    chosen_steps = job.validation_choices.get("best_step") if step_parameter else None
    if chosen_steps:
        parameters[step_parameter] = max(1, round(float(chosen_steps)))
    folds = (
        _fold(task, job, methods, parameters, cache / problem, cache / statistics if statistics else None)
        for problem, statistics in job.problems
    )
    outcomes: list[Outcome] = []
    finished: list[Fold] = []
    state, curve = "complete", list[float]()
    # Validation rows choose the step. A refit, and an evaluation on test rows, trains for a fixed number of steps.
    if step_parameter and not chosen_steps and not job.test:
        finished = list(folds)
        state, curve = advance_together(finished, job.thresholds)
        outcomes = [fold.finish(curve) for fold in finished]
    else:
        for fold in folds:  # one after another, so that memory of one is free for the next
            fold.complete()
            outcomes.append(fold.finish())
            finished.append(fold)
    method_seconds, method_bytes = methods.usage()
    record = {
        **summary_of_folds(finished, outcomes, state, curve),
        SECONDS: time.perf_counter() - wall,
        CPU_SECONDS: time.process_time() - cpu + method_seconds,
        PREPARED: {key: costs for fold in finished for key, costs in fold.prepared.items()},
        PEAK_BYTES: peak_bytes() + method_bytes,
        "processor": processor(),
    }
    if state == "complete" and step_parameter:
        record[RECORD_CHOICES]["best_step"] = float(max(fold.step for fold in finished))
    return plain_record(record)


def summary_of_folds(
    finished: Sequence[Fold], outcomes: Sequence[Outcome], state: str = "complete", curve: Sequence[float] = ()
) -> dict[str, Any]:
    """Return the entries of a record for scored folds: state, value, metrics, folds, carry, warnings, steps."""
    task, job = finished[0].task, finished[0].job
    complete = state == "complete"
    if not (job.test or job.validation_choices):
        task.settle(outcomes)  # the records of the folds share the metrics
    return {
        "state": state,
        "value": float(np.mean([o.metrics[task.primary.name] for o in outcomes])) if complete else None,
        "metrics": _mean_metrics(outcomes),
        "folds": [fold.record for fold in finished],
        RECORD_CHOICES: task.validation_choices(outcomes) if complete else {},
        "warnings": warning_entries((fold.problem.name, fold.warned) for fold in finished),
        "steps": {str(number): value for number, value in enumerate(curve, start=1)},
    }


def _fold(
    task: Task,
    job: EvaluateJob,
    methods: Methods,
    parameters: Mapping[str, Any],
    problem: Path,
    statistics: Path | None,
) -> Fold:
    arrays, entry = read_arrays(statistics) if statistics else ({}, {})
    opened = load_problem(problem, blocks=job.blocks)
    method = _with_views(opened, methods.build(job.method, parameters, job.seed))
    suited = task.suited(opened)
    if job.metric:
        suited = suited.optimising(suited.metric(job.metric))
    fold = Fold(suited, opened, method, suited.run(method, opened, arrays), job)
    fold.preparation_warnings = entry.get("warned", [])
    if statistics is not None and SECONDS in entry:
        costs = {name: float(entry[name]) for name in (SECONDS, CPU_SECONDS, PEAK_BYTES) if name in entry}
        fold.prepared = {statistics.name[:_KEY_LETTERS]: costs}
    return fold


def _with_views(problem: Problem, method: Any) -> Any:
    """Return the method, which is told the views of the rows if there are several."""
    views = views_of(problem)
    if views:
        method.take_views(views)
    return method


def plain_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record as JSON reads it back; raises :class:`MethodError` for a value that JSON has no form for."""

    def default(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise MethodError(f"{value!r} of type {type(value).__name__} is no number, text or list that can be recorded")

    content: dict[str, Any] = json.loads(json.dumps(record, default=default))
    return content


def _mean_metrics(outcomes: Sequence[Outcome]) -> dict[str, float]:
    keys = [key for key in (outcomes[0].metrics if outcomes else {}) if all(key in o.metrics for o in outcomes)]
    return {key: float(np.mean([o.metrics[key] for o in outcomes])) for key in keys}
