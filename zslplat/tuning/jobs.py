"""What a child process does: prepare statistics for a problem, or evaluate parameters on problems.

A job names files and components, never live objects, so that it runs the same in any process. The child sees the
problems of the job and nothing else: in a study these are validation problems, which hold no test row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import MethodError, StoreError
from zslplat.metrics.resampling import draws, rows_digest
from zslplat.registry import component
from zslplat.space import Space
from zslplat.spec import Spec
from zslplat.tasks.base import Arrays, Curve, Figure, Outcome, Problem, Table, Task
from zslplat.tuning.cache import read_arrays, write_arrays
from zslplat.tuning.memory import peak_bytes, reset_peak

PROBLEM_INPUT, PROBLEM_TRUTH = "input:", "truth:"


@dataclass(frozen=True)
class PrepareJob:
    """Compute the statistics of a method for one problem and write them as a cache entry."""

    method: str
    fixed: Mapping[str, Any]
    space: Space
    task: str
    problem: Path
    target: Path


@dataclass(frozen=True)
class EvaluateJob:
    """Evaluate one setting on problems; write artifacts into a folder when one is given.

    ``thresholds`` maps step numbers to the value below which the trial is pruned (already signed so that larger is
    better); ``carried`` is what validation hands to a refit; ``matrices_bytes`` bounds what matrices may take;
    ``replicates`` is the number of bootstrap replicates of the metrics (where there are any, the record says which rows
    were scored, too), ``maps`` asks for maps of the scored rows. ``test``: the problems are of the test split, whose
    rows choose no step of an iterative method.
    """

    label: str
    method: str
    parameters: Mapping[str, Any]
    seed: int
    task: str
    problems: tuple[tuple[Path, Path | None], ...]
    thresholds: Mapping[int, float] = field(default_factory=dict)
    carried: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    artifacts: Path | None = None
    matrices_bytes: int = 0
    replicates: int = 0
    maps: bool = False
    test: bool = False


STEPS_PER_FOLD = 100_000
REPLICATES = 1000


def save_problem(folder: Path, problem: Problem) -> None:
    """Write a problem as a cache entry; inputs and truth are told apart by the prefix of their names."""
    arrays = {f"{PROBLEM_INPUT}{k}": v for k, v in problem.inputs.items()}
    arrays |= {f"{PROBLEM_TRUTH}{k}": v for k, v in problem.truth.items()}
    write_arrays(folder, arrays, {"name": problem.name, "meta": dict(problem.meta)})


def load_problem(folder: Path) -> Problem:
    """Open a problem that :func:`save_problem` wrote; its arrays are memory-mapped and read-only."""
    arrays, entry = read_arrays(folder)
    inputs = {k.removeprefix(PROBLEM_INPUT): v for k, v in arrays.items() if k.startswith(PROBLEM_INPUT)}
    truth = {k.removeprefix(PROBLEM_TRUTH): v for k, v in arrays.items() if k.startswith(PROBLEM_TRUTH)}
    return Problem(entry["name"], inputs, truth, entry["meta"])


def make_task(spec: str) -> Task:
    """Build a task from its spec."""
    from zslplat.experiment import build_component

    task: Task = build_component("tasks", Spec.parse(spec))
    return task


def make_method(name: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Build a method; methods with a ``seed`` parameter that was not fixed get the seed of the job."""
    method_class = component("methods", name)
    values = dict(parameters)
    if "seed" in method_class._get_param_names() and "seed" not in values:
        values["seed"] = seed
    return method_class.build(values)


def prepare(job: PrepareJob) -> dict[str, Any]:
    """Run a :class:`PrepareJob`; returns seconds, bytes and the names of the statistics."""
    start = time.perf_counter()
    method = make_method(job.method, job.fixed, seed=0)
    arrays = make_task(job.task).prepare(method, load_problem(job.problem), job.space)
    seconds = time.perf_counter() - start
    write_arrays(job.target, arrays, {"method": job.method, "seconds": seconds})
    return {"seconds": seconds, "bytes": int(sum(np.asarray(a).nbytes for a in arrays.values())), "names": list(arrays)}


def evaluate(job: EvaluateJob) -> dict[str, Any]:
    """Run an :class:`EvaluateJob`; returns a JSON-able record (state, value, folds, carry, steps, times, memory)."""
    wall, cpu = time.perf_counter(), time.process_time()
    reset_peak()
    task = make_task(job.task)
    sign = 1.0 if task.primary.maximise else -1.0
    folds: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    steps: dict[int, float] = {}
    state = "complete"
    for number, (problem_path, statistics_path) in enumerate(job.problems):
        problem = load_problem(problem_path)
        statistics = read_arrays(statistics_path)[0] if statistics_path else {}
        fold = _Fold(task, problem, job, sign)
        state = fold.run(statistics, number * STEPS_PER_FOLD, steps)
        if fold.best is not None:
            outcomes.append(fold.best)
            folds.append({"name": problem.name, "metrics": fold.best.metrics, "seconds": fold.seconds, **fold.extra})
        if state == "pruned":
            break
    values = [o.metrics[task.primary.name] for o in outcomes]
    record = {
        "state": state,
        "value": float(np.mean(values)) if state == "complete" else None,
        "metrics": _mean_metrics(outcomes),
        "folds": folds,
        "carry": _carry(task, outcomes) if state == "complete" else {},
        "steps": {str(k): v for k, v in steps.items()},
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_bytes(),
    }
    return _plain(record)


