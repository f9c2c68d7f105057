"""Zero-shot retrieval: the signature of each unseen class is a query that ranks all test rows of unseen classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zslplat.families.zero_shot.task import pool_outcomes
from zslplat.families.zero_shot.unseen import REQUEST, UnseenTask
from zslplat.figures import Curve, Table
from zslplat.metrics.degenerate import look_at_rankings
from zslplat.metrics.intervals import ClassValues
from zslplat.metrics.label_ranking import mean_of_labels
from zslplat.metrics.ranking import Ranking, centred, class_rankings, mean_average_precision
from zslplat.metrics.resampling import resampled_average_precision
from zslplat.space import Integer, parameter
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem
from zslplat.tasks.row_outcomes import RowOutcomes, confusion, predictions_table

RANKS_SHOWN = 200
# The metrics, and the columns of row outcomes that hold their ranks. Records of earlier versions have the first alone.
_RANKED = {"mAP": "rank", "centred_mAP": "centred_rank"}


class Retrieval(UnseenTask):
    r"""mAP: the mean over classes of the average precision of the rows ranked by their score for the class.

    Equal scores count with the expectation over their orders (see :mod:`zslplat.metrics.ranking`). Validation and
    test use the same rows as task ``zsl``. Protocol: Xu et al., "Matrix Tri-Factorization with Manifold
    Regularizations for Zero-shot Learning", section 4.2.2, which ranks scores as they come.

    ``centred_mAP`` is that of the scores less their mean over the candidates of a row. Scores such as minus squared
    distances say of a row how far it is from everything, which changes no answer of ``zsl`` and every ranking. Some
    methods return probabilities of a row (``mfmr``, ``ridge-prototypes``), most do not: by this metric they are
    compared on equal terms.

    Equations
    ---------
    The signature of an unseen class asks, and all rows of unseen classes are ranked by their score for it:

    $$\mathrm{mAP} = \frac{1}{|U|} \sum_{c \in U} \frac{1}{n_c} \sum_{x \text{ of } c} \mathrm{precision}(\text{rank of
    } x)$$

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
    ``zsl`` asks for the class of a row; ``exemplar-retrieval`` has rows for queries.
    """

    name = "retrieval"
    summary = "zero-shot retrieval: a class signature as query, mean average precision over the rows of unseen classes"
    citation = "Xu et al.: Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning (CVPR 2017)"
    primary = Metric("mAP")
    k = parameter("also report the precision among the first k rows", Integer(1), default=10)

    def metric_names(self) -> tuple[str, ...]:
        """Return mAP of the scores and of the centred ones, and the precision among the first k."""
        return (*_RANKED, f"precision_at_{self.k}")

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return mAP, that of centred scores, and the mean precision among the first k rows (or all, where fewer)."""
        scores, y = outputs[REQUEST], problem.truth["y_pool"]
        look_at_rankings(scores)
        rankings, among = class_rankings(scores, y), class_rankings(centred(scores), y)
        precision = np.array([ranking.precision_by_rank() for ranking in rankings])
        at_k = precision[:, min(self.k, len(y)) - 1]
        means = (mean_average_precision(rankings), mean_average_precision(among), float(at_k.mean()))
        outcome = Outcome(dict(zip(self.metric_names(), means, strict=True)))
        if full:
            names, title = problem.meta["classes"], f"{problem.meta['dataset']}, {problem.name}"
            outcome.tables["per_class"] = Table(
                {
                    "class": names,
                    "rows": np.bincount(y, minlength=len(names)).tolist(),
                    "average_precision": [ranking.average_precision() for ranking in rankings],
                    "centred_average_precision": [ranking.average_precision() for ranking in among],
                    f"precision_at_{self.k}": at_k.tolist(),
                }
            )
            predicted = np.argmax(scores, axis=1)
            rows = problem.truth["row_pool"]
            outcome.tables["predictions"] = predictions_table(names, rows, y, predicted, scores.max(axis=1))
            outcome.tables["confusion"], outcome.figures["confusion"] = confusion(
                y, predicted, names, f"{title}: best query of each row"
            )
            shown = min(RANKS_SHOWN, len(y))
            outcome.figures["precision_by_rank"] = Curve(
                {"mean over queries": (list(range(1, shown + 1)), precision.mean(axis=0)[:shown].tolist())},
                "rows retrieved",
                "precision",
                title,
            )
        return outcome

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns, ``rank`` and ``centred_rank`` (m, c) int32: 8 bytes a row and class, and 24 a row.

        Column j ranks the rows by their (centred) score for class j, 0 for the best; equal scores share a rank. The
        rows are in the order of the pool, on which the order of rows of equal rank depends.
        """
        scores = outputs[REQUEST]
        ranks = {_RANKED["mAP"]: _ranks(scores), _RANKED["centred_mAP"]: _ranks(centred(scores))}
        return pool_outcomes(problem, np.argmax(scores, axis=1), scores.max(axis=1), ranks)

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return mAP (b,) of each draw, by the scores and by the centred ones."""
        y, metrics = outcomes.columns["true"], {}
        for metric, rank in _recorded_ranks(outcomes).items():
            values = np.array([resampled_average_precision(counts, -rank[:, j], y == j) for j in np.unique(y)])
            # A class of which no row is drawn asks for nothing.
            metrics[metric] = np.mean(values, axis=0) if np.isfinite(values).all() else mean_of_labels(values.T)
        return metrics

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return the average precision of every class; the rows of all others are what it is told from, as they are."""
        y = outcomes.columns["true"]
        values = {
            metric: np.array([Ranking.of(-rank[:, j].astype(float), y == j).average_precision() for j in np.unique(y)])
            for metric, rank in _recorded_ranks(outcomes).items()
        }
        return ClassValues(values, np.zeros(len(np.unique(y)), dtype=np.int64))

    def chance(self, problem: Problem) -> float:
        """Return the expected mAP of a random ranking, a little above the mean share of a class, or that share."""
        y = problem.truth["y_pool"]
        if self.primary.name.startswith("precision"):
            return float(np.mean(np.bincount(y, minlength=len(problem.inputs["seen"])))) / len(y)
        constant = np.zeros((len(y), len(problem.inputs["seen"])))
        return mean_average_precision(class_rankings(constant, y))


def _ranks(scores: np.ndarray) -> np.ndarray:
    ranks = [np.unique(-scores[:, j], return_inverse=True)[1] for j in range(scores.shape[1])]
    return np.stack(ranks, axis=1).astype(np.int32)


def _recorded_ranks(outcomes: RowOutcomes) -> dict[str, np.ndarray]:
    return {metric: outcomes.columns[name] for metric, name in _RANKED.items() if name in outcomes.columns}
