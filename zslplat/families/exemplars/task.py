"""Exemplar retrieval: queries among rows that no negative comes from, each ranking all others by similarity.

| symbol | here | shape | meaning |
|---|---|---|---|
| X | ``X`` | (n, d) | negatives, all that a method is fitted on |
| | ``gallery`` | (g, d) | rows to be searched, in a seeded random order |
| y | ``y`` | (g,) | truth: class of each gallery row, an index into ``meta["classes"]`` |
| | ``row`` | (g,) | truth: data set row of each gallery row |
| | ``group`` | (g,) | truth: group of each gallery row, where the data set has groups |
| | ``queries`` | (q,) | truth: the gallery rows that are queries; a query is left out of its own ranking |
| | ``searched`` | (g,) | truth, of designated queries: mask of the rows that are searched |
| | ``positive``, ``junk`` | (p, 2), (j, 2) | truth, of designated queries: pairs (query, gallery row) |

The saved model of a test holds the encoded gallery, for later queries (:mod:`zslplat.families.exemplars.model`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, MethodError
from zslplat.families.exemplars.methods.base import ENCODED, is_large_gallery
from zslplat.families.exemplars.sides import (
    Side,
    class_side,
    designated_side,
    judgements_of,
    problem_of,
    question_digests,
)
from zslplat.figures import Curve, Table
from zslplat.kinds import protocol_of, require_kind
from zslplat.metrics.accuracy import look_at_similarities
from zslplat.metrics.intervals import ClassValues, jackknifed, resampled_means
from zslplat.metrics.ranking import Answers, random_precision, rank_judged
from zslplat.registry import known_as
from zslplat.space import Integer, Optional, Real, Space, parameter
from zslplat.tasks.base import Arrays, Metric, ModelContent, Outcome, Problem, Task, prefixed, real_numbers, selected
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns, confusion, predictions_table
from zslplat.tasks.splits import class_folds, fold_rows

SCORES = "similarity"


class ExemplarRetrieval(Task):
    r"""Mean average precision over queries, each ranking the gallery by similarity.

    **Every row asks.** Where a data set designates no queries, each row ranks all others of the gallery, and those of
    its class are right. Negatives and gallery share no class. On zero-shot data the negatives are the ``train`` rows
    and the gallery those of ``test_unseen``. On other data a share of the classes gives the negatives and the rest the
    gallery; they are drawn by name with ``split_seed``, not with the seed of a study, so that all studies share them
    whatever the order of the data. An order that matters belongs into the data, as splits of these names. Validation
    does the same once more inside the classes of the negatives: by the data set's own folds, or by drawn ones. Equal
    similarities count with the expectation over their orders.

    ``split_seed=1``, ``2`` ... are other draws of the classes, each of which a study can tune and test on
    (``zslplat sweep -p split_seed``).

    **Designated queries** (:class:`~zslplat.data.dataset.Queries`: Holidays, Oxford). The data set names the queries,
    what is searched, and for each query what is right and what is junk; junk is taken out of the ranking before that is
    measured. Average precision is then the area under the precision-recall curve by trapezoids, as the official
    programs of both sets compute it (:meth:`~zslplat.metrics.ranking.Ranking.trapezoid_average_precision`). The
    negatives are the rows of ``train``, which may come from another data set altogether; they alone give the statistics
    of preprocessing. Validation asks the queries that the data set sets apart for it, with the same negatives, and
    where it has none holds out classes among the negatives, where these are labelled. All queries are asked whatever
    ``queries`` says; ``negative_share`` and ``split_seed`` have no part in it.

    Equations
    ---------
    Each query ranks the gallery by similarity: $$\mathrm{mAP} = \frac{1}{q} \sum_{j} \mathrm{AP}_j$$

    Related
    -------
    ``retrieval`` asks by signatures. Methods: ``slem``, ``kslem``, ``whitening``, ``cosine``, ``exemplar-svm``.
    """

    name = "exemplar-retrieval"
    summary = "rows of new classes retrieve each other; mean average precision, negatives from other classes only"
    citation = "Rezende et al.: Kernel square-loss exemplar machines for image retrieval. CVPR 2017"
    kind = "exemplar"
    primary = Metric("mAP")
    preprocessed = {"features": ("X", "gallery")}
    negative_share = parameter(
        "share of the classes that gives the negatives, where the data has no unseen classes",
        Real(0.0, 0.95, open_low=True),
        default=0.5,
    )
    split_seed = parameter("draws these classes, and the queries where there are too many", Integer(0), default=0)
    folds = parameter("validation folds; none: the set's own, or 3 drawn", Optional(Integer(1)), default=None)
    validation_classes = parameter(
        "share of the negatives' classes that a drawn fold searches", Real(0.0, 0.9, open_low=True), default=0.3
    )
    queries = parameter("draw at most so many queries; none: every row", Optional(Integer(1)), default=2000)
    k = parameter("report recall and precision among the first k rows", Integer(1), default=10)
    _ranked: tuple[Arrays, Answers] | None = None

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per fold inside the classes of the negatives; the seed draws the folds."""
        if "validation" in dataset.queries:
            if self.folds is not None and self.folds > 1:
                raise DataError(
                    f"{dataset.name} sets queries apart for validation, which are one fold; folds={self.folds} asks "
                    "for more"
                )
            return [self._problem("fold-1", dataset, designated_side(dataset, "validation"), seed, "validation")]
        negatives = self._side(dataset).negatives
        if dataset.queries and len(np.unique(dataset.y[negatives])) < 4:
            raise DataError(
                f"{dataset.name} has designated queries, none of them set apart for validation, and negatives without "
                "classes that could be held out: nothing can be tuned on. Set queries apart with validation=0.2, name "
                "negatives with four classes or more, or evaluate a single experiment with run --test"
            )
        folds = class_folds(dataset, negatives, self.folds, self.validation_classes, seed)
        problems = []
        for number, fold in enumerate(folds, start=1):
            side = Side(*fold_rows(dataset, negatives, fold))
            problems.append(self._problem(f"fold-{number}", dataset, side, seed, fold.name))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all negatives against the gallery."""
        return self._problem("test", dataset, self._side(dataset), seed, "test")

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` of the negatives and ``score/...`` of the gallery."""
        require_kind(type(method), self.kind, self.name)
        fitted = protocol_of(method.kind).prepare_fit(method, problem.inputs, space)
        scored = protocol_of(method.kind).prepare_score(method, problem.inputs, space, fitted)
        return prefixed("fit/", fitted) | prefixed("score/", scored)

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit on the negatives, encode the gallery once, and compare the queries with all of it."""
        require_kind(type(method), self.kind, self.name)
        self._ranked = None  # or similarities of the problem before would be held beside those of this one
        gallery, queries = problem.inputs["gallery"], problem.truth["queries"]
        inputs = {"X": problem.inputs["X"], "gallery": gallery, "queries": queries}
        protocol_of(method.kind).fit(method, inputs, selected("fit/", statistics))
        name = known_as(type(method))
        returned = protocol_of(method.kind).score(method, inputs, selected("score/", statistics))["similarity"]
        scores = real_numbers(name, returned, "similarities")
        if scores.shape != (len(queries), len(gallery)):
            raise MethodError(f"{name} returned similarities {scores.shape} for {len(queries)} of {len(gallery)} rows")
        if not np.isfinite(scores).all():
            raise MethodError(f"{name} returned {int((~np.isfinite(scores)).sum())} similarities that are not finite")
        yield 1, {SCORES: scores}

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of :meth:`score`."""
        return tuple(names_of_metrics(self.k))

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return mAP, recall and precision among the first k, and how often the nearest row has the right class.

        They are means over the queries.
        """
        answers = self._answers(problem, outputs)
        look_at_similarities(answers.ties, len(answers.precision))
        by_query = dict(zip(names_of_metrics(self.k), answers.measures, strict=True))
        outcome = Outcome({name: float(values.mean()) for name, values in by_query.items()})
        if full:
            add_tables_and_figures(outcome, problem, answers, self.k)
        return outcome

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return, for every query, the common columns and three more: at most 48 bytes a query, none for a gallery row.

        ``predicted`` is the class of the nearest row and ``score`` its similarity;
        ``average_precision``, ``recall_at_k`` and ``precision_at_k`` (float64) stand for the query's whole ranking.
        Designated queries have two more, 5 bytes: their number (``query``, int32), and whether the nearest row is
        ``right``, which classes do not tell there.
        """
        answers, truth = self._answers(problem, outputs), problem.truth
        queries, y = truth["queries"], truth["y"]
        group = truth["group"][queries] if "group" in truth else None
        columns = common_columns(truth["row"][queries], y[queries], y[answers.nearest], answers.score, group)
        columns |= {
            "average_precision": answers.precision,
            "recall_at_k": answers.recall_at_k,
            "precision_at_k": answers.precision_at_k,
        }
        meta = {"classes": list(problem.meta["classes"]), "k": self.k}
        if problem.meta.get("designated"):
            columns |= {"query": np.arange(len(queries), dtype=np.int32), "right": answers.right}
        return RowOutcomes(columns, meta)

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the queries, each class apart.

        Designated queries are drawn from all of them: where each asks for a class of its own, classes apart would be
        drawn once each and nothing would vary.
        """
        if "query" in outcomes.columns:
            number = outcomes.columns["query"].astype(np.int64)
            return number, np.zeros(len(number), dtype=np.int64)
        return outcomes.columns["row"], outcomes.columns["true"]

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) of each draw of queries, within :meth:`units`' strata.

        The gallery stays as it is: what is drawn anew are the questions, not the answers.
        """
        columns = outcomes.columns
        right = columns["right"] if "right" in columns else columns["predicted"] == columns["true"]
        measures = (columns["average_precision"], columns["recall_at_k"], columns["precision_at_k"], right)
        names = names_of_metrics(outcomes.meta["k"])
        return {name: resampled_means(counts, values) for name, values in zip(names, measures, strict=True)}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return pseudo-values of leaving out all queries of one class; the gallery stays as it is.

        Queries for one thing are no independent draws: it is the class that is drawn, a landmark with its five queries
        as well as a class with a query for each of its rows.
        """
        return jackknifed(lambda counts: self.resampled(outcomes, counts), outcomes.columns["true"])

    def chance(self, problem: Problem) -> float:
        """Return the expected mAP of random rankings; it is not known of other metrics."""
        if self.primary.name != "mAP":
            return math.nan
        return random_precision(judgements_of(problem.truth))

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the gallery's rows and classes, and which of them are queries.

        Of designated queries also what is searched, and a number that tells what is right.
        """
        truth, rows = problem.truth, problem.truth["row"]
        scored = {"row": rows, "y": truth["y"], "query": np.isin(np.arange(len(rows)), truth["queries"])}
        return scored | (
            {"searched": truth["searched"], "asked": question_digests(truth)} if "searched" in truth else {}
        )

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the encoded gallery, and the row and the class of each of its rows.

        Rows that designated queries do not search are left out. A gallery that is compared block by block, as it is
        large, is not kept.
        """
        truth, names, gallery = problem.truth, problem.meta["classes"], problem.inputs["gallery"]
        if is_large_gallery(gallery, method):
            gibibytes = gallery.size * 8 / 2**30
            return ModelContent(left_out=f"the gallery takes {gibibytes:.2g} GiB, too many to be kept")
        rows = np.flatnonzero(truth["searched"]) if "searched" in truth else np.arange(len(truth["row"]))
        encoded = method.encode(np.asarray(take_rows(gallery, rows)))
        labels = np.array([names[c] for c in np.asarray(truth["y"])[rows]], dtype=np.str_)
        arrays = {"row": np.asarray(truth["row"])[rows], "label": labels}
        return ModelContent({**prefixed(ENCODED, encoded.arrays()), **arrays})

    def _side(self, dataset: Dataset) -> Side:
        """Return the rows of the negatives and of the test gallery."""
        if dataset.queries:
            return designated_side(dataset, "test")
        return class_side(dataset, self.negative_share, self.split_seed, self.name)

    def _problem(self, name: str, dataset: Dataset, side: Side, seed: int, fold: str) -> Problem:
        """Return a problem; the seed shuffles the gallery."""
        return problem_of(name, dataset, side, seed, fold, most=self.queries, split_seed=self.split_seed)

    def _answers(self, problem: Problem, outputs: Arrays) -> Answers:
        """Return what the rankings show; those of the last outputs are stored."""
        if self._ranked is None or self._ranked[0] is not outputs:
            self._ranked = outputs, rank_judged(outputs[SCORES], judgements_of(problem.truth), self.k)
        return self._ranked[1]


def names_of_metrics(k: int) -> tuple[str, str, str, str]:
    """Return the metrics, in the order of :attr:`~zslplat.metrics.ranking.Answers.measures`."""
    return ("mAP", f"recall_at_{k}", f"precision_at_{k}", "nearest_accuracy")


def add_tables_and_figures(outcome: Outcome, problem: Problem, answers: Answers, k: int) -> None:
    """Add the tables (per class, predictions, confusion) and figures to an outcome.

    ``predicted`` is the class of the nearest row that counts, ``queries`` and the rest of a class those of its queries.
    """
    names, truth = problem.meta["classes"], problem.truth
    y, queries = np.asarray(truth["y"]), np.asarray(truth["queries"])
    true, predicted = y[queries], y[answers.nearest]
    present = np.unique(true)
    outcome.tables["per_class"] = Table(
        {
            "class": [names[c] for c in present],
            "rows": np.bincount(y, minlength=len(names))[present].tolist(),
            "queries": [int((true == c).sum()) for c in present],
            "average_precision": [float(answers.precision[true == c].mean()) for c in present],
            f"recall_at_{k}": [float(answers.recall_at_k[true == c].mean()) for c in present],
        }
    )
    rows, more = np.asarray(truth["row"])[queries], {"average_precision": answers.precision}
    outcome.tables["predictions"] = predictions_table(names, rows, true, predicted, answers.score, **more)
    title = f"{problem.meta['dataset']}, {problem.name}"
    table, figure = confusion(true, predicted, names, f"{title}: class of the nearest row")
    outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
    lines = {"mean over queries": (answers.ranks.tolist(), answers.recall_by_rank.tolist())}
    outcome.figures["recall_by_rank"] = Curve(lines, "rows retrieved", "recall", title, logx=True)
