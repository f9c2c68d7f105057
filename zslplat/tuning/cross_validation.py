"""Cross-validation by rows with a search of its own for every fold: what is reported has no leak.

Fold i is tested by a study whose task has ``split=i``: its search sees the training rows of that fold only, by
validation folds inside them. One search for all folds would choose hyperparameters on rows that are test rows of other
folds. So it costs as many studies as there are folds, each recorded like any other: a call that was stopped continues
with the same call, and folds that are finished are not computed again. The mean over folds and its spread are over the
studies; the spread says how much the folds differ, and is no standard error, since folds share training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zslplat.data.dataset import row_folds
from zslplat.errors import UsageError
from zslplat.evaluation.components import build_component, open_dataset
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.evaluation.scoring.messages import collect_warnings
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tuning.options import StudyOptions, StudyResult
from zslplat.tuning.study import run_study


@dataclass
class CrossValidation:
    """What the studies of all folds give, in order: test metrics by fold are means over the repeats of a study.

    ``mean`` and ``spread`` (sample standard deviation over the folds) are by metric, for those that all folds have.
    """

    folds: list[int]
    studies: list[StudyResult]
    test: list[dict[str, float]]
    mean: dict[str, float]
    spread: dict[str, float]
    primary: str


def cross_validate(
    experiment: Experiment,
    options: StudyOptions,
    settings: Settings,
    reporter: Reporter | None = None,
    *,
    splits: int | None = None,
) -> CrossValidation:
    """Tune and test every fold of the data set, or ``splits`` drawn splits where it has no folds of its own.

    Raises :class:`UsageError` for a task without numbered splits, for one whose ``split`` is fixed, for
    data with test rows of its own, and where neither the data set nor the caller says how many splits there are.
    """
    reporter = reporter or SilentReporter()
    task_options = dict(experiment.task.parameters)
    if "split" not in build_component("tasks", experiment.task).parameters:
        raise UsageError(
            f"task {experiment.task.name} has no option split; cross-validation by rows works with coding, "
            "over classes it is zslplat tune --class-folds 5"
        )
    if "split" in task_options:
        raise UsageError(f"task {experiment.task}: cross-validation sets split itself; leave it out")
    if not options.repeats:
        raise UsageError("--repeats 0 tests nothing, and cross-validation is scored by its tests; leave it out")
    dataset = open_dataset(experiment.dataset, settings)
    fold_count = len(row_folds(dataset))
    if "test" in dataset.splits:
        raise UsageError(
            f"{experiment.dataset} has test rows of its own, which are one split; use tune in place of cross-validation"
        )
    if fold_count and splits is not None:
        raise UsageError(f"{experiment.dataset} has {fold_count} folds of its own; leave the number of splits out")
    if not fold_count and splits is None:
        raise UsageError(
            f"{experiment.dataset} has no folds of its own; say how many splits to draw with --splits, "
            "or divide its classes: zslplat tune --class-folds 5"
        )
    folds = list(range(1, (fold_count or splits or 1) + 1))
    if len(folds) < 2:
        raise UsageError(f"{len(folds)} split: a mean over splits needs at least 2")
    tasks = [Spec(experiment.task.name, {**task_options, "split": fold}) for fold in folds]
    for task in tasks:
        # What cannot be done of the last fold fails before the first is searched.
        built = build_component("tasks", task).suited(dataset)
        with collect_warnings():
            built.validation(dataset, seed=experiment.seed)
            built.test(dataset, seed=experiment.seed)
    studies = []
    for fold, task in zip(folds, tasks, strict=True):
        named = None if options.name is None else f"{options.name}, split {fold}"
        studies.append(run_study(replace(experiment, task=task), replace(options, name=named), settings, reporter))
    return summary(folds, studies)


def summary(folds: list[int], studies: list[StudyResult]) -> CrossValidation:
    """Return the means over the folds; the metrics of a fold are means over the repeats of its study."""
    test = [
        {name: float(np.mean([m[name] for m in s.test])) for name in (s.test[0] if s.test else {})} for s in studies
    ]
    names = [name for name in test[0] if all(name in fold for fold in test)]
    columns: dict[str, Any] = {name: [fold[name] for fold in test] for name in names}
    mean = {name: float(np.mean(values)) for name, values in columns.items()}
    spread = {name: float(np.std(values, ddof=1)) for name, values in columns.items()}
    return CrossValidation(folds, studies, test, mean, spread, studies[0].primary)
