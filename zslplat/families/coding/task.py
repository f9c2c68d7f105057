"""Classification by coding: accuracy or mAP on held-out samples, validation inside the training half.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y | ``X``, ``y`` | (n, d) or (n, p, p), (n,) | training rows, classes 0..c-1 |
| | ``X_pool`` | (m, d) or (m, p, p) | rows to be scored, in a seeded random order |
| | ``y_pool``, ``row_pool`` | (m,) | truth: class and data set row of each row of ``X_pool`` |
| | ``group_pool`` | (m,) | truth: group of each row of ``X_pool``, where the data set has groups |

Where rows have several labels, ``y`` (n, c) and ``y_pool`` (m, c) hold 1 for those that a row has, 0 for the others and
-1 for entries that are not counted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, MethodError
from zslplat.families.coding.label_forms import AREA, ELEVEN_POINT, LabelForm, OneClass, Scored, SeveralLabels
from zslplat.families.coding.sample_splits import split_by_sample, validation_splits
from zslplat.kinds import protocol_of, require_kind
from zslplat.metrics.intervals import ClassValues
from zslplat.registry import known_as
from zslplat.space import BOOLEAN, Choice, Integer, Optional, Real, Space, parameter
from zslplat.tasks.base import Arrays, Metric, ModelContent, Outcome, Problem, Task, prefixed, real_numbers, selected
from zslplat.tasks.row_outcomes import RowOutcomes, groups_of


class Coding(Task):
    r"""Accuracy of a coding method (``accuracy``), with the mean per-class accuracy beside it.

    Training and test rows are the data set's own, or drawn by class. ``split`` says which of the drawn splits is
    used, or which of the data set's own folds is tested; a study tunes inside its training half, so that a mean over
    splits that are tuned one by one (``zslplat cross-validate``) is free of leaks. Own folds stay whole inside
    validation, too.

    Where rows have several labels, each is ranked against the rest, and the primary metric is the mean over the labels
    of the average precision: ``mAP``, the mean precision at the relevant rows, which is what all tasks here call so,
    whose replicates vary smoothly and whose value at chance is known; or, with ``average_precision=eleven-point``,
    ``mAP_11pt``, the official measure of PASCAL VOC2007. Both are reported. Labels that are not counted for a row
    (VOC's "difficult") are left out of training and of scoring for that label alone. A method that takes no sets of
    labels is fitted once per label. ``ranking`` adds the mAP where rows have one class.
    Protocol: Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", section 4.

    Equations
    ---------
    A held-out row is given the class with the largest score, and right answers are counted; where rows have several
    labels, the rows are ranked for each label:

    $$\mathrm{acc} = \frac{1}{n} \sum_i [\hat y(x_i) = y_i], \qquad \mathrm{mAP} = \frac{1}{c} \sum_{l} \mathrm{AP}_l$$

    Related
    -------
    ``zsl`` holds out classes in place of rows. Methods of kind coding: ``ksc``, ``kllc``, ``kbow`` and others.
    """

    name = "coding"
    summary = "classification by codes: accuracy on held-out samples, or mAP over labels; splits by sample"
    citation = "Harandi and Salzmann, Kernel Coding: General Formulation and Special Cases (ACCV 2014)"
    kind = "coding"
    takes_scores = True
    preprocessed: ClassVar[Mapping[str, tuple[str, ...]]] = {"features": ("X", "X_pool")}
    primary = Metric("accuracy")
    folds = parameter("validation folds inside the training rows, each row held out once", Integer(2), default=3)
    train_share = parameter(
        "share of every class that trains, where splits are drawn", Real(0.0, 0.99, open_low=True), default=0.5
    )
    train_per_class = parameter("rows of a class that train; none: train_share", Optional(Integer(1)), default=None)
    split = parameter("which of the drawn splits, or which of the data set's own folds", Integer(1), default=1)
    ranking = parameter("also report mAP: the rows ranked by their score for each class", BOOLEAN, default=False)
    average_precision = parameter(
        "what is tuned where rows have several labels: mean precision at the relevant rows, or VOC2007's 11 points",
        Choice(("area", "eleven-point")),
        default="area",
    )

    def suited(self, data: Dataset | Problem) -> Coding:
        """Return the task with mAP for its primary metric where rows have several labels."""
        if "primary" in vars(self):  # it was chosen, or found to suit before
            return self
        several = data.y.ndim == 2 if isinstance(data, Dataset) else data.meta.get("labels") == SeveralLabels.name
        if not several:
            return self
        task = copy.copy(self)
        task.primary = self._ranked
        return task

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per stratified fold of the training rows; the seed draws splits, folds and row order."""
        rows, _ = self._rows(dataset, seed)
        pairs = validation_splits(dataset, rows, self.split, self.folds, seed)
        classes = _classes(dataset, rows)
        return [
            _problem(f"fold-{number}", dataset, stay, held_out, classes, seed)
            for number, (stay, held_out) in enumerate(pairs, start=1)
        ]

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows of the split against its test rows."""
        train, test = self._rows(dataset, seed)
        return _problem("test", dataset, train, test, _classes(dataset, train), seed)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` and ``score/...``; nothing where the method is fitted once per label."""
        require_kind(type(method), self.kind, self.name)
        if _fitted_by_label(method, problem):
            return {}
        fitted = protocol_of(method.kind).prepare_fit(method, problem.inputs, space)
        scored = protocol_of(method.kind).prepare_score(method, problem.inputs, space, fitted)
        return prefixed("fit/", fitted) | prefixed("score/", scored)

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and score; the output is ``scores`` (m, c).

        Raises :class:`MethodError` for scores of wrong shape, NaN or infinity.
        """
        require_kind(type(method), self.kind, self.name)
        inputs = problem.inputs
        if _fitted_by_label(method, problem):
            yield 1, {"scores": _scores_by_label(method, inputs)}
            return
        protocol_of(method.kind).fit(method, inputs, selected("fit/", statistics))
        returned = protocol_of(method.kind).score(method, inputs, selected("score/", statistics))["scores"]
        yield 1, {"scores": usable_scores(method, returned, len(inputs["X_pool"]), len(problem.meta["classes"]))}

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics of both forms of labels."""
        return ("accuracy", "per_class_accuracy", AREA, ELEVEN_POINT)

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return the metrics of the form of labels."""
        form, scored = self._form(problem), _scored(problem, outputs)
        form.look(scored.scores, scored.truth, scored.names)
        outcome = Outcome(form.metrics(scored.scores, scored.truth))
        if full:
            form.fill(outcome, scored, f"{problem.meta['dataset']}, {problem.name}")
        return outcome

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their classes or labels."""
        return self._form(problem).scored_rows(problem.truth["y_pool"], problem.truth["row_pool"])

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return what the form of labels keeps: 24 bytes a row, or 5 c + 12 where rows have several labels."""
        return self._form(problem).outcomes(_scored(problem, outputs))

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray]:
        """Return the data set's rows; classes keep their sizes."""
        return self._form(outcomes).units(outcomes)

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics (b,) of each draw."""
        return self._form(outcomes).resampled(outcomes, counts)

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return values per class, or per label where rows have several."""
        return self._form(outcomes).class_values(outcomes)

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the names of the classes; a method that is fitted once per label is not there as a whole."""
        if _fitted_by_label(method, problem):
            return ModelContent(left_out="rows have several labels, and the method was fitted once for each of them")
        return ModelContent(facts={"classes": list(problem.meta["classes"])})

    def export(self, method: Any, problem: Problem, folder: Path) -> None:
        """Write the codes of the scored rows as ``scored_codes.npz``: ``codes`` (m, N) in the order of ``row`` (m,)."""
        rows = problem.truth["row_pool"]
        order = np.argsort(rows)
        codes = np.asarray(method.transform(problem.inputs["X_pool"]))[order]
        np.savez_compressed(folder / "scored_codes.npz", codes=codes, row=rows[order])

    def chance(self, problem: Problem) -> float:
        """Return 1 / number of classes; for several labels what random rankings reach, near the mean prevalence."""
        form, names, primary = self._form(problem), problem.meta["classes"], self.suited(problem).primary
        return form.chance(problem.truth["y_pool"], names, primary)

    @property
    def _ranked(self) -> Metric:
        return Metric(AREA if self.average_precision == "area" else ELEVEN_POINT)

    def _form(self, judged: Problem | RowOutcomes) -> LabelForm:
        several = judged.meta.get("labels") == SeveralLabels.name
        return SeveralLabels() if several else OneClass(self.ranking)

    def _rows(self, dataset: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return split_by_sample(dataset, self.split, share=self.train_share, per_class=self.train_per_class, seed=seed)


def _fitted_by_label(method: Any, problem: Problem) -> bool:
    """Tell whether rows have several labels and the method takes one class per row."""
    return problem.meta.get("labels") == SeveralLabels.name and not getattr(method, "label_sets", False)


def _scores_by_label(method: Any, inputs: Mapping[str, Any]) -> np.ndarray:
    """Fit each label against the rest, on the rows for which it counts, and return scores (m, c).

    The last fit is that of the first label, so that its matrices are the ones that are logged.
    """
    X, y, pool = (inputs[name] for name in ("X", "y", "X_pool"))
    scores = np.empty((len(pool), y.shape[1]))
    for label in reversed(range(y.shape[1])):
        fresh = copy.deepcopy(method) if label else method
        rows = np.flatnonzero(y[:, label] >= 0)
        part = {"X": X if len(rows) == len(y) else take_rows(X, rows), "y": y[rows, label], "X_pool": pool}
        protocol_of(method.kind).fit(fresh, part, None)
        both = usable_scores(method, protocol_of(method.kind).score(fresh, part, None)["scores"], len(pool), 2)
        scores[:, label] = both[:, 1] - both[:, 0]
    return scores


def usable_scores(method: Any, scores: Any, rows: int, classes: int) -> np.ndarray:
    """Return scores (rows, classes); raises :class:`MethodError` for another shape or type, NaN or infinity."""
    numbers = real_numbers(known_as(type(method)), scores)
    if numbers.shape != (rows, classes) or not np.isfinite(numbers).all():
        raise MethodError(
            f"{known_as(type(method))} returned scores of shape {numbers.shape}, finite: "
            f"{bool(np.isfinite(numbers).all())}; expected finite scores of shape {(rows, classes)}"
        )
    return numbers


def _classes(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Return the classes of some rows, in ascending order; all labels where rows have several."""
    return np.unique(dataset.y[rows]) if dataset.y.ndim == 1 else np.arange(dataset.y.shape[1])


def _problem(
    name: str, dataset: Dataset, train: np.ndarray, pool: np.ndarray, classes: np.ndarray, seed: int
) -> Problem:
    """Return the problem of training rows and scored rows; rows of a data set in memory are copied."""
    names = [dataset.class_names[i] for i in classes]
    several = {"labels": SeveralLabels.name} if dataset.y.ndim == 2 else {}
    if len(names) < 2 and not several:
        raise DataError(f"{dataset.name}: the training rows hold {len(names)} class; at least two are needed")
    pool = np.random.default_rng([seed, 3]).permutation(pool)

    def labels(rows: np.ndarray) -> np.ndarray:
        values = dataset.y[rows]
        return np.asarray(values if values.ndim == 2 else np.searchsorted(classes, values))

    inputs = {"X": take_rows(dataset.X, train), "y": labels(train), "X_pool": take_rows(dataset.X, pool)}
    truth = {"y_pool": labels(pool), "row_pool": pool} | groups_of(dataset, pool, "group_pool")
    return Problem(name, inputs, truth, {"dataset": dataset.name, "classes": names, **several})


def _scored(problem: Problem, outputs: Mapping[str, np.ndarray]) -> Scored:
    truth = problem.truth
    names = problem.meta["classes"]
    return Scored(outputs["scores"], truth["y_pool"], truth["row_pool"], names, truth.get("group_pool"))