class _Fold:
    """One problem of a job: runs the steps, keeps the best outcome, writes artifacts."""

    def __init__(self, task: Task, problem: Problem, job: EvaluateJob, sign: float) -> None:
        self.task, self.problem, self.job, self.sign = task, problem, job, sign
        self.best: Outcome | None = None
        self.seconds: dict[str, float] = {}
        self.extra: dict[str, Any] = {}

    def run(self, statistics: Arrays, offset: int, steps: dict[int, float]) -> str:
        job, task = self.job, self.task
        parameters = dict(job.parameters)
        method_class = component("methods", job.method)
        carried_steps = job.carried.get("best_step") if method_class.step_parameter else None
        if carried_steps:
            parameters[method_class.step_parameter] = max(1, round(float(carried_steps)))
        method = make_method(job.method, parameters, job.seed)
        start = time.perf_counter()
        # Validation rows choose the step. A refit, and whatever sees test rows, ends where it was told to.
        chooses = bool(method_class.step_parameter) and not carried_steps and not job.test
        best_step, best_value = 0, -np.inf
        best_outputs: Arrays = {}
        learned = _Learned()
        values: dict[int, float] = {}
        for step, outputs in task.run(method, self.problem, statistics):
            outcome = task.score(self.problem, outputs, job.carried, full=False)
            value = self.sign * outcome.metrics[task.primary.name]
            if not np.isfinite(value):
                raise MethodError(f"{task.primary.name} is not finite on {self.problem.name}, step {step}")
            values[step] = outcome.metrics[task.primary.name]
            if value > best_value or not chooses:
                best_step, best_value, self.best, best_outputs = step, value, outcome, outputs
                if chooses:
                    learned = _Learned.of(method, job)
            if chooses:
                steps[offset + step] = self.sign * best_value
                if best_value < job.thresholds.get(offset + step, -np.inf):
                    return "pruned"
        if self.best is None:
            raise MethodError(f"{job.method} made no step on {self.problem.name}")
        self.seconds = {"fit_and_score": time.perf_counter() - start}
        if method_class.step_parameter:
            self.best.carry["best_step"] = best_step
        if not chooses:
            learned = _Learned.of(method, job, copy=False)
        self.extra = {"numbers": learned.numbers, "best_step": best_step}
        if job.full:
            full = task.score(self.problem, best_outputs, job.carried, full=True)
            self.best.tables, self.best.figures = full.tables, {**full.figures, **learned.figures}
            if len(values) > 1 and chooses:
                table, figure = _by_step(task.primary.name, values, self.problem.name)
                self.best.tables["by_step"], self.best.figures["by_step"] = table, figure
            if job.maps:
                self.best.figures.update(task.maps(method, self.problem))
            if job.replicates:
                drawn = _replicates(task, self.problem, best_outputs, job)
                self.best.tables.update({"replicates": drawn} if drawn is not None else {})
                self.extra["rows"] = rows_digest(task.scored_rows(self.problem))
        if job.artifacts is not None:
            from zslplat.tracking.artifacts import write_artifacts

            several = len(job.problems) > 1
            folder = job.artifacts / self.problem.name if several else job.artifacts
            try:
                share = job.matrices_bytes // len(job.problems)
                write_artifacts(folder, learned.matrices, method.diagnostics.series, self.best, share)
                if job.full:
                    task.export(method, self.problem, folder)
            except OSError as error:
                raise StoreError(
                    f"cannot write artifacts to {folder}: {error.strerror or error}; what was recorded is kept; "
                    "free space or permissions and give the same command again"
                ) from error
        return "complete"


@dataclass(frozen=True)
class _Learned:
    """What a method had learned at the step that is kept."""

    matrices: Arrays = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, method: Any, job: EvaluateJob, *, copy: bool = True) -> _Learned:
        """Take what the job asks for; ``copy``: the method goes on to learn in place."""
        matrices = method.matrices() if job.artifacts is not None else {}
        if copy:
            matrices = {name: np.array(matrix) for name, matrix in matrices.items()}
        return cls(matrices, method.figures() if job.full else {}, dict(method.diagnostics.numbers))


def _by_step(name: str, values: Mapping[int, float], problem: str) -> tuple[Table, Figure]:
    """Return the metric after each step (an epoch, say) as a table and a figure; only validation may choose a step."""
    steps, found = list(values), list(values.values())
    return Table({"step": steps, name: found}), Curve(
        {name: (steps, found)}, "step", name, f"{problem}: {name} by step"
    )


def _replicates(task: Task, problem: Problem, outputs: Arrays, job: EvaluateJob) -> Table | None:
    """Return the metrics of every bootstrap replicate of the scored rows; None where the task has none."""
    units = task.units(problem)
    if units is None:
        return None
    blocks = [task.resampled(problem, outputs, job.carried, counts) for counts in draws(*units, job.replicates)]
    columns = {name: np.concatenate([block[name] for block in blocks]).round(6).tolist() for name in blocks[0]}
    return Table({"replicate": list(range(1, job.replicates + 1)), **columns})


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record as JSON reads it back; raises :class:`MethodError` for a value that JSON cannot hold."""

    def default(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise MethodError(f"{value!r} of type {type(value).__name__} is no number, text or list that can be recorded")

    content: dict[str, Any] = json.loads(json.dumps(record, default=default))
    return content


def _carry(task: Task, outcomes: list[Outcome]) -> dict[str, Any]:
    carried = task.carry(outcomes)
    best_steps = [o.carry["best_step"] for o in outcomes if "best_step" in o.carry]
    return carried | ({"best_step": float(np.median(best_steps))} if best_steps else {})


def _mean_metrics(outcomes: list[Outcome]) -> dict[str, float]:
    keys = [key for key in (outcomes[0].metrics if outcomes else {}) if all(key in o.metrics for o in outcomes)]
    return {key: float(np.mean([o.metrics[key] for o in outcomes])) for key in keys}
