"""Zero-shot feature selection: features ranked on seen classes are judged by how rows of unseen classes cluster.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y, S | ``X``, ``y``, ``S`` | (n, d), (n,), (c, a) | seen rows, their classes, signatures: what the selector sees |
| | ``row_signatures`` | (n, a) | signatures by row, where the signature set is per image |
| | ``X_unseen`` | (m, d) | rows of unseen classes, scaled as asked for; clustered, never shown to the selector |
| | ``y_unseen``, ``row_unseen`` | (m,) | truth: class and data set row of the unseen rows |
| | ``group_unseen`` | (m,) | truth: group of the unseen rows, where the data set has groups |

Protocol of Wang et al., "Zero-shot Feature Selection via Transferring Supervised Knowledge", section 6: k-means with as
many clusters as unseen classes on the best 5, 10, ..., 50 features, 20 random starts, averaged. Validation repeats it
with classes of the training rows held out, so that hyperparameters are never chosen on the unseen classes.

The paper names no scaling, so rows are clustered on features as they are (``scaling``), the same for every selector.
Held-out seen classes speak for it, too: of four sets whose features share a unit, random features cluster better as
they are than standardised on two, and equally well on the others. Features in different units want ``standardise``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.preprocessing import Preprocessing, after_steps, fit_steps, parse_steps
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, OutcomeWarning, UsageError
from zslplat.families.selection.outcomes import (
    class_predictions,
    cluster_by_features,
    curve_figure,
    features_table,
    judge,
    row_outcomes,
)
from zslplat.figures import Table
from zslplat.kinds import protocol_of
from zslplat.metrics.accuracy import expected_random_accuracy, look_at_ranked_features
from zslplat.registry import known_as
from zslplat.space import Choice, Integer, Optional, Real, Space, Text, parameter
from zslplat.tasks.base import Arrays, Metric, ModelContent, Outcome, Problem, real_numbers
from zslplat.tasks.row_outcomes import RowOutcomes, groups_of
from zslplat.tasks.splits import ClassTask, class_folds, count_of_unseen, fold_rows, split_rows


class FeatureSelection(ClassTask):
    r"""Clustering of unseen rows on features that were ranked on seen classes.

    Metrics: ``clustering_accuracy`` (primary) and ``nmi`` (by the larger entropy), ``nmi_arithmetic``, means over all
    numbers of features and all starts. Chance is the accuracy of random clusters.

    One split of the classes has no interval: a cluster is one of all rows, and its agreement with the classes no mean
    over rows. Other draws of the classes are data sets, ``redrawn(of=..., draw=3)``: ``bench --draws 10`` tunes on each
    and puts an interval around the mean.

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
        Preprocessing(features=parse_steps(self.scaling))  # refuses unknown steps

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold of the training rows; the seed draws folds, rows and starts.

        Of the test, drawn folds know how many unseen classes it has, and nothing else.
        """
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
        """Build the test problem: all training rows, and the rows of ``test_unseen`` to be clustered."""
        train, unseen = (split_rows(dataset, name, f"task {self.name}") for name in ("train", "test_unseen"))
        return self._problem("test", dataset, train, unseen, (self.repeats, self.rows), seed)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return the selector's sufficient statistics."""
        method.features_taken = max(problem.meta["counts"])
        return dict(protocol_of(method.kind).prepare_fit(method, problem.inputs, space))

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Rank the features and cluster the unseen rows; yield scores, ranking and clusters."""
        inputs, meta = problem.inputs, problem.meta
        method.features_taken = max(meta["counts"])
        protocol_of(method.kind).fit(method, inputs, dict(statistics) or None)
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
        yield 1, outputs

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of :func:`~zslplat.families.selection.outcomes.judge`."""
        return ("clustering_accuracy", "nmi", "nmi_arithmetic")

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return the means over numbers of features and starts; ``full`` adds curve, features and predictions."""
        judged = judge(problem, outputs)
        look_at_ranked_features(outputs["scores"])
        outcome = Outcome(judged.metrics)
        if full:
            outcome.tables |= {
                "curve": Table(judged.curve),
                "features": features_table(outputs["ranking"], outputs["scores"]),
                "predictions": class_predictions(problem, outputs),
            }
            outcome.figures["curve"] = curve_figure(judged.curve, f"{problem.meta['dataset']}, {problem.name}")
        return outcome

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the unseen rows and their classes."""
        return {name: problem.truth[name] for name in ("y_unseen", "row_unseen")}

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns, at most 24 bytes a row: the class by vote of all clusterings, and its share."""
        return row_outcomes(problem, outputs)

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the numbers of features that are taken."""
        return ModelContent(facts={"counts": list(problem.meta["counts"])})

    def chance(self, problem: Problem) -> float:
        """Return the mean accuracy of random clusters under the best matching, not known of other metrics.

        It is above 1 / classes for few rows.
        """
        if self.primary.name != "clustering_accuracy":
            return math.nan
        return expected_random_accuracy(problem.truth["y_unseen"], len(problem.meta["classes"]))

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


def labelled_rows(dataset: Dataset, train: np.ndarray, ratio: float, by: str, seed: int) -> np.ndarray:
    """Return the share of the training rows that is labelled, by rows of every class or by whole classes."""
    if ratio == 1:
        return train
    y, generator = dataset.y[train], np.random.default_rng([seed, 9])
    classes = np.unique(y)
    if by == "classes":
        labelled = generator.permutation(classes)[: max(2, round(ratio * len(classes)))]
        return train[np.isin(y, labelled)]
    chosen = []
    for label in classes:
        rows = train[y == label]
        chosen.append(generator.permutation(rows)[: max(1, round(ratio * len(rows)))])
    return np.sort(np.concatenate(chosen))
