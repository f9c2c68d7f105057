"""What the coding task does with the labels of its rows: one class per row, or several labels per row.

A form knows how scores (m, c) become metrics, tables, outcomes per row and resampled metrics. ``truth`` (m,) classes,
or (m, c) of 1, 0 and -1 (not counted); splits follow one another, ``split`` (m,) numbers them from 1 on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
# From counts (b, m) of drawn rows to the metrics (b,).
Resampler = Callable[[np.ndarray], Mapping[str, np.ndarray]]


class Scored(NamedTuple):
    """All scored rows of a problem: scores (m, c), truth (m,) or (m, c), rows, splits from 1 on, groups and classes."""

    scores: np.ndarray
    truth: np.ndarray
    row: np.ndarray
    split: np.ndarray
    names: list[str]
    group: np.ndarray | None = None

    @property
    def split_column(self) -> dict[str, np.ndarray]:
        """A column ``split`` for tables, where there are several."""
        return {"split": self.split} if self.split.max() > 1 else {}


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
        scores, truth, row, _, names, _ = scored
        predicted, best = scores.argmax(axis=1), scores.max(axis=1)
        accuracies, counts = class_accuracies(truth, predicted, len(names))
        outcome.tables["per_class"] = Table({"class": names, "rows": counts.tolist(), "accuracy": accuracies.tolist()})
        outcome.tables["predictions"] = predictions_table(names, row, truth, predicted, best, **scored.split_column)
        outcome.tables["confusion"], outcome.figures["confusion"] = confusion(truth, predicted, names, title)

    def outcomes(self, scored: Scored) -> RowOutcomes:
        """Return the common columns and ``split`` (int32, from 1 on): at most 28 bytes a row."""
        scores, truth, row, split, names, group = scored
        columns = common_columns(row, truth, scores.argmax(axis=1), scores.max(axis=1), group)
        meta = {"classes": list(names), "splits": int(split.max())}
        return RowOutcomes({**columns, "split": split.astype(np.int32)}, meta)

    def scored_rows(self, truth: np.ndarray, row: np.ndarray, split: np.ndarray, c: int) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their classes, apart for every split."""
        return {"id": row, "stratum": truth + (split - 1) * c}

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows and their classes, apart for every split."""
        row, true, split = (outcomes.columns[name] for name in ("row", "true", "split"))
        return row, true + (split - 1) * len(outcomes.meta["classes"])

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return accuracy and mean per-class accuracy."""
        true = outcomes.columns["true"]
        correct = outcomes.columns["predicted"] == true
        return {
            "accuracy": resampled_means(counts[:, rows], correct[rows]),
            "per_class_accuracy": resampled_means(counts[:, rows], correct[rows], true[rows]),
        }

    def class_values(self, outcomes: RowOutcomes, resampled: Resampler) -> ClassValues:
        """Return the accuracy of every class, and pseudo-values of the accuracy over rows."""
        return jackknifed(resampled, outcomes.columns["true"])


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
        """Add both forms of average precision by label (means over splits), labels of rows, and all scores.

        In ``predictions`` a row's labels are joined by ``+``, and the predicted one is that of the highest score.
        """
        scores, truth, row, split, names, _ = scored
        each = [split == i for i in np.unique(split)]
        area, eleven, chance = (
            np.array([measure(scores[part], truth[part]) for part in each])
            for measure in (average_precisions, eleven_point_precisions, lambda _, labels: chance_precisions(labels))
        )
        outcome.tables["per_class"] = Table(
            {
                "class": names,
                "rows": (truth >= 0).sum(axis=0).tolist(),
                "positives": (truth == 1).sum(axis=0).tolist(),
                "average_precision": mean_of_labels(area.T).tolist(),
                "average_precision_11pt": mean_of_labels(eleven.T).tolist(),
                "chance": mean_of_labels(chance.T).tolist(),
            }
        )
        order = np.lexsort((row, split))
        split_column = {name: column[order].tolist() for name, column in scored.split_column.items()}
        rows = row[order].tolist()
        outcome.tables["predictions"] = Table(
            {
                "row": rows,
                "true": [
                    "+".join(names[j] for j in np.flatnonzero(rows_of_split == 1)) for rows_of_split in truth[order]
                ],
                "predicted": [names[j] for j in scores[order].argmax(axis=1)],
                "score": scores[order].max(axis=1).tolist(),
                **split_column,
            }
        )
        columns = {f"score of {name}": scores[order, j].tolist() for j, name in enumerate(names)}
        outcome.tables["label_scores"] = Table({"row": rows, **split_column, **columns})

    def outcomes(self, scored: Scored) -> RowOutcomes:
        """Return ``row`` (int64), ``split`` and, where there are groups, ``group`` (int32), ``labels`` and ``place``.

        ``labels`` (m, c) int8, ``place`` (m, c) int32: the place of the row in the ranking of each label, equal for
        equal scores. In all 5 c + 16 bytes a row: 116 with 20 labels.
        """
        scores, truth, row, split, names, group = scored
        ranked = np.empty(scores.shape, dtype=np.int32)
        for i in np.unique(split):
            ranked[split == i] = places(scores[split == i])
        columns: dict[str, np.ndarray] = {
            "row": np.asarray(row, dtype=np.int64),
            "split": split.astype(np.int32),
            "labels": truth.astype(np.int8),
            "place": ranked,
        }
        if group is not None:
            columns["group"] = np.asarray(group, dtype=np.int32)
        return RowOutcomes(columns, {"classes": list(names), "splits": int(split.max()), "labels": self.name})

    def scored_rows(self, truth: np.ndarray, row: np.ndarray, split: np.ndarray, c: int) -> Mapping[str, np.ndarray]:
        """Return the data set's rows, their labels and the splits."""
        return {"id": row, "stratum": split, "labels": truth}

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows, and the splits for strata: with several labels a row is in no one class."""
        return outcomes.columns["row"], outcomes.columns["split"]

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return both forms of mAP; a label of which no row is drawn has no part in the mean of that draw."""
        ranked, labels = outcomes.columns["place"][rows], outcomes.columns["labels"][rows]
        area, eleven = resampled_precisions(counts[:, rows], ranked, labels)
        return {AREA: mean_of_labels(area), ELEVEN_POINT: mean_of_labels(eleven)}

    def class_values(self, outcomes: RowOutcomes, resampled: Resampler) -> ClassValues:
        """Return both forms of average precision of every label."""
        ranked, labels, split = (outcomes.columns[name] for name in ("place", "labels", "split"))
        precisions = [
            resampled_precisions(np.ones((1, int(rows.sum())), dtype=np.int32), ranked[rows], labels[rows])
            for rows in (split == number for number in range(1, outcomes.meta["splits"] + 1))
        ]
        values = {
            name: mean_pseudo_values(np.vstack([parts[form] for parts in precisions]))
            for form, name in enumerate((AREA, ELEVEN_POINT))
        }
        return ClassValues(values, np.zeros(labels.shape[1], dtype=np.int64))


LabelForm = OneClass | SeveralLabels
