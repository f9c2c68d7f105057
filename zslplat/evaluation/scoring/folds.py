"""The problems of a job: each is fitted and scored, and one step of an iterative method is chosen for all of them.

That step is the best of the mean curve: the mean over the folds of the primary metric after each step. It is one number
for the whole experiment, as it is for the refit, which has no validation rows to choose its own by. A best step for
each fold would be chosen on the rows that are scored, and favour iterative methods over direct ones. A fold whose
training ends before that of others keeps its last values: with more steps allowed, it would have given the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import MethodError, StoreError
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.messages import collect_warnings, require_names
from zslplat.evaluation.scoring.outcomes import replicates, resampled, write_outcomes
from zslplat.evaluation.workers.proxies import learned, state_within
from zslplat.figures import Curve, Figure, Table
from zslplat.methods.base import Diagnostics
from zslplat.metrics.intervals import rows_digest
from zslplat.tasks.base import Arrays, Outcome, Problem, Task


class Fold:
    """One problem of a job: a method that learns step by step, the metrics after each step, and the chosen step.

    ``training`` yields what the task makes of each step (:meth:`zslplat.tasks.base.Task.run`). There is no ``method``
    where its outputs were made elsewhere. ``by_step`` has all metrics after each step that was scored, ``best_outcome``
    the outcome at the chosen step, ``preparation_warnings`` the warnings of preparing its statistics, ``prepared`` the
    costs of that (:mod:`zslplat.records.costs`).
    """

    def __init__(
        self, task: Task, problem: Problem, method: Any, training: Iterator[tuple[int, Arrays]], job: EvaluateJob
    ) -> None:
        self.task, self.problem, self.method, self.job = task, problem, method, job
        self.by_step: list[dict[str, float]] = []
        self.best_outcome: Outcome | None = None
        self.step = 0
        self.seconds = 0.0
        self.record: dict[str, Any] = {}
        self.preparation_warnings: list[str] = []
        self.prepared: dict[str, dict[str, float]] = {}
        self._training_warnings: list[str] = []
        self._score_warnings: list[str] = []
        self._best_score_warnings: list[str] = []
        self._export_warnings: list[str] = []
        self._training = training
        self._latest: Outcome | None = None
        self._outputs: Arrays = {}
        self._best_outputs: Arrays = {}
        self._learned = _Learned()

    def advance(self) -> bool:
        """Take one step and score it; return False if the training has ended."""
        start = time.perf_counter()
        with collect_warnings() as warned:
            outputs = next(self._training, None)
        self._training_warnings += warned
        if outputs is not None:
            self._score(outputs[1])
        self.seconds += time.perf_counter() - start
        if not self.by_step:
            raise MethodError(f"{self.job.method} made no step on {self.problem.name}")
        return outputs is not None

    def complete(self) -> None:
        """Train to the end, and score and choose the end alone."""
        start = time.perf_counter()
        last: tuple[int, Arrays] | None = None
        with collect_warnings() as self._training_warnings:
            for outputs in self._training:
                last = outputs
        if last is None:
            raise MethodError(f"{self.job.method} made no step on {self.problem.name}")
        # A method in another process collects what it learned while this process scores.
        learned = self._read_learned()
        self._score(last[1])
        self.seconds += time.perf_counter() - start
        self._keep(last[0], _Learned.of(learned(), copy=False))

    def keep(self, step: int) -> None:
        """Choose the latest step, which is number ``step`` of the job; the method may go on to learn in place."""
        self._keep(step, _Learned.of(self._read_learned()(), copy=True))

    def _keep(self, step: int, learned: _Learned) -> None:
        self.step, self.best_outcome, self._best_score_warnings = step, self._latest, self._score_warnings
        self._best_outputs = self._outputs
        self._learned = learned

    def _read_learned(self) -> Callable[[], tuple[Any, Any, Any]]:
        if self.method is None:
            return lambda: ({}, Diagnostics(), {})
        return learned(self.method, matrices=self.job.artifacts is not None, figures=self.job.full)

    @property
    def latest(self) -> Outcome:
        """What scoring the latest step gave."""
        assert self._latest is not None
        return self._latest

    @property
    def warned(self) -> list[str]:
        """What preparing, learning and writing warned of, and the scores that are kept."""
        return [
            *self.preparation_warnings,
            *self._training_warnings,
            *self._best_score_warnings,
            *self._export_warnings,
        ]

    def finish(self, mean_by_step: Sequence[float] = ()) -> Outcome:
        """Make the record and the artifacts of the chosen step, and release the method and its outputs.

        ``mean_by_step``: the mean curve by which the step was chosen, if there was a choice.
        """
        assert self.best_outcome is not None
        outcome, job, task = self.best_outcome, self.job, self.task
        self.record = {
            "name": self.problem.name,
            "metrics": outcome.metrics,
            "seconds": {"fit_and_score": self.seconds},
            "numbers": self._learned.numbers,
            "best_step": self.step,
        }
        if mean_by_step:
            self.record["by_step"] = {
                name: [m[name] for m in self.by_step]
                for name in outcome.metrics
                if all(name in m for m in self.by_step)
            }
        if job.model_bytes and job.outcomes is not None and self.method is not None:
            self.record["model"] = self._store_model(self._problem_folder(job.outcomes))
        if job.full:
            with collect_warnings():  # these warnings were collected before
                full = task.score(self.problem, self._best_outputs, job.validation_choices, full=True)
            outcome.tables, outcome.figures = full.tables, {**full.figures, **self._learned.figures}
            if len(mean_by_step) > 1:
                table, figure = self._curves(mean_by_step)
                outcome.tables["by_step"], outcome.figures["by_step"] = table, figure
            if job.maps:
                outcome.figures.update(task.maps(self.method, self.problem))
            if job.replicates:
                self.record["rows"] = rows_digest(task.scored_rows(self.problem))
                self._resample(outcome, job.replicates)
        if job.artifacts is not None:
            self._write(self._problem_folder(job.artifacts), outcome)
        # Releases the method in its process, too.
        self._outputs, self._best_outputs, self._learned, self.method = {}, {}, _Learned(), None
        self._training = iter(())
        return outcome

    def _score(self, outputs: Arrays) -> None:
        with collect_warnings() as self._score_warnings:
            self._latest = self.task.score(self.problem, outputs, self.job.validation_choices, full=False)
        # Outputs are large and are needed again only for tables and figures.
        self._outputs = outputs if self.job.full else {}
        name = self.task.primary.name
        metrics = self._latest.metrics
        if name not in metrics and self._latest.with_choices is None:
            raise MethodError(f"{name} is not computed on these data; --metric takes one of {', '.join(metrics)}")
        if not np.isfinite(metrics.get(name, 0.0)):
            raise MethodError(f"{name} is not finite on {self.problem.name}, step {len(self.by_step) + 1}")
        self.by_step.append(self._latest.metrics)

    def _curves(self, mean: Sequence[float]) -> tuple[Table, Figure]:
        """Return the metrics after each step (an epoch, for example) and their mean as a table and a figure."""
        name = self.task.primary.name
        numbers = list(range(1, len(mean) + 1))
        # As in the mean: a fold that ended keeps its last values.
        rows = [self.by_step[min(number, len(self.by_step)) - 1] for number in numbers]
        columns = {metric: [row[metric] for row in rows] for metric in rows[0]}
        table = Table({"step": numbers, **columns, f"mean over folds of {name}": list(mean)})
        lines = {self.problem.name: (numbers, columns[name]), "mean over folds": (numbers, list(mean))}
        return table, Curve(lines, "step", name, f"{self.problem.name}: {name} by step")

    def _resample(self, outcome: Outcome, count: int) -> None:
        """Write the outcomes per row, if a folder is named, and show the replicates that are made from them."""
        rows = self.task.outcomes(self.problem, self._best_outputs, self.job.validation_choices)
        if rows is None:
            return
        if self.job.outcomes is not None:
            folder = self._problem_folder(self.job.outcomes)
            self.record["outcomes"] = write_outcomes(folder, rows)
            if "predicted" in rows.columns:  # rows of several labels are ranked
                self.record["labels"] = rows_digest({name: rows.columns[name] for name in ("row", "predicted")})
            by_metric = replicates(self.task, folder, count)
        else:
            by_metric = resampled(self.task, rows, count)
        if by_metric:
            columns = {name: values.round(6).tolist() for name, values in by_metric.items()}
            outcome.tables["replicates"] = Table({"replicate": list(range(1, count + 1)), **columns})

    def _store_model(self, folder: Path) -> dict[str, Any]:
        """Write what the method learned, before anything else is requested of it; return the record's entry of it."""
        from zslplat.models.folder import MODEL, save_model

        job = self.job
        with collect_warnings():
            state = state_within(self.method, job.model_bytes)
            try:
                return save_model(
                    folder / MODEL, state, self.task, self.problem, self.method, job.validation_choices, job.about
                )
            except OSError as error:
                raise StoreError(
                    f"cannot write the model to {folder}: {error.strerror or error}; free space or permissions and "
                    "give the same command again, or give --no-model"
                ) from error

    def _problem_folder(self, folder: Path) -> Path:
        """Return the folder of this problem inside the folder of the whole job."""
        return folder / self.problem.name if len(self.job.problems) > 1 else folder

    def _write(self, folder: Path, outcome: Outcome) -> None:
        from zslplat.evaluation.scoring.artifacts import write_artifacts

        try:
            share = self.job.matrices_bytes // len(self.job.problems)
            series = self._learned.series if self._learned.ended else self.method.diagnostics.series
            with collect_warnings() as self._export_warnings:
                write_artifacts(folder, self._learned.matrices, series, outcome, share)
                if self.job.full and self.method is not None:
                    self.task.export(self.method, self.problem, folder)
        except OSError as error:
            raise StoreError(
                f"cannot write artifacts to {folder}: {error.strerror or error}; what was recorded is kept; "
                "free space or permissions and give the same command again"
            ) from error


