"""Outputs that were made elsewhere, scored as those of a method are: metrics, outcomes per row, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.evaluation.folds import Fold
from zslplat.evaluation.jobs import found_by, plain
from zslplat.evaluation.outcomes import REPLICATES
from zslplat.evaluation.wanted import EvaluateJob
from zslplat.tasks.base import Problem, Task


def evaluate_given(
    task: Task,
    problems: Sequence[Problem],
    scores: Sequence[np.ndarray],
    folder: Path,
    *,
    test: bool,
    label: str,
    validation_choices: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of scores (m, c) of each problem, rows and classes in the order of the problem.

    It is what :func:`zslplat.evaluation.jobs.evaluate` makes of a method with these outputs, less what a method costs
    and learns. ``folder``: of the evaluation, which gets artifacts and, of the test split, outcomes per row and
    replicates. ``label`` names whoever made the scores in messages.
    """
    job = EvaluateJob(
        label=label,
        method=label,
        parameters={},
        seed=0,
        task=task.name,
        problems=tuple((problem.name, None) for problem in problems),
        validation_choices=dict(validation_choices or {}),
        full=True,
        artifacts=folder / "artifacts",
        replicates=REPLICATES if test else 0,
        outcomes=folder if test else None,
        test=test,
    )
    done, outcomes = [], []
    for problem, matrix in zip(problems, scores, strict=True):
        fold = Fold(task, problem, None, iter([(1, task.outputs_of(problem, matrix))]), job)
        fold.complete()
        outcomes.append(fold.finish())
        # How long it took to score says nothing of what it took to make the scores.
        del fold.record["seconds"]
        done.append(fold)
    return plain(found_by(done, outcomes))
