"""What the coding task does with the labels of its rows: one class per row, or several labels per row.

A form knows how scores (m, c) become metrics, tables, outcomes per row and resampled metrics. ``truth`` (m,) classes,
or (m, c) of 1, 0 and -1 (not counted).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from zslplat.figures import Table
from zslplat.metrics.accuracy import (
    class_accuracies,
    look_at_label_scores,
    look_at_scores,
    per_class_accuracy,
    sample_accuracy,
)
from zslplat.metrics.intervals import ClassValues, jackknifed, mean_pseudo_values, resampled_means
from zslplat.metrics.ranking import (
    average_precisions,
    chance_precisions,
    class_rankings,
    eleven_point_precisions,
    mean_average_precision,
    mean_of_labels,
    places,
    resampled_precisions,
)
from zslplat.tasks.base import Metric, Outcome
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns, confusion, predictions_table

AREA, ELEVEN_POINT = "mAP", "mAP_11pt"


class Scored(NamedTuple):
    """All scored rows of a problem: scores (m, c), truth (m,) or (m, c), rows, classes and groups."""

    scores: np.ndarray
    truth: np.ndarray
    row: np.ndarray
    names: list[str]
    group: np.ndarray | None = None


class OneClass:
    """One class per row: the best class counts. ``ranking``: also the mAP, one class against the rest."""

    name = "one"

    def __init__(self, ranking: bool) -> None:
        self.ranking = ranking

    def look(self, scores: np.ndarray, truth: np.ndarray, names: Sequence[str]) -> None:
        """Warn where no row prefers any class, or all prefer one."""
        look_at_scores(scores, truth)

    def metrics(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        """Return accuracy, mean per-class accuracy and, where wanted, mAP."""
        predicted = scores.argmax(axis=1)
        metrics = {
            "accuracy": sample_accuracy(truth, predicted),
            "per_class_accuracy": per_class_accuracy(truth, predicted),
        }
        if self.ranking:
            metrics[AREA] = mean_average_precision(class_rankings(scores, truth))
        return metrics

    def chance(self, truth: np.ndarray, names: Sequence[str], primary: Metric) -> float:
        """Return 1 / number of classes; of mAP what random rankings reach."""
        if primary.name == AREA:
            return mean_average_precision(class_rankings(np.zeros((len(truth), len(names))), truth))
        return 1.0 / len(names)

    def fill(self, outcome: Outcome, scored: Scored, title: str) -> None:
        """Add accuracies by class, predictions and the confusion of the classes."""
        scores, truth, row, names, _ = scored
        predicted, best = scores.argmax(axis=1), scores.max(axis=1)
        accuracies, counts = class_accuracies(truth, predicted, len(names))
        outcome.tables["per_class"] = Table({"class": names, "rows": counts.tolist(), "accuracy": accuracies.tolist()})
        outcome.tables["predictions"] = predictions_table(names, row, truth, predicted, best)
        outcome.tables["confusion"], outcome.figures["confusion"] = confusion(truth, predicted, names, title)

    def outcomes(self, scored: Scored) -> RowOutcomes:
        """Return the common columns: at most 24 bytes a row."""
        scores, truth, row, names, group = scored
        columns = common_columns(row, truth, scores.argmax(axis=1), scores.max(axis=1), group)
        return RowOutcomes(columns, {"classes": list(names)})

    def scored_rows(self, truth: np.ndarray, row: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their classes."""
        return {"id": row, "stratum": truth}

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows and their classes."""
        return outcomes.columns["row"], outcomes.columns["true"]

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return accuracy and mean per-class accuracy."""
        true = outcomes.columns["true"]
        correct = outcomes.columns["predicted"] == true
        return {
            "accuracy": resampled_means(counts, correct),
            "per_class_accuracy": resampled_means(counts, correct, true),
        }

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return the accuracy of every class, and pseudo-values of the accuracy over rows."""
        return jackknifed(lambda counts: self.resampled(outcomes, counts), outcomes.columns["true"])


class SeveralLabels:
    """Several labels per row: every label ranks the rows by itself. Metrics are means over the labels."""

    name = "several"

    def look(self, scores: np.ndarray, truth: np.ndarray, names: Sequence[str]) -> None:
        """Warn where a label ranks no row before another."""
        look_at_label_scores(scores, names)

    def metrics(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        """Return ``mAP`` and ``mAP_11pt``, means over the labels that a scored row has."""
        return {
            AREA: float(mean_of_labels(average_precisions(scores, truth))),
            ELEVEN_POINT: float(mean_of_labels(eleven_point_precisions(scores, truth))),
        }

    def chance(self, truth: np.ndarray, names: Sequence[str], primary: Metric) -> float:
        """Return the mean over the labels of what a random ranking reaches: near the mean prevalence."""
        return float(mean_of_labels(chance_precisions(truth, eleven_point=primary.name == ELEVEN_POINT)))

    def fill(self, outcome: Outcome, scored: Scored, title: str) -> None:
        """Add both forms of average precision by label, labels of rows, and all scores.

        In ``predictions`` a row's labels are joined by ``+``, and the predicted one is that of the highest score.
        """
        scores, truth, row, names, _ = scored
        outcome.tables["per_class"] = Table(
            {
                "class": names,
                "rows": (truth >= 0).sum(axis=0).tolist(),
                "positives": (truth == 1).sum(axis=0).tolist(),
                "average_precision": average_precisions(scores, truth).tolist(),
                "average_precision_11pt": eleven_point_precisions(scores, truth).tolist(),
                "chance": chance_precisions(truth).tolist(),
            }
        )
        order = np.argsort(row, kind="stable")
        rows, scores, truth = row[order].tolist(), scores[order], truth[order]
        outcome.tables["predictions"] = Table(
            {
                "row": rows,
                "true": ["+".join(names[j] for j in np.flatnonzero(labels == 1)) for labels in truth],
                "predicted": [names[j] for j in scores.argmax(axis=1)],
                "score": scores.max(axis=1).tolist(),
            }
        )
        columns = {f"score of {name}": scores[:, j].tolist() for j, name in enumerate(names)}
        outcome.tables["label_scores"] = Table({"row": rows, **columns})

    def outcomes(self, scored: Scored) -> RowOutcomes:
        """Return ``row`` (int64), ``labels``, ``place`` and, where there are groups, ``group`` (int32).

        ``labels`` (m, c) int8, ``place`` (m, c) int32: the place of the row in the ranking of each label, equal for
        equal scores. In all 5 c + 12 bytes a row: 112 with 20 labels.
        """
        scores, truth, row, names, group = scored
        columns: dict[str, np.ndarray] = {
            "row": np.asarray(row, dtype=np.int64),
            "labels": truth.astype(np.int8),
            "place": np.asarray(places(scores), dtype=np.int32),
        }
        if group is not None:
            columns["group"] = np.asarray(group, dtype=np.int32)
        return RowOutcomes(columns, {"classes": list(names), "labels": self.name})

    def scored_rows(self, truth: np.ndarray, row: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their labels."""
        return {"id": row, "labels": truth}

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows in one stratum: with several labels a row is in no one class."""
        row = outcomes.columns["row"]
        return row, np.zeros(len(row), dtype=np.int64)

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return both forms of mAP; a label of which no row is drawn has no part in the mean of that draw."""
        area, eleven = resampled_precisions(counts, outcomes.columns["place"], outcomes.columns["labels"])
        return {AREA: mean_of_labels(area), ELEVEN_POINT: mean_of_labels(eleven)}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return both forms of average precision of every label."""
        ranked, labels = outcomes.columns["place"], outcomes.columns["labels"]
        area, eleven = resampled_precisions(np.ones((1, len(ranked)), dtype=np.int32), ranked, labels)
        values = {AREA: mean_pseudo_values(area), ELEVEN_POINT: mean_pseudo_values(eleven)}
        return ClassValues(values, np.zeros(labels.shape[1], dtype=np.int64))


LabelForm = OneClass | SeveralLabels