def advance_together(folds: Sequence[Fold], thresholds: Mapping[int, float]) -> tuple[str, list[float]]:
    """Train all folds step by step and choose the best step of the mean curve, the first of equals, in each.

    Returns how it ended (``complete``, or ``pruned`` where the best of the mean curve so far falls below the threshold
    of a step) and the mean curve. The curve is that of the primary metric of the folds' task; ``thresholds`` are of
    signed values.
    """
    task, primary = folds[0].task, folds[0].task.primary
    curve: list[float] = []
    best = -np.inf
    # A list, so that every fold takes its step even if others have ended.
    while any([fold.advance() for fold in folds]):
        task.settle([fold.latest for fold in folds])
        curve.append(float(np.mean([fold.by_step[-1][primary.name] for fold in folds])))
        if primary.signed(curve[-1]) > best:
            best = primary.signed(curve[-1])
            for fold in folds:
                fold.keep(len(curve))
        if best < thresholds.get(len(curve), -np.inf):
            return "pruned", curve
    return "complete", curve


@dataclass(frozen=True)
class _Learned:
    """What a method had learned at the chosen step."""

    matrices: Arrays = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    series: dict[str, list[float]] = field(default_factory=dict)
    ended: bool = False

    @classmethod
    def of(cls, learned: tuple[Any, Any, Any], *, copy: bool) -> _Learned:
        """Check names of matrices, diagnostics and figures; ``copy``: the method goes on to learn in place."""
        matrices, diagnostics, figures = learned
        require_names("matrix", matrices)
        require_names("diagnostic", [*diagnostics.numbers, *diagnostics.series])
        require_names("figure", figures)
        if copy:
            matrices = {name: np.array(matrix) for name, matrix in matrices.items()}
        return cls(matrices, figures, dict(diagnostics.numbers), diagnostics.series, ended=not copy)
