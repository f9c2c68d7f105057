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

Where the test is repeated on several draws of the classes, the arrays of draw r > 1 have the suffix ``:r``.

The saved model of a test holds the encoded gallery, for later queries (:mod:`zslplat.families.exemplars.model`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, MethodError
from zslplat.families.exemplars.methods.base import ENCODED, is_large_gallery
from zslplat.families.exemplars.sides import (
    Side,
    class_sides,
    designated_side,
    judgements_of,
    problem_of,
    question_digests,
)
from zslplat.figures import Curve, Table
from zslplat.kinds import protocol_of, require_kind
from zslplat.metrics.accuracy import look_at_similarities
from zslplat.metrics.intervals import ClassValues, jackknifed
from zslplat.metrics.ranking import Answers, random_precision, rank_judged
from zslplat.registry import known_as
from zslplat.space import Integer, Optional, Real, Space, parameter
from zslplat.tasks.base import (
    Arrays,
    Metric,
    ModelContent,
    Outcome,
    Problem,
    Task,
    mean_over_splits,
    prefixed,
    real_numbers,
    selected,
    suffixes_of,
)
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

    ``draws`` repeats the test on so many draws, and its metrics are the means over them. A study tunes inside the
    negatives of the first draw: then classes of its validation may be in the gallery of a later one, as in the usual
    protocol of repeated splits. Studies with one draw each (``split_seed=0``, ``1`` ...) are free of that.

    **Designated queries** (:class:`~zslplat.data.dataset.Queries`: Holidays, Oxford). The data set names the queries,
    what is searched, and for each query what is right and what is junk; junk is taken out of the ranking before that is
    measured. Average precision is then the area under the precision-recall curve by trapezoids, as the official
    programs of both sets compute it (:meth:`~zslplat.metrics.ranking.Ranking.trapezoid_average_precision`). The
    negatives are the rows of ``train``, which may come from another data set altogether; they alone give the statistics
    of preprocessing. Validation asks the queries that the data set sets apart for it, with the same negatives, and
    where it has none holds out classes among the negatives, where these are labelled. All queries are asked whatever
    ``queries`` says; ``negative_share`` and ``split_seed`` have no part in it, and more ``draws`` than one are refused.

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
    draws = parameter("number of draws of these classes that the test is the mean of", Integer(1), default=1)
    split_seed = parameter("draws these classes, and the queries where there are too many", Integer(0), default=0)
    folds = parameter("validation folds; none: the set's own, or 3 drawn", Optional(Integer(1)), default=None)
    validation_classes = parameter(
        "share of the negatives' classes that a drawn fold searches", Real(0.0, 0.9, open_low=True), default=0.3
    )
    queries = parameter("draw at most so many queries; none: every row", Optional(Integer(1)), default=2000)
    k = parameter("report recall and precision among the first k rows", Integer(1), default=10)
    _ranked: tuple[Arrays, list[Answers]] | None = None

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return one group of arrays for every draw, each with its own negatives."""
        return tuple((f"X{suffix}", f"gallery{suffix}") for suffix in suffixes_of(self.draws))

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per fold inside the classes of the first draw's negatives; the seed draws the folds."""
        if "validation" in dataset.queries:
            if self.folds is not None and self.folds > 1:
                raise DataError(
                    f"{dataset.name} sets queries apart for validation, which are one fold; folds={self.folds} asks "
                    "for more"
                )
            sides = [designated_side(dataset, "validation")]
            return [self._problem("fold-1", dataset, sides, seed, "validation")]
        negatives = self._sides(dataset)[0].negatives
        if dataset.queries and len(np.unique(dataset.y[negatives])) < 4:
            raise DataError(
                f"{dataset.name} has designated queries, none of them set apart for validation, and negatives without "
                "classes that could be held out: nothing can be tuned on. Set queries apart with validation=0.2, name "
                "negatives with four classes or more, or evaluate a single experiment with run --test"
            )
        folds = class_folds(dataset, negatives, self.folds, self.validation_classes, seed)
        problems = []
        for number, fold in enumerate(folds, start=1):
            sides = [Side(*fold_rows(dataset, negatives, fold))]
            problems.append(self._problem(f"fold-{number}", dataset, sides, seed, fold.name))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all negatives against the gallery, of every draw."""
        return self._problem("test", dataset, self._sides(dataset), seed, "test")

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` of the negatives and ``score/...`` of the gallery, with the suffix of each draw."""
        require_kind(type(method), self.kind, self.name)
        prepared: Arrays = {}
        for suffix in suffixes_of(problem.meta["draws"]):
            fresh = copy.deepcopy(method)
            inputs = {name: problem.inputs[name + suffix] for name in ("X", "gallery")}
            fitted = protocol_of(method.kind).prepare_fit(fresh, inputs, space)
            scored = protocol_of(method.kind).prepare_score(fresh, inputs, space, fitted)
            for prefix, arrays in (("fit", fitted), ("score", scored)):
                prepared |= prefixed(f"{prefix}{suffix}/", arrays)
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit on the negatives, encode the gallery once, and compare the queries with all of it, in every draw."""
        require_kind(type(method), self.kind, self.name)
        self._ranked = None  # or similarities of the problem before would be held beside those of this one
        outputs: Arrays = {}
        # The last fit is that of the first draw, so that its matrices and its index are the ones that are kept.
        for suffix in reversed(suffixes_of(problem.meta["draws"])):
            gallery, queries = problem.inputs[f"gallery{suffix}"], problem.truth[f"queries{suffix}"]
            inputs = {"X": problem.inputs[f"X{suffix}"], "gallery": gallery, "queries": queries}
            # Rows that are searched in one draw may be negatives of another.
            fresh = copy.deepcopy(method) if suffix else method
            protocol_of(method.kind).fit(fresh, inputs, selected(f"fit{suffix}/", statistics))
            name = known_as(type(method))
            returned = protocol_of(method.kind).score(fresh, inputs, selected(f"score{suffix}/", statistics))[
                "similarity"
            ]
            scores = real_numbers(name, returned, "similarities")
            if scores.shape != (len(queries), len(gallery)):
                raise MethodError(
                    f"{name} returned similarities {scores.shape} for {len(queries)} of {len(gallery)} rows"
                )
            if not np.isfinite(scores).all():
                raise MethodError(
                    f"{name} returned {int((~np.isfinite(scores)).sum())} similarities that are not finite"
                )
            outputs[SCORES + suffix] = scores
        yield 1, outputs

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of :meth:`score`; of several draws their standard deviations, too."""
        names = tuple(self._metrics([]))
        return (*names, *(f"{name}_std" for name in names if self.draws > 1))

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return mAP, recall and precision among the first k, and how often the nearest row has the right class.

        They are means over the queries, then over the draws; of several draws the standard deviations come beside.
        """
        answers = self._answers(problem, outputs)
        look_at_similarities(sum(a.ties for a in answers), sum(len(a.precision) for a in answers))
        by_draw = {name: [float(a.mean()) for a in arrays] for name, arrays in self._metrics(answers).items()}
        outcome = Outcome(mean_over_splits(by_draw))
        if full:
            add_tables_and_figures(outcome, problem, answers, self._metrics(answers))
            if len(answers) > 1:
                outcome.tables["draws"] = Table({"draw": list(range(1, len(answers) + 1)), **by_draw})
        return outcome

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return, for every query, the common columns and four more: at most 52 bytes a query, none for a gallery row.

        ``predicted`` is the class of the nearest row and ``score`` its similarity, ``draw`` (int32) counts from 1;
        ``average_precision``, ``recall_at_k`` and ``precision_at_k`` (float64) stand for the query's whole ranking.
        Designated queries have two more, 5 bytes: their number (``query``, int32), and whether the nearest row is
        ``right``, which classes do not tell there.
        """
        answers, truth = self._answers(problem, outputs), problem.truth
        by_column: dict[str, list[np.ndarray]] = {name: [] for name in ("row", "true", "predicted", "group")}
        for suffix, answer in zip(suffixes_of(len(answers)), answers, strict=True):
            queries, y = truth[f"queries{suffix}"], truth[f"y{suffix}"]
            by_column["row"].append(truth[f"row{suffix}"][queries])
            by_column["true"].append(y[queries])
            by_column["predicted"].append(y[answer.nearest])
            by_column["group"].append(truth.get(f"group{suffix}", y)[queries])
        row, true, predicted, group = (np.concatenate(parts) for parts in by_column.values())
        score = np.concatenate([a.score for a in answers])
        columns = common_columns(row, true, predicted, score, group if "group" in truth else None)
        draw = np.repeat(np.arange(1, len(answers) + 1), [len(a.score) for a in answers])
        columns |= {
            "draw": draw.astype(np.int32),
            "average_precision": np.concatenate([a.precision for a in answers]),
            "recall_at_k": np.concatenate([a.recall_at_k for a in answers]),
            "precision_at_k": np.concatenate([a.precision_at_k for a in answers]),
        }
        meta = {"classes": list(problem.meta["classes"]), "draws": len(answers), "k": self.k}
        if problem.meta.get("designated"):
            right = np.concatenate([a.right for a in answers])
            columns |= {"query": np.arange(len(row), dtype=np.int32), "right": right}
        return RowOutcomes(columns, meta)

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the queries of every draw, each class apart, and after them the draws themselves.

        Designated queries are drawn from all of them: where each asks for a class of its own, classes apart would be
        drawn once each and nothing would vary.
        """
        if "query" in outcomes.columns:
            number = outcomes.columns["query"].astype(np.int64)
            return np.r_[number, 0], np.r_[np.zeros(len(number), dtype=np.int64), 1]
        row, true, draw = (outcomes.columns[name] for name in ("row", "true", "draw"))
        draws, classes = outcomes.meta["draws"], len(outcomes.meta["classes"])
        strata = true + (draw - 1) * classes
        return np.r_[row, np.arange(draws)], np.r_[strata, np.full(draws, draws * classes)]

    def things(self, outcomes: RowOutcomes) -> np.ndarray | None:
        """Return the groups of the queries, and draws as things of their own."""
        if "group" not in outcomes.columns:
            return None
        group = outcomes.columns["group"].astype(np.int64)
        draws = int(group.max()) + 1 + np.arange(outcomes.meta["draws"])
        return np.concatenate([group, draws])[:, None]

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) of each draw of queries, within :meth:`units`' strata, and of draws.

        The gallery stays as it is: what is drawn anew are the questions, not the answers.
        """
        columns, k, draws = outcomes.columns, outcomes.meta["k"], outcomes.meta["draws"]
        by_query = {
            "mAP": columns["average_precision"],
            f"recall_at_{k}": columns["recall_at_k"],
            f"precision_at_{k}": columns["precision_at_k"],
            "nearest_accuracy": columns["right"] if "right" in columns else columns["predicted"] == columns["true"],
        }
        sizes = np.bincount(columns["draw"], minlength=draws + 1)[1:]
        ends = np.cumsum(sizes)
        *parts, drawn = np.split(counts, ends, axis=1)
        query_counts = [part.sum(axis=1) for part in parts]
        shares = drawn / drawn.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # a draw of which no query is left has no value
            return {
                name: np.sum(
                    [
                        np.where(s > 0, c @ v / n * s, 0.0)
                        for c, v, n, s in zip(parts, np.split(values, ends[:-1]), query_counts, shares.T, strict=True)
                    ],
                    axis=0,
                )
                for name, values in by_query.items()
            }

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return pseudo-values of leaving out all queries of one class; the gallery stays as it is.

        Queries for one thing are no independent draws: it is the class that is drawn, a landmark with its five queries
        as well as a class with a query for each of its rows.
        """
        classes = np.r_[outcomes.columns["true"], np.full(outcomes.meta["draws"], -1)]
        return jackknifed(lambda counts: self.resampled(outcomes, counts), classes)

    def chance(self, problem: Problem) -> float:
        """Return the expected mAP of random rankings; it is not known of other metrics."""
        if self.primary.name != "mAP":
            return math.nan
        suffixes = suffixes_of(problem.meta["draws"])
        return float(np.mean([random_precision(judgements_of(problem.truth, suffix)) for suffix in suffixes]))

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the galleries' rows and classes, which of them are queries, and in which draw.

        Of designated queries also what is searched, and a number that tells what is right.
        """
        parts: dict[str, list[np.ndarray]] = {"row": [], "y": [], "query": [], "draw": []}
        for number, suffix in enumerate(suffixes_of(problem.meta["draws"])):
            rows, queries = problem.truth[f"row{suffix}"], problem.truth[f"queries{suffix}"]
            parts["row"].append(rows)
            parts["y"].append(problem.truth[f"y{suffix}"])
            parts["query"].append(np.isin(np.arange(len(rows)), queries))
            parts["draw"].append(np.full(len(rows), number))
            if f"searched{suffix}" in problem.truth:
                parts.setdefault("searched", []).append(problem.truth[f"searched{suffix}"])
                parts.setdefault("asked", []).append(question_digests(problem.truth, suffix))
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the encoded gallery, and the row and the class of each of its rows.

        Of several draws it is the gallery of the first; rows that designated queries do not search are left out. A
        gallery that is compared block by block, as it is large, is not kept.
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

    def _sides(self, dataset: Dataset) -> list[Side]:
        """Return the rows of the negatives and of the test gallery, of every draw."""
        if not dataset.queries:
            return class_sides(dataset, self.negative_share, self.draws, self.split_seed, self.name)
        if self.draws > 1:
            raise DataError(
                f"{dataset.name} has its own negatives and designated queries; draws={self.draws} has no meaning there"
            )
        return [designated_side(dataset, "test")]

    def _problem(self, name: str, dataset: Dataset, sides: list[Side], seed: int, fold: str) -> Problem:
        """Return the problem of one or several draws; the seed shuffles the galleries."""
        return problem_of(name, dataset, sides, seed, fold, most=self.queries, split_seed=self.split_seed)

    def _answers(self, problem: Problem, outputs: Arrays) -> list[Answers]:
        """Return what the rankings of every draw show; those of the last outputs are stored."""
        if self._ranked is None or self._ranked[0] is not outputs:
            answers = [
                rank_judged(outputs[SCORES + s], judgements_of(problem.truth, s), self.k)
                for s in suffixes_of(problem.meta["draws"])
            ]
            self._ranked = outputs, answers
        return self._ranked[1]

    def _metrics(self, answers: list[Answers]) -> dict[str, list[np.ndarray]]:
        return metrics_of_queries(answers, self.k)


def metrics_of_queries(answers: Sequence[Answers], k: int) -> dict[str, list[np.ndarray]]:
    """Return every metric of every query (q,), a list over draws; their means are the metrics."""
    return {
        "mAP": [a.precision for a in answers],
        f"recall_at_{k}": [a.recall_at_k for a in answers],
        f"precision_at_{k}": [a.precision_at_k for a in answers],
        "nearest_accuracy": [a.right for a in answers],
    }


def add_tables_and_figures(
    outcome: Outcome, problem: Problem, answers: Sequence[Answers], by_query: Mapping[str, list[np.ndarray]]
) -> None:
    """Add the tables (per class, predictions, confusion) and figures to an outcome.

    ``predicted`` is the class of the nearest row that counts, ``queries`` and the rest of a class those of its queries.
    """
    names, several = problem.meta["classes"], len(answers) > 1
    suffixes = suffixes_of(len(answers))
    ys = [np.asarray(problem.truth[f"y{s}"]) for s in suffixes]
    queries = [np.asarray(problem.truth[f"queries{s}"]) for s in suffixes]
    rows = [np.asarray(problem.truth[f"row{s}"])[q] for s, q in zip(suffixes, queries, strict=True)]
    true = np.concatenate([y[q] for y, q in zip(ys, queries, strict=True)])
    predicted = np.concatenate([y[a.nearest] for y, a in zip(ys, answers, strict=True)])
    precision, recall = (np.concatenate(v) for v in list(by_query.values())[:2])
    present = np.unique(true)
    sizes = np.max([np.bincount(y, minlength=len(names)) for y in ys], axis=0)
    outcome.tables["per_class"] = Table(
        {
            "class": [names[c] for c in present],
            "rows": sizes[present].tolist(),
            "queries": [int((true == c).sum()) for c in present],
            "average_precision": [float(precision[true == c].mean()) for c in present],
            list(by_query)[1]: [float(recall[true == c].mean()) for c in present],
        }
    )
    draw = np.repeat(np.arange(1, len(answers) + 1), [len(q) for q in queries])
    score = np.concatenate([a.score for a in answers])
    more = {"average_precision": precision} | ({"draw": draw} if several else {})
    outcome.tables["predictions"] = predictions_table(names, np.concatenate(rows), true, predicted, score, **more)
    title = f"{problem.meta['dataset']}, {problem.name}"
    table, figure = confusion(true, predicted, names, f"{title}: class of the nearest row")
    outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
    lines = {
        f"draw {number}" if several else "mean over queries": (a.ranks.tolist(), a.recall_by_rank.tolist())
        for number, a in enumerate(answers, start=1)
    }
    outcome.figures["recall_by_rank"] = Curve(lines, "rows retrieved", "recall", title, logx=True)
