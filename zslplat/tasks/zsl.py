"""Zero-shot recognition: rows of unseen classes, told apart by the signatures of those classes alone (U -> U)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.metrics.accuracy import class_accuracies, per_class_accuracy, per_class_top_k, sample_accuracy
from zslplat.metrics.resampling import resampled_means
from zslplat.space import Integer, Parameter
from zslplat.tasks.base import Arrays, Figure, Metric, Outcome, Problem, Table
from zslplat.tasks.projection_maps import projection_maps
from zslplat.tasks.splits import class_folds, fold_rows, split_rows
from zslplat.tasks.zero_shot import (
    COMMON_PARAMETERS,
    ZeroShotTask,
    build_problem,
    confusion,
    predictions_table,
    require_classes,
    with_requests,
)

REQUEST = "U->U"


def unseen_validation(task: ZeroShotTask, dataset: Dataset, seed: int) -> list[Problem]:
    """Return one U->U problem per class fold: trained on its training classes, scored on its validation classes."""
    split_rows(dataset, "test_unseen", f"task {task.name}")
    rows = split_rows(dataset, "train", f"task {task.name}")
    problems = []
    for number, fold in enumerate(class_folds(dataset, rows, task.folds, task.validation_classes, seed), start=1):
        train, validation = fold_rows(dataset, rows, fold)
        problem = build_problem(
            f"fold-{number}",
            dataset,
            task.signatures,
            train_rows=train,
            pool_rows=validation,
            seen_classes=fold.train,
            pool_classes=fold.validation,
            seed=seed,
            meta={"fold": fold.name},
        )
        problems.append(_requesting_all(problem))
    return problems


def unseen_test(task: ZeroShotTask, dataset: Dataset, seed: int) -> Problem:
    """Return the U->U problem of the test split; candidates are the classes that occur in ``test_unseen``."""
    train = split_rows(dataset, "train", f"task {task.name}")
    test = split_rows(dataset, "test_unseen", f"task {task.name}")
    seen_classes, unseen_classes = np.unique(dataset.y[train]), np.unique(dataset.y[test])
    require_classes(dataset, "split 'train'", seen_classes)
    require_classes(dataset, "split 'test_unseen'", unseen_classes)
    problem = build_problem(
        "test",
        dataset,
        task.signatures,
        train_rows=train,
        pool_rows=test,
        seen_classes=seen_classes.tolist(),
        pool_classes=unseen_classes.tolist(),
        seed=seed,
        meta={},
    )
    return _requesting_all(problem)


def _requesting_all(problem: Problem) -> Problem:
    rows, classes = len(problem.inputs["X_pool"]), len(problem.inputs["seen"])
    return with_requests(problem, {REQUEST: (np.arange(rows), np.arange(classes))})


class ZeroShot(ZeroShotTask):
    """Mean per-class top-1 accuracy over unseen classes (``per_class_accuracy``), each tried against the others."""

    name = "zsl"
    summary = "zero-shot recognition: mean per-class top-1 accuracy over unseen classes (U->U)"
    citation = "Xian et al.: Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the Ugly (2018)"
    primary = Metric("per_class_accuracy")
    parameters: ClassVar[Mapping[str, Parameter]] = {
        **COMMON_PARAMETERS,
        "top_k": Parameter("also report accuracy among the k best classes, where there are more than k", Integer(1)),
    }

    def __init__(
        self, *, signatures: str = "", folds: int | None = None, validation_classes: float = 0.2, top_k: int = 5
    ) -> None:
        super().__init__(signatures=signatures, folds=folds, validation_classes=validation_classes)
        self.top_k = top_k
        self._check_options("top_k")

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold; the seed draws folds (where there are none) and the row order."""
        return unseen_validation(self, dataset, seed)

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows against the rows of ``test_unseen``."""
        return unseen_test(self, dataset, seed)

    def score(self, problem: Problem, outputs: Arrays, carried: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return per-class and per-sample accuracy and per-class top-k; nothing is carried."""
        scores, y = outputs[REQUEST], problem.truth["y_pool"]
        predicted = np.argmax(scores, axis=1)
        metrics = {
            "per_class_accuracy": per_class_accuracy(y, predicted),
            "per_sample_accuracy": sample_accuracy(y, predicted),
        }
        if 1 < self.top_k < scores.shape[1]:
            metrics[f"per_class_top_{self.top_k}"] = per_class_top_k(scores, y, self.top_k)
        outcome = Outcome(metrics)
        if full:
            names = problem.meta["classes"]
            accuracies, counts = class_accuracies(y, predicted, len(names))
            outcome.tables["per_class"] = Table(
                {"class": names, "rows": counts.tolist(), "accuracy": accuracies.tolist()}
            )
            outcome.tables["predictions"] = predictions_table(problem, np.arange(len(y)), predicted, scores.max(axis=1))
            table, figure = confusion(y, predicted, names, f"{problem.meta['dataset']}, {problem.name}: {REQUEST}")
            outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
        return outcome

    def resampled(
        self, problem: Problem, outputs: Arrays, carried: Mapping[str, Any], counts: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return per-class and per-sample accuracy (b,) of each draw."""
        y = problem.truth["y_pool"]
        correct = np.argmax(outputs[REQUEST], axis=1) == y
        return {
            "per_class_accuracy": resampled_means(counts, correct, y),
            "per_sample_accuracy": resampled_means(counts, correct),
        }

    def maps(self, method: Any, problem: Problem) -> dict[str, Figure]:
        """Return a t-SNE map of the rows in signature space, one panel per projection that the method offers."""
        return projection_maps(method, problem, REQUEST)

    def chance(self, problem: Problem) -> float:
        """Return 1 / number of candidate classes."""
        return 1.0 / len(problem.inputs["seen"])
