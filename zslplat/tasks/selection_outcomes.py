"""How a selector's clusterings of one draw of unseen rows are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.figures import Table
from zslplat.metrics.accuracy import per_class_accuracy
from zslplat.metrics.clustering import clustering_accuracy, normalised_mutual_information
from zslplat.tasks.base import Arrays, Problem
from zslplat.tasks.clusterings import each_clustering, features_table, voted_classes
from zslplat.tasks.predictions import predictions_table
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns


@dataclass(frozen=True)
class Judged:
    """One draw: the metrics, and the curve over numbers of features, with deviations over the starts."""

    problem: Problem
    outputs: Arrays
    metrics: dict[str, float]
    curve: dict[str, list[float]]

    def features(self) -> Table:
        """Return the features from the best on."""
        return features_table(self.outputs["ranking"], self.outputs["scores"])

    def predictions(self) -> Table:
        """Return the class of each row by vote of all clusterings."""
        truth, names = self.problem.truth, list(self.problem.meta["classes"])
        voted = voted_classes(self.outputs["clusters"], truth["y_unseen"], len(names))
        return predictions_table(names, truth["row_unseen"], truth["y_unseen"], *voted)


def row_outcomes(problem: Problem, outputs: Arrays) -> RowOutcomes:
    """Return the common columns of the unseen rows of one draw: the class by vote of all clusterings."""
    truth, names = problem.truth, list(problem.meta["classes"])
    predicted, share = voted_classes(outputs["clusters"], truth["y_unseen"], len(names))
    columns = common_columns(truth["row_unseen"], truth["y_unseen"], predicted, share, truth.get("group_unseen"))
    return RowOutcomes(columns, {"classes": names})


def judge(problem: Problem, outputs: Arrays) -> Judged:
    """Return how well clusters agree with the classes, by every metric."""
    y, classes = problem.truth["y_unseen"], len(problem.meta["classes"])
    clusters = outputs["clusters"]
    accuracy = each_clustering(clusters, lambda found: clustering_accuracy(y, found, classes))
    nmi = each_clustering(clusters, lambda found: normalised_mutual_information(y, found))
    arithmetic = each_clustering(clusters, lambda found: normalised_mutual_information(y, found, "arithmetic"))
    metrics = {
        "clustering_accuracy": float(accuracy.mean()),
        "nmi": float(nmi.mean()),
        "nmi_arithmetic": float(arithmetic.mean()),
    }
    curve: dict[str, list[float]] = {"features": list(problem.meta["counts"])}
    for name, values in (("accuracy", accuracy), ("nmi", nmi), ("nmi_arithmetic", arithmetic)):
        curve[name] = values.mean(axis=1).tolist()
        curve[f"{name}_deviation"] = values.std(axis=1).tolist()
    by_count = [per_class_accuracy(y, predicted) for predicted in outputs.get("zero_shot", ())]
    if by_count:
        metrics["zero_shot_accuracy"] = float(np.mean(by_count))
        curve["zero_shot_accuracy"] = by_count
    return Judged(problem, outputs, metrics, curve)


def mean_curve(curves: Sequence[dict[str, list[float]]]) -> dict[str, Any]:
    """Return the mean curve of several draws; deviations are those over starts, on the average of the draws."""
    if len(curves) == 1:
        return dict(curves[0])
    means = {name: np.mean([curve[name] for curve in curves], axis=0).tolist() for name in curves[0]}
    return {**means, "features": curves[0]["features"]}
