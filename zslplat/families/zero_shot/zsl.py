"""Zero-shot recognition: rows of unseen classes, told apart by the signatures of those classes alone (U -> U)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.families.zero_shot.task import pool_outcomes
from zslplat.families.zero_shot.unseen import REQUEST, UnseenTask
from zslplat.figures import Table
from zslplat.metrics.accuracy import class_accuracies, per_class_accuracy, per_class_top_k, sample_accuracy
from zslplat.metrics.degenerate import look_at_scores
from zslplat.metrics.intervals import ClassValues, jackknifed
from zslplat.metrics.resampling import resampled_means
from zslplat.space import Integer, parameter
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem
from zslplat.tasks.row_outcomes import RowOutcomes, confusion, predictions_table


class ZeroShot(UnseenTask):
    r"""Mean per-class top-1 accuracy over unseen classes (``per_class_accuracy``), each tried against the others.

    Equations
    ---------
    A row of an unseen class is given the unseen class with the largest score, and the share of right answers is
    averaged over classes, so that large classes do not rule:

    $$\hat y(x) = \arg\max_{c \in U} F(x, c), \qquad \mathrm{acc} = \frac{1}{|U|} \sum_{c \in U} \frac{|\{x \text{ of }
    c : \hat y(x) = c\}|}{|\{x \text{ of } c\}|}$$

    Symbols
    -------
    | symbol | here      | shape  | meaning                                            |
    |--------|-----------|--------|----------------------------------------------------|
    | U      |           |        | unseen classes: the candidates                     |
    | x      | X_pool    | (n, d) | rows of unseen classes, in a seeded random order   |
    | y      | y_pool    | (n,)   | truth: the class of each row                       |
    | s_c    | S_pool    | (c, a) | signatures of the candidates                       |
    | F(x, c) |          | (n, c) | the method's scores                                |

    Related
    -------
    ``gzsl`` has seen classes among the candidates; ``retrieval`` ranks rows for a class.
    """

    name = "zsl"
    summary = "zero-shot recognition: mean per-class top-1 accuracy over unseen classes (U->U)"
    citation = "Xian et al.: Zero-Shot Learning - A Comprehensive Evaluation of the Good, the Bad and the Ugly (2018)"
    primary = Metric("per_class_accuracy")
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("T1", "top1", "accuracy", "MCA"), "per_class_accuracy")
    top_k = parameter(
        "also report accuracy among the k best classes, where there are more than k", Integer(1), default=5
    )

    def metric_names(self) -> tuple[str, ...]:
        """Return the accuracies, and per-class top-k where k is no 1."""
        top = (f"per_class_top_{self.top_k}",) if self.top_k > 1 else ()
        return ("per_class_accuracy", "per_sample_accuracy", *top)

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return per-class and per-sample accuracy and per-class top-k; validation chooses nothing more."""
        scores, y = outputs[REQUEST], problem.truth["y_pool"]
        look_at_scores(scores, y)
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
            rows = problem.truth["row_pool"]
            outcome.tables["predictions"] = predictions_table(names, rows, y, predicted, scores.max(axis=1))
            table, figure = confusion(y, predicted, names, f"{problem.meta['dataset']}, {problem.name}: {REQUEST}")
            outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
        return outcome

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns: at most 24 bytes a row."""
        scores = outputs[REQUEST]
        return pool_outcomes(problem, np.argmax(scores, axis=1), scores.max(axis=1), {})

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return per-class and per-sample accuracy (b,) of each draw."""
        y = outcomes.columns["true"]
        correct = outcomes.columns["predicted"] == y
        return {
            "per_class_accuracy": resampled_means(counts, correct, y),
            "per_sample_accuracy": resampled_means(counts, correct),
        }

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return the accuracy of every class, and pseudo-values of the accuracy over rows."""
        return jackknifed(lambda counts: self.resampled(outcomes, counts), outcomes.columns["true"])

    def chance(self, problem: Problem) -> float:
        """Return 1 / number of candidate classes, k times that of the k best."""
        return (self.top_k if "top" in self.primary.name else 1.0) / len(problem.inputs["seen"])
