"""Zero-shot recognition and retrieval: rows of unseen classes, by the signatures of those classes alone (U -> U).

Problems of rows of unseen classes, told apart by the signatures of those classes alone (U -> U).

Where a method projects the scored rows into signature space, they are mapped by t-SNE, as in figure 3 of Xu et al.,
"Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning". Such a method has ``embeddings(X, S)``,
which returns a name and a matrix (n, a) for each map, in the order in which they are to be shown.

Zero-shot retrieval: the signature of each unseen class is a query that ranks all test rows of unseen classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.families.zero_shot.task import (
    ZeroShotTask,
    build_problem,
    pool_outcomes,
    request_batch,
    require_classes,
    with_requests,
)
from zslplat.figures import Curve, Figure, ScatterFigure, Table
from zslplat.methods.rows import unit_rows
from zslplat.metrics.accuracy import (
    class_accuracies,
    look_at_rankings,
    look_at_scores,
    next_best,
    per_class_accuracy,
    per_class_top_k,
    sample_accuracy,
)
from zslplat.metrics.intervals import (
    ClassValues,
    competing,
    gains_by_class,
    jackknifed,
    resampled_average_precision,
    resampled_means,
)
from zslplat.metrics.ranking import Ranking, centred, class_rankings, mean_average_precision, mean_of_labels
from zslplat.space import Integer, parameter
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem
from zslplat.tasks.row_outcomes import RowOutcomes, confusion, predictions_table
from zslplat.tasks.splits import class_folds, count_of_unseen, fold_rows, split_rows

REQUEST = "U->U"


class UnseenTask(ZeroShotTask):
    """Base of the tasks that train on seen classes and score rows of unseen ones against the unseen ones."""

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold; the seed draws folds (where there are none) and the row order.

        Of the test, drawn folds know how many classes it tells apart, and nothing else.
        """
        split_rows(dataset, "test_unseen", f"task {self.name}")
        rows = split_rows(dataset, "train", f"task {self.name}")
        problems = []
        tested = count_of_unseen(dataset)
        folds = class_folds(dataset, rows, self.folds, self.validation_classes, seed, tested=tested)
        for number, fold in enumerate(folds, start=1):
            train, validation, _ = self.with_shots(dataset, *fold_rows(dataset, rows, fold), fold=number)
            problem = build_problem(
                f"fold-{number}",
                dataset,
                self.signatures,
                train_rows=train,
                pool_rows=self.scored_unseen(dataset, validation, fold=number),
                seen_classes=fold.train,
                pool_classes=fold.validation,
                seed=seed,
                without=self.without,
                meta={"fold": fold.name},
            )
            problems.append(_requesting_all(problem))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows against the rows, and the classes, of ``test_unseen``."""
        train = split_rows(dataset, "train", f"task {self.name}")
        test = split_rows(dataset, "test_unseen", f"task {self.name}")
        seen_classes, unseen_classes = np.unique(dataset.y[train]), np.unique(dataset.y[test])
        require_classes(dataset, "split 'train'", seen_classes)
        require_classes(dataset, "split 'test_unseen'", unseen_classes)
        train, test, _ = self.with_shots(dataset, train, test)
        problem = build_problem(
            "test",
            dataset,
            self.signatures,
            train_rows=train,
            pool_rows=self.scored_unseen(dataset, test),
            seen_classes=seen_classes.tolist(),
            pool_classes=unseen_classes.tolist(),
            seed=seed,
            without=self.without,
            meta={},
        )
        return _requesting_all(problem)

    def maps(self, method: Any, problem: Problem) -> dict[str, Figure]:
        """Return a t-SNE map of the rows in signature space, one panel per projection that the method offers."""
        return projection_maps(method, problem, REQUEST)


def _requesting_all(problem: Problem) -> Problem:
    rows, classes = len(problem.inputs["X_pool"]), len(problem.inputs["seen"])
    return with_requests(problem, {REQUEST: (np.arange(rows), np.arange(classes))})


MAPPED_ROWS = 1000


def projection_maps(method: Any, problem: Problem, request: str) -> dict[str, Figure]:
    """Return {"projection": figure} for a method with ``embeddings``, of at most 1000 rows drawn evenly by class.

    The panels share the rows; every panel has a map of its own, with the same seed. Nothing for other methods.
    """
    embeddings = getattr(method, "embeddings", None)
    if embeddings is None:
        return {}
    from sklearn.manifold import TSNE

    X, S = request_batch(method, problem, request)
    y = problem.truth["y_pool"][problem.truth[f"rows:{request}"]]
    rows = _evenly(y, MAPPED_ROWS)
    panels = {}
    for name, projected in embeddings(X, S).items():
        chosen = unit_rows(np.asarray(projected[rows], dtype=np.float64))
        perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
        tsne = TSNE(perplexity=perplexity, init="random", random_state=0, n_jobs=1)
        panels[name] = tsne.fit_transform(chosen)
    classes = problem.inputs[f"classes:{request}"]
    names = [problem.meta["classes"][i] for i in classes]
    labels = np.searchsorted(classes, y[rows])
    title = f"{problem.meta['dataset']}, {problem.name}: rows in signature space (t-SNE)"
    return {"projection": ScatterFigure(panels, labels, names, title)} if panels else {}


def _evenly(y: np.ndarray, count: int) -> np.ndarray:
    """Return at most ``count`` rows, as many of every class as there are; the order of the rows is random already."""
    place = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        place[rows] = np.arange(len(rows))
    return np.sort(np.argsort(place, kind="stable")[:count])


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
    top_k = parameter("also report accuracy among the k best of more than k classes", Integer(1), default=5)

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
        """Return the common columns and ``next`` (int32), the class with the next score: at most 28 bytes a row."""
        scores = outputs[REQUEST]
        predicted = np.argmax(scores, axis=1)
        more = {"next": next_best(scores, predicted).astype(np.int32)}
        return pool_outcomes(problem, predicted, scores.max(axis=1), more)

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return per-class and per-sample accuracy (b,) of each draw."""
        y = outcomes.columns["true"]
        correct = outcomes.columns["predicted"] == y
        return {
            "per_class_accuracy": resampled_means(counts, correct, y),
            "per_sample_accuracy": resampled_means(counts, correct),
        }

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return the accuracy of every class less what it costs the others, and the same of the accuracy over rows."""
        y, predicted = outcomes.columns["true"], outcomes.columns["predicted"]
        sizes = np.bincount(y)
        gained = (predicted != y) & (outcomes.columns.get("next", predicted) == y)
        weights = {"per_class_accuracy": 1 / (sizes[y] * np.count_nonzero(sizes)), "per_sample_accuracy": 1 / len(y)}
        gains = {name: gains_by_class(predicted, y, gained * weight) for name, weight in weights.items()}
        return competing(jackknifed(lambda counts: self.resampled(outcomes, counts), y), gains)

    def chance(self, problem: Problem) -> float:
        """Return 1 / number of candidate classes, k times that of the k best."""
        return (self.top_k if "top" in self.primary.name else 1.0) / len(problem.inputs["seen"])


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
