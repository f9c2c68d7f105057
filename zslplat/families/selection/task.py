"""Zero-shot feature selection: features ranked on seen classes are judged by how rows of unseen classes cluster.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y, S | ``X``, ``y``, ``S`` | (n, d), (n,), (c, a) | seen rows, their classes, signatures: what the selector sees |
| | ``row_signatures`` | (n, a) | signatures by row, where the signature set is per image |
| | ``X_unseen`` | (m, d) | rows of unseen classes, scaled as asked for; clustered, never shown to the selector |
| | ``y_unseen``, ``row_unseen`` | (m,) | truth: class and data set row of the unseen rows |
| | ``group_unseen`` | (m,) | truth: group of the unseen rows, where the data set has groups |

Where the test is the mean of several draws of the classes, the arrays of draw r > 1 have the suffix ``:r``.

Protocol of Wang et al., "Zero-shot Feature Selection via Transferring Supervised Knowledge", section 6: k-means with as
many clusters as unseen classes on the best 5, 10, ..., 50 features, 20 random starts, averaged. Validation repeats it
with classes of the training rows held out, so that hyperparameters are never chosen on the unseen classes.

The paper names no scaling, so rows are clustered on features as they are (``scaling``), the same for every selector.
Held-out seen classes speak for it, too: of four sets whose features share a unit, random features cluster better as
they are than standardised on two, and equally well on the others. Features in different units want ``standardise``.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.preprocessing import Preprocessing, after_steps, fit_steps, parse_steps
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, OutcomeWarning, UsageError
from zslplat.families.selection.draws import (
    arrays_of_draw,
    joined_outcomes,
    joined_problem,
    joined_table,
    labelled_rows,
    number_of_pairs,
    parts,
    values_of_draws,
    with_drawn_classes,
    with_seen_pair,
)
from zslplat.families.selection.outcomes import cluster_by_features, curve_figure, judge, mean_curve, row_outcomes
from zslplat.figures import Table
from zslplat.kinds import protocol_of
from zslplat.metrics.accuracy import expected_random_accuracy, look_at_ranked_features
from zslplat.metrics.intervals import ClassValues
from zslplat.registry import known_as
from zslplat.space import Choice, Integer, Optional, Real, Space, Text, parameter
from zslplat.tasks.base import (
    Arrays,
    Metric,
    ModelContent,
    Outcome,
    Problem,
    mean_over_splits,
    prefixed,
    real_numbers,
    selected,
    suffixes_of,
)
from zslplat.tasks.row_outcomes import RowOutcomes, groups_of
from zslplat.tasks.splits import ClassTask, class_folds, count_of_unseen, fold_rows, split_rows

MOST_DRAWS = 1000


class FeatureSelection(ClassTask):
    r"""Clustering of unseen rows on features that were ranked on seen classes.

    Metrics: ``clustering_accuracy`` (primary) and ``nmi`` (by the larger entropy), ``nmi_arithmetic``, means over all
    numbers of features and all starts. Chance is the accuracy of random clusters.

    ``draws`` repeats the test on so many draws, or pairs, of seen classes: means over them, intervals over draws. A
    study tunes inside the seen classes of the first, some of which are unseen in another, as in the usual protocol of
    repeated splits. Studies with one draw each (``draw=1``, ``2`` ...) are free of that.

    Equations
    ---------
    Clusters of unseen rows are matched with classes: $$\max_\pi \frac{1}{n} \sum_i [\pi(k_i) = y_i]$$

    Related
    -------
    ``zsl`` asks for classes by their signatures. Methods: ``semfs``, ``mcfs``, ``lasso-attributes`` and others.
    """

    name = "feature-selection"
    summary = "features ranked on seen classes, judged by k-means on unseen rows with 5 to 50 features"
    citation = "Wang et al.: Zero-shot Feature Selection via Transferring Supervised Knowledge. 2019"
    kind = "feature-selection"
    primary = Metric("clustering_accuracy")
    preprocessed = {"features": ("X",), "signatures": ("S", "row_signatures")}
    seen = parameter(
        "which classes are seen: the data set's own split, drawn at random, or one pair of classes",
        Choice(("files", "random", "pairs")),
        default="files",
    )
    draw = parameter("number of the draw (seen=random) or of the pair (seen=pairs), from 1", Integer(1), default=1)
    draws = parameter(
        f"draws (or pairs) from that number on that the test is the mean of; none for all pairs, at most {MOST_DRAWS}",
        Optional(Integer(1, MOST_DRAWS)),
        default=1,
    )
    seen_share = parameter("seen=random: share of the classes; none: as in files", Optional(Real(0, 1)), default=None)
    labelled_ratio = parameter("share of seen rows or classes to select on", Real(0, 1, open_low=True), default=1.0)
    labelled_by = parameter("what labelled_ratio is a share of", Choice(("rows", "classes")), default="rows")
    scaling = parameter("steps for the clustered rows, fitted on seen rows; none: as they are", Text(), default="none")
    first = parameter("smallest number of features", Integer(1), default=5)
    last = parameter("largest number of features", Integer(1), default=50)
    step = parameter("step between the numbers of features", Integer(1), default=5)
    repeats = parameter("random starts of k-means on the test split", Integer(1), default=20)
    validation_repeats = parameter("random starts of k-means on validation folds", Integer(1), default=5)
    rows = parameter("unseen rows clustered at most, even over classes; none: all", Optional(Integer(2)), default=None)
    validation_rows = parameter("the same on validation folds", Optional(Integer(2)), default=2000)

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Store the options; raises :class:`UsageError` where they contradict each other or name what is unknown."""
        super().take_parameters(values)
        if self.first > self.last:
            raise UsageError(f"task {self.name}: first={self.first} is above last={self.last}; give first <= last")
        if self.draws != 1 and self.seen not in (("random", "pairs") if self.draws else ("pairs",)):
            option = "seen=random or seen=pairs" if self.draws else "seen=pairs"
            raise UsageError(f"task {self.name}: draws={self.draws or 'none'} has no meaning here; give {option}, too")
        Preprocessing(features=parse_steps(self.scaling))  # refuses unknown steps

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold of the training rows; the seed draws folds, rows and starts.

        Of the test, drawn folds know how many unseen classes it has, and nothing else.
        """
        if self.seen == "pairs":
            raise DataError(
                f"task {self.name}: with two seen classes none are left to validate on; give the hyperparameters and "
                "score the test split"
            )
        dataset = self._with_split(dataset, self.draw)
        rows = split_rows(dataset, "train", f"task {self.name}")
        problems = []
        tested = count_of_unseen(dataset)
        folds = class_folds(dataset, rows, self.folds, self.validation_classes, seed, tested=tested)
        for number, fold in enumerate(folds, start=1):
            train, held_out = fold_rows(dataset, rows, fold)
            name, limits = f"fold-{number}", (self.validation_repeats, self.validation_rows)
            problems.append(self._problem(name, dataset, train, held_out, limits, seed))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows, and the rows of ``test_unseen`` to be clustered, of every draw."""
        problems = []
        for number in self._numbers(dataset):
            split = self._with_split(dataset, number)
            train = split_rows(split, "train", f"task {self.name}")
            unseen = split_rows(split, "test_unseen", f"task {self.name}")
            problems.append(self._problem("test", split, train, unseen, (self.repeats, self.rows), seed))
        return joined_problem(problems)

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return one group of arrays for every draw, each with its own seen rows."""
        suffixes = suffixes_of(self.draws or MOST_DRAWS)
        return tuple(tuple(name + suffix for name in self.preprocessed[role]) for suffix in suffixes)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return the selector's sufficient statistics; of several draws under ``fit:r/...`` for each."""
        prepared: Arrays = {}
        draws = parts(problem)
        for suffix, part in draws:
            fresh = method if len(draws) == 1 else copy.deepcopy(method)
            fresh.features_taken = max(part.meta["counts"])
            arrays = protocol_of(method.kind).prepare_fit(fresh, part.inputs, space)
            prepared |= arrays if len(draws) == 1 else prefixed(f"fit{suffix}/", arrays)
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Rank the features and cluster the unseen rows; yield scores, ranking and clusters, of every draw."""
        draws = parts(problem)
        outputs: Arrays = {}
        # The first draw comes last, so that its selector is the one that is kept; others are copies that saw nothing.
        for suffix, part in reversed(draws):
            fresh = copy.deepcopy(method) if suffix else method
            prepared = dict(statistics) if len(draws) == 1 else selected(f"fit{suffix}/", statistics)
            outputs |= {name + suffix: value for name, value in self._selected(fresh, part, prepared or None).items()}
        yield 1, outputs

    def _selected(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray] | None) -> Arrays:
        """Return what a selector makes of one draw."""
        inputs, meta = problem.inputs, problem.meta
        method.features_taken = max(meta["counts"])
        protocol_of(method.kind).fit(method, inputs, statistics)
        method_name = known_as(type(method))
        returned = protocol_of(method.kind).score(method, inputs, None)
        outputs = {name: real_numbers(method_name, values, f"a {name}") for name, values in returned.items()}
        ranking = outputs["ranking"]
        chosen = int(np.count_nonzero(outputs["scores"] > 0))
        if chosen < method.features_taken:
            rest = "the rest come in the order in which they might follow; choose a setting that selects more"
            text = f"{chosen} features were chosen and {method.features_taken} are taken: {rest}"
            warnings.warn(OutcomeWarning(text, "ZSP210"), stacklevel=2)
        outputs["clusters"] = cluster_by_features(
            inputs["X_unseen"],
            ranking,
            meta["counts"],
            clusters=len(meta["classes"]),
            repeats=meta["repeats"],
            seed=meta["seed"],
        )
        return outputs

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of :func:`~zslplat.families.selection.outcomes.judge`; of several draws deviations,
        too."""
        names = ("clustering_accuracy", "nmi", "nmi_arithmetic")
        return (*names, *(f"{name}_std" for name in names if self.draws != 1))

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return the means over numbers of features, starts and draws; ``full`` adds curve, features and predictions.

        Of several draws the standard deviations come beside the means, and a table has the values of each.
        """
        judged = [judge(part, arrays_of_draw(outputs, suffix)) for suffix, part in parts(problem)]
        for one in judged:
            look_at_ranked_features(one.outputs["scores"])
        by_draw = {name: [one.metrics[name] for one in judged] for name in judged[0].metrics}
        outcome = Outcome(mean_over_splits(by_draw))
        several = len(judged) > 1
        if full:
            curve = mean_curve([one.curve for one in judged])
            outcome.tables["curve"] = Table(curve)
            for name in ("features", "predictions"):
                tables = [getattr(one, name)() for one in judged]
                outcome.tables[name] = joined_table(tables) if several else tables[0]
            if several:
                numbers = list(range(self.draw, self.draw + len(judged)))
                seen = [", ".join(one.problem.meta["seen_classes"]) for one in judged]
                outcome.tables["draws"] = Table({"draw": numbers, "seen": seen, **by_draw})
            outcome.figures["curve"] = curve_figure(curve, f"{problem.meta['dataset']}, {problem.name}")
        return outcome

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the unseen rows and their classes, and in which draw, where there are several."""
        draws = parts(problem)
        arrays = {n: np.concatenate([part.truth[n] for _, part in draws]) for n in ("y_unseen", "row_unseen")}
        if len(draws) > 1:
            sizes = [len(part.truth["row_unseen"]) for _, part in draws]
            arrays["draw"] = np.repeat(np.arange(len(draws)), sizes)
        return arrays

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns, at most 24 bytes a row: the class by vote of all clusterings, its share of votes.

        Of several draws the column ``draw`` adds 4 bytes, and ``meta`` keeps the metrics of each.
        """
        draws = [(part, arrays_of_draw(outputs, suffix)) for suffix, part in parts(problem)]
        by_draw = [row_outcomes(*draw) for draw in draws]
        if len(by_draw) == 1:
            return by_draw[0]
        judged = [judge(*draw).metrics for draw in draws]
        return joined_outcomes(by_draw, {name: [metrics[name] for metrics in judged] for name in judged[0]})

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the numbers of features that are taken."""
        return ModelContent(facts={"counts": list(problem.meta["counts"])})

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the draws, where there are several.

        Within a draw nothing is resampled: a cluster is one of all rows, and its agreement with the classes no mean
        over rows.
        """
        by_draw = outcomes.meta.get("by_draw")
        if by_draw is None:
            return None
        count = len(next(iter(by_draw.values())))
        return np.arange(count), np.zeros(count, dtype=np.int64)

    def things(self, outcomes: RowOutcomes) -> None:
        """Draws are what is drawn, and no row."""
        return

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) as means over drawn draws."""
        return {name: counts @ np.asarray(v) / len(v) for name, v in outcomes.meta["by_draw"].items()}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues | None:
        """Return the values of the draws of unseen classes, where there are several: a draw is a set of new classes."""
        return values_of_draws(outcomes)

    def chance(self, problem: Problem) -> float:
        """Return the mean accuracy of random clusters under the best matching, not known of other metrics.

        It is above 1 / classes for few rows.
        """
        if self.primary.name != "clustering_accuracy":
            return math.nan
        values = [expected_random_accuracy(p.truth["y_unseen"], len(p.meta["classes"])) for _, p in parts(problem)]
        return float(np.mean(values))

    def _numbers(self, dataset: Dataset) -> range:
        """Return the numbers of the draws that the test is the mean of."""
        count = self.draws
        if count is None:
            count = number_of_pairs(dataset) - self.draw + 1
            if not 1 <= count <= MOST_DRAWS:
                raise UsageError(
                    f"task {self.name}: {dataset.name} has {number_of_pairs(dataset)} pairs of classes, of which "
                    f"draw={self.draw} leaves {count}; give draws=1 to {MOST_DRAWS}"
                )
        return range(self.draw, self.draw + count)

    def _with_split(self, dataset: Dataset, number: int) -> Dataset:
        if self.seen == "random":
            return with_drawn_classes(dataset, self.seen_share, number)
        return with_seen_pair(dataset, number) if self.seen == "pairs" else dataset

    def _problem(
        self,
        name: str,
        dataset: Dataset,
        train: np.ndarray,
        unseen: np.ndarray,
        limits: tuple[int, int | None],
        seed: int,
    ) -> Problem:
        repeats, most = limits
        if dataset.X.ndim != 2:
            raise DataError(f"{dataset.name}: features must be vectors, got X of shape {dataset.X.shape}")
        train = labelled_rows(dataset, train, self.labelled_ratio, self.labelled_by, seed)
        seen_ids, y = np.unique(dataset.y[train], return_inverse=True)
        unseen_ids = np.unique(dataset.y[unseen])
        for side, ids in (("seen", seen_ids), ("unseen", unseen_ids)):
            if len(ids) < 2:
                raise DataError(f"{dataset.name}: {name} has {len(ids)} {side} class; at least two are needed")
        from zslplat.families.selection.methods.base import drawn_rows

        unseen = unseen[drawn_rows(np.searchsorted(unseen_ids, dataset.y[unseen]), most, seed)]
        unseen_ids, y_unseen = np.unique(dataset.y[unseen], return_inverse=True)
        raw, raw_unseen = take_rows(dataset.X, train), take_rows(dataset.X, unseen)
        signatures = ClassSignatures(dataset, self.signatures)
        inputs: dict[str, Any] = {
            "X": raw,
            "y": y,
            "S": signatures.of_classes(seen_ids, train),
            "X_unseen": after_steps(fit_steps(parse_steps(self.scaling), raw), raw_unseen),
        }
        if signatures.per_row:
            inputs["row_signatures"] = signatures.values[train]
        counts = [count for count in range(self.first, self.last + 1, self.step) if count <= raw.shape[1]]
        if not counts:
            raise DataError(f"{dataset.name} has {raw.shape[1]} features, fewer than first={self.first}; lower first")
        meta = {
            "dataset": dataset.name,
            "classes": [dataset.class_names[i] for i in unseen_ids],
            "seen_classes": [dataset.class_names[i] for i in seen_ids],
            "counts": counts,
            "repeats": repeats,
            "seed": seed,
        }
        truth = {"y_unseen": y_unseen, "row_unseen": unseen} | groups_of(dataset, unseen, "group_unseen")
        return Problem(name, inputs, truth, meta)


class ClassSignatures:
    """A signature set as one row per class: several rows of a class, or those of its images, are averaged."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        signatures = dataset.signature_set(name)
        self.values, self.per_row, self.y = np.asarray(signatures.values), signatures.per_row, dataset.y
        self.described = np.arange(len(signatures.values)) if signatures.classes is None else signatures.classes

    def of_classes(self, ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return (len(ids), a); for signatures by image, the means over those of ``rows``."""
        values, described = (self.values[rows], self.y[rows]) if self.per_row else (self.values, self.described)
        return np.stack([values[described == label].mean(axis=0, dtype=np.float64) for label in ids])
