"""Exemplar retrieval: rows of classes that no negative comes from, each a query for the others of its class.

| symbol | here | shape | meaning |
|---|---|---|---|
| X | ``X`` | (n, d) | negatives, all that a method is fitted on |
| | ``gallery`` | (g, d) | rows to be searched, in a seeded random order |
| | ``queries`` | (q,) | which rows of the gallery are queries; a query is left out of its own ranking |
| y | ``y`` | (g,) | truth: class of each gallery row, an index into ``meta["classes"]`` |
| | ``row`` | (g,) | truth: data set row of each gallery row |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError, MethodError
from zslplat.exemplars.frozen_steps import freeze
from zslplat.methods.base import require_kind
from zslplat.metrics.ranking import Ranking
from zslplat.registry import known_as
from zslplat.space import Choice, Integer, Optional, Parameter, Real, Space, check_value
from zslplat.tasks.base import Arrays, Curve, Metric, Outcome, Problem, Table, Task
from zslplat.tasks.splits import class_folds, fold_rows, split_rows
from zslplat.tasks.zero_shot import confusion

SCORES = "similarity"


class ExemplarRetrieval(Task):
    """Mean average precision over queries, each ranking all other rows of the gallery by similarity.

    Negatives and gallery share no class. On zero-shot data the negatives are the ``train`` rows and the gallery those
    of ``test_unseen``; on other data a share of the classes, the first ones or drawn ones, gives the negatives and the
    rest the gallery. Validation does the same once more inside the classes of the negatives: by the data set's own
    folds, or by drawn ones. Equal similarities count with the expectation over their orders.
    """

    name = "exemplar-retrieval"
    summary = "rows of new classes retrieve each other; mean average precision, negatives from other classes only"
    citation = (
        "Rezende, Zepeda, Ponce, Bach, Perez: Kernel square-loss exemplar machines for image retrieval. CVPR 2017"
    )
    kind = "exemplar"
    primary = Metric("mAP")
    preprocessed = {"features": ("X", "gallery")}
    parameters = {
        "negative_share": Parameter(
            "share of the classes that gives the negatives, where the data has no unseen classes",
            Real(0.0, 0.95, open_low=True),
        ),
        "classes": Parameter("which classes these are: the first ones, or drawn ones", Choice(("first", "drawn"))),
        "folds": Parameter("validation folds; none: all of the data set's own, or 3 drawn ones", Optional(Integer(1))),
        "validation_classes": Parameter(
            "share of the negatives' classes that a drawn fold searches", Real(0.0, 0.9, open_low=True)
        ),
        "queries": Parameter("draw at most so many queries; none: every row", Optional(Integer(1))),
        "k": Parameter("report recall and precision among the first k rows", Integer(1)),
    }

    def __init__(
        self,
        *,
        negative_share: float = 0.5,
        classes: str = "first",
        folds: int | None = None,
        validation_classes: float = 0.3,
        queries: int | None = 2000,
        k: int = 10,
    ) -> None:
        self.negative_share = negative_share
        self.classes = classes
        self.folds = folds
        self.validation_classes = validation_classes
        self.queries = queries
        self.k = k
        for name in self.parameters:
            check_value(f"task {self.name}", name, getattr(self, name), self.parameters)

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per fold inside the classes of the negatives."""
        negatives = self._sides(dataset, seed)[0]
        folds = class_folds(dataset, negatives, self.folds, self.validation_classes, seed)
        problems = []
        for number, fold in enumerate(folds, start=1):
            train, held = fold_rows(dataset, negatives, fold)
            problems.append(self._problem(f"fold-{number}", dataset, train, held, seed, fold.name))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all negatives against the gallery of new classes."""
        negatives, gallery = self._sides(dataset, seed)
        return self._problem("test", dataset, negatives, gallery, seed, "test")

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` of the negatives and ``score/...`` of the gallery."""
        require_kind(type(method), self.kind, self.name)
        fitted = method.prepare_fit(problem.inputs["X"], space=space)
        scored = method.prepare_score(problem.inputs["gallery"], space=space, statistics=fitted)
        return {f"fit/{k}": v for k, v in fitted.items()} | {f"score/{k}": v for k, v in scored.items()}

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit on the negatives, encode the gallery once, and compare the queries with all of it."""
        require_kind(type(method), self.kind, self.name)
        gallery, queries = problem.inputs["gallery"], problem.inputs["queries"]
        method.fit(problem.inputs["X"], statistics=_below("fit/", statistics))
        encoded = method.encode(gallery, statistics=_below("score/", statistics))
        scores = np.asarray(method.similarity(encoded.take(queries), encoded))
        who = known_as(type(method))
        if scores.shape != (len(queries), len(gallery)):
            raise MethodError(f"{who} returned similarities {scores.shape} for {len(queries)} of {len(gallery)} rows")
        if not np.isfinite(scores).all():
            raise MethodError(f"{who} returned {int((~np.isfinite(scores)).sum())} similarities that are not finite")
        yield 1, {SCORES: scores}

    def score(self, problem: Problem, outputs: Arrays, carried: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return mAP, recall and precision among the first k, and how often the nearest row has the right class."""
        answers = rank_all(outputs[SCORES], np.asarray(problem.truth["y"]), problem.inputs["queries"], self.k)
        metrics = {
            "mAP": float(answers.precision.mean()),
            f"recall_at_{self.k}": float(answers.recall_at_k.mean()),
            f"precision_at_{self.k}": float(answers.precision_at_k.mean()),
            "nearest_accuracy": float(answers.right.mean()),
        }
        outcome = Outcome(metrics)
        if full:
            self._describe(outcome, problem, answers)
        return outcome

    def chance(self, problem: Problem) -> float:
        """Return the expected mAP of random rankings."""
        y, queries = np.asarray(problem.truth["y"]), np.asarray(problem.inputs["queries"])
        expected = {}
        for c in np.unique(y[queries]):
            relevant = np.arange(len(y) - 1) < (y == c).sum() - 1
            expected[int(c)] = Ranking.of(np.zeros(len(y) - 1), relevant).average_precision()
        return float(np.mean([expected[int(c)] for c in y[queries]]))

    def kept_preprocessing(self, inputs: Mapping[str, np.ndarray], steps: Mapping[str, Sequence[str]]) -> Arrays:
        """Return the preprocessing of the features as stand-in rows, so that the index can treat new rows."""
        if inputs["X"].ndim != 2:
            return {}
        frozen = freeze(steps["features"], inputs["X"])
        return {f"frozen/features/{name}": rows for name, rows in frozen.items()}

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the gallery's rows and classes, and which of them are queries."""
        return {**problem.truth, "query": np.isin(np.arange(len(problem.truth["row"])), problem.inputs["queries"])}

    def export(self, method: Any, problem: Problem, folder: Path) -> None:
        """Write the encoded gallery as ``index`` inside ``folder``, for queries (see zslplat.exemplars.index).

        The method is fitted. Input arrays named ``frozen/features/...``, where there are any, are the preprocessing of
        new rows, as :func:`zslplat.exemplars.frozen_steps.freeze` returns it.
        """
        from zslplat.exemplars.index import ExemplarIndex

        truth, names = problem.truth, problem.meta["classes"]
        ExemplarIndex.write(
            folder / "index",
            method,
            problem.inputs["gallery"],
            rows=np.asarray(truth["row"]),
            labels=[names[c] for c in truth["y"]],
            steps=_below("frozen/features/", problem.inputs),
        )

    def _sides(self, dataset: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the negatives and of the test gallery."""
        if {"train", "test_unseen"} <= set(dataset.splits):
            return split_rows(dataset, "train", "the negatives"), split_rows(dataset, "test_unseen", "the gallery")
        if dataset.y.ndim != 1:
            raise DataError(f"{dataset.name}: {self.name} needs one class per row, got labels {dataset.y.shape}")
        classes = np.unique(dataset.y)
        size = round(self.negative_share * len(classes))
        if size < 4 or len(classes) - size < 2:
            raise DataError(
                f"{dataset.name}: {size} of {len(classes)} classes for the negatives; at least 4 are needed there, "
                "so that validation can hold out 2, and 2 for the gallery; change negative_share"
            )
        if self.classes == "drawn":
            classes = np.random.default_rng([seed, 4]).permutation(classes)
        chosen = np.isin(dataset.y, classes[:size])
        return np.flatnonzero(chosen), np.flatnonzero(~chosen)

    def _problem(
        self, name: str, dataset: Dataset, negatives: np.ndarray, gallery: np.ndarray, seed: int, fold: str
    ) -> Problem:
        generator = np.random.default_rng([seed, 5])
        gallery = generator.permutation(gallery)
        ids, y, counts = np.unique(dataset.y[gallery], return_inverse=True, return_counts=True)
        queries = np.flatnonzero(counts[y] > 1)
        if not len(queries):
            raise DataError(f"{dataset.name}, {name}: no class has two rows in the gallery, so nothing can be found")
        if self.queries is not None and len(queries) > self.queries:
            queries = np.sort(generator.permutation(queries)[: self.queries])
        inputs = {"X": dataset.X[negatives], "gallery": dataset.X[gallery], "queries": queries}
        meta = {"dataset": dataset.name, "fold": fold, "classes": [dataset.class_names[i] for i in ids]}
        return Problem(name, inputs, {"y": y, "row": gallery}, meta)

    def _describe(self, outcome: Outcome, problem: Problem, answers: Answers) -> None:
        y, queries, names = np.asarray(problem.truth["y"]), problem.inputs["queries"], problem.meta["classes"]
        own, predicted = y[queries], y[answers.nearest]
        present = np.unique(own)
        rows = np.asarray(problem.truth["row"])[queries]
        order = np.argsort(rows)
        outcome.tables["per_class"] = Table(
            {
                "class": [names[c] for c in present],
                "rows": [int((y == c).sum()) for c in present],
                "queries": [int((own == c).sum()) for c in present],
                "average_precision": [float(answers.precision[own == c].mean()) for c in present],
                f"recall_at_{self.k}": [float(answers.recall_at_k[own == c].mean()) for c in present],
            }
        )
        outcome.tables["predictions"] = Table(
            {
                "row": rows[order].tolist(),
                "true": [names[c] for c in own[order]],
                "predicted": [names[c] for c in predicted[order]],
                "score": answers.score[order].tolist(),
                "average_precision": answers.precision[order].tolist(),
            }
        )
        title = f"{problem.meta['dataset']}, {problem.name}"
        table, figure = confusion(own, predicted, names, f"{title}: class of the nearest row")
        outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
        line = {"mean over queries": (answers.ranks.tolist(), answers.recall_by_rank.tolist())}
        outcome.figures["recall_by_rank"] = Curve(line, "rows retrieved", "recall", title, logx=True)


@dataclass(frozen=True)
class Answers:
    """What rankings of q queries show: each (q,), but ``recall_by_rank``, the mean recall at the listed ``ranks``."""

    precision: np.ndarray
    recall_at_k: np.ndarray
    precision_at_k: np.ndarray
    nearest: np.ndarray
    score: np.ndarray
    right: np.ndarray
    ranks: np.ndarray
    recall_by_rank: np.ndarray


def rank_all(scores: np.ndarray, y: np.ndarray, queries: np.ndarray, k: int) -> Answers:
    """Rank the gallery for every query (q, g), the query itself left out, and measure one ranking at a time."""
    q, others = len(queries), len(y) - 1
    k = min(k, others)
    ranks = np.unique(np.geomspace(1, others, 30).astype(np.int64))
    precision, recall_at_k, precision_at_k, best = np.empty((4, q))
    nearest = np.empty(q, dtype=np.int64)
    recall_by_rank = np.zeros(len(ranks))
    for i, query in enumerate(queries):
        values, relevant = without(scores[i], query), without(y, query) == y[query]
        ranking = Ranking.of(values, relevant)
        by_rank = ranking.precision_by_rank()
        precision[i] = ranking.average_precision()
        precision_at_k[i] = by_rank[k - 1]
        recall_at_k[i] = by_rank[k - 1] * k / relevant.sum()
        recall_by_rank += by_rank[ranks - 1] * ranks / relevant.sum()
        place = int(np.argmax(values))
        best[i], nearest[i] = values[place], place + (place >= query)
    right = y[nearest] == y[queries]
    return Answers(precision, recall_at_k, precision_at_k, nearest, best, right, ranks, recall_by_rank / q)


def without(values: np.ndarray, place: int) -> np.ndarray:
    """Return the vector with one entry left out."""
    return np.concatenate([values[:place], values[place + 1 :]])


def _below(prefix: str, statistics: Mapping[str, np.ndarray]) -> Arrays | None:
    found = {name.removeprefix(prefix): array for name, array in statistics.items() if name.startswith(prefix)}
    return found or None
