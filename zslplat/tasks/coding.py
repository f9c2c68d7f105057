"""Classification by coding: accuracy on held-out samples, validation inside the training half.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y | ``X``, ``y`` | (n, d) or (n, p, p), (n,) | training rows, classes 0..c-1 |
| | ``X_pool`` | (m, d) or (m, p, p) | rows to be scored, in a seeded random order |
| | ``y_pool``, ``row_pool`` | (m,) | truth: class and data set row of each row of ``X_pool`` |
| | ``group_pool`` | (m,) | truth: group of each row of ``X_pool``, where the data set has groups |

Where several splits are scored, the arrays of split r > 1 have the suffix ``:r``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.rows import taken
from zslplat.errors import DataError, MethodError
from zslplat.methods.base import require_kind
from zslplat.methods.protocols import CodingProtocol
from zslplat.metrics.accuracy import class_accuracies, per_class_accuracy, sample_accuracy
from zslplat.metrics.degenerate import look_at_scores
from zslplat.metrics.ranking import class_rankings, mean_average_precision
from zslplat.metrics.resampling import resampled_means
from zslplat.registry import known_as
from zslplat.space import BOOLEAN, Integer, Optional, Parameter, Real, Space
from zslplat.tables import Table
from zslplat.tasks.array_names import prefixed, selected, suffixes_of
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem, Task
from zslplat.tasks.predictions import confusion, predictions_table
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns, groups_of
from zslplat.tasks.sample_splits import split_by_sample, stratified_folds

CALLS = CodingProtocol()


class Coding(Task):
    """Accuracy of a coding method (``accuracy``), with the mean per-class accuracy beside it.

    Training and test rows are the data set's own, or drawn by class. ``split`` says which of the drawn splits is
    used; a study tunes inside its training half, so that a mean over splits that are tuned one by one is free of
    leaks. ``splits`` scores so many of them, from ``split`` on, with the parameters found in the first: then the test
    rows of one split may have been validation rows of another, as in the usual protocol of repeated splits.
    One class per row: the residual and the nearest-neighbour rule choose one, so that data with several labels per row
    are refused; ``ranking`` adds the mAP that such data are usually judged by, one class against the rest.
    Protocol: Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", section 4.
    """

    name = "coding"
    summary = "classification by codes: accuracy on held-out samples, repeated splits by sample"
    citation = "Harandi and Salzmann, Kernel Coding: General Formulation and Special Cases (ACCV 2014)"
    kind = "coding"
    primary = Metric("accuracy")
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "folds": Parameter("validation folds inside the training rows, each row held out once", Integer(2), default=3),
        "train_share": Parameter(
            "share of every class that trains, where splits are drawn", Real(0.0, 0.99, open_low=True), default=0.5
        ),
        "train_per_class": Parameter(
            "rows of every class that train; none takes train_share", Optional(Integer(1)), default=None
        ),
        "split": Parameter("which of the drawn splits", Integer(1), default=1),
        "splits": Parameter("number of drawn splits that the test problem holds, from split on", Integer(1), default=1),
        "ranking": Parameter("also report mAP: the rows ranked by their score for each class", BOOLEAN, default=False),
    }
    folds: int
    train_share: float
    train_per_class: int | None
    split: int
    splits: int
    ranking: bool

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return one group of arrays for every split, each with its own training rows."""
        return tuple((f"X{suffix}", f"X_pool{suffix}") for suffix in suffixes_of(self.splits))

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per stratified fold of the training rows; the seed draws splits, folds and row order."""
        rows, _ = self._rows(dataset, self.split, seed)
        groups = None if dataset.groups is None else dataset.groups[rows]
        problems = []
        for number, (stay, held) in enumerate(stratified_folds(dataset.y[rows], groups, self.folds, seed), start=1):
            arrays = _arrays(dataset, rows[stay], rows[held], np.unique(dataset.y[rows]), seed)
            problems.append(_problem(f"fold-{number}", dataset, dataset.y[rows], {"": arrays}))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows against the test rows, of every split that is asked for."""
        parts = {}
        labels = np.zeros(0, dtype=np.int64)
        for offset, suffix in enumerate(suffixes_of(self.splits)):
            train, test = self._rows(dataset, self.split + offset, seed)
            labels = dataset.y[train]
            parts[suffix] = _arrays(dataset, train, test, np.unique(labels), seed)
        return _problem("test", dataset, labels, parts)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` and ``score/...`` for every split."""
        require_kind(type(method), self.kind, self.name)
        prepared: Arrays = {}
        for suffix in suffixes_of(problem.meta["splits"]):
            inputs = {name: problem.inputs[name + suffix] for name in ("X", "y", "X_pool")}
            own = copy.deepcopy(method)
            fitted = CALLS.prepare_fit(own, inputs, space)
            scored = CALLS.prepare_score(own, inputs, space, fitted)
            for prefix, arrays in (("fit", fitted), ("score", scored)):
                prepared |= prefixed(f"{prefix}{suffix}/", arrays)
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and score every split; outputs are ``scores`` (m, c) with the suffix of each split.

        Raises :class:`MethodError` for scores of wrong shape, NaN or infinity.
        """
        require_kind(type(method), self.kind, self.name)
        outputs: Arrays = {}
        # The last fit is that of the first split, so that its matrices are the ones that are logged.
        for suffix in reversed(suffixes_of(problem.meta["splits"])):
            inputs = {name: problem.inputs[name + suffix] for name in ("X", "y", "X_pool")}
            # Rows that are scored in one split have their labels in another.
            own = copy.deepcopy(method) if suffix else method
            CALLS.fit(own, inputs, selected(f"fit{suffix}/", statistics))
            scores = np.asarray(CALLS.score(own, inputs, selected(f"score{suffix}/", statistics))["scores"])
            expected = (len(inputs["X_pool"]), len(problem.meta["classes"]))
            if scores.shape != expected or not np.isfinite(scores).all():
                raise MethodError(
                    f"{known_as(type(method))} returned scores of shape {scores.shape}, finite: "
                    f"{bool(np.isfinite(scores).all())}; expected finite scores of shape {expected}"
                )
            outputs[f"scores{suffix}"] = scores
        yield 1, outputs

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return accuracy, mean per-class accuracy and, on request, mAP; their spread over several splits, too."""
        names = problem.meta["classes"]
        suffixes = suffixes_of(problem.meta["splits"])
        for s in suffixes:
            look_at_scores(outputs[f"scores{s}"], problem.truth[f"y_pool{s}"])
        by_split = [self._metrics(outputs[f"scores{s}"], problem.truth[f"y_pool{s}"]) for s in suffixes]
        metrics = {name: float(np.mean([m[name] for m in by_split])) for name in by_split[0]}
        if len(by_split) > 1:
            metrics |= {f"{name}_std": float(np.std([m[name] for m in by_split], ddof=1)) for name in by_split[0]}
        outcome = Outcome(metrics)
        if not full:
            return outcome
        y = _joined(problem.truth, "y_pool", suffixes)
        predicted, score, split = _predicted(problem, outputs, suffixes)
        accuracies, counts = class_accuracies(y, predicted, len(names))
        outcome.tables["per_class"] = Table({"class": names, "rows": counts.tolist(), "accuracy": accuracies.tolist()})
        rows = _joined(problem.truth, "row_pool", suffixes)
        more = {"split": split} if len(suffixes) > 1 else {}
        outcome.tables["predictions"] = predictions_table(names, rows, y, predicted, score, **more)
        if len(by_split) > 1:
            numbers = [self.split + i for i in range(len(suffixes))]
            columns = {name: [m[name] for m in by_split] for name in by_split[0]}
            outcome.tables["splits"] = Table({"split": numbers, **columns})
        title = f"{problem.meta['dataset']}, {problem.name}"
        outcome.tables["confusion"], outcome.figures["confusion"] = confusion(y, predicted, names, title)
        return outcome

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their classes, apart for every split."""
        suffixes, classes = suffixes_of(problem.meta["splits"]), len(problem.meta["classes"])
        strata = [problem.truth[f"y_pool{s}"] + i * classes for i, s in enumerate(suffixes)]
        return {"id": _joined(problem.truth, "row_pool", suffixes), "stratum": np.concatenate(strata)}

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns and ``split`` (int32, from 1 on), split by split: at most 28 bytes a row."""
        suffixes, truth = suffixes_of(problem.meta["splits"]), problem.truth
        predicted, score, split = _predicted(problem, outputs, suffixes)
        row, true = (_joined(truth, name, suffixes) for name in ("row_pool", "y_pool"))
        group = _joined(truth, "group_pool", suffixes) if "group_pool" in truth else None
        columns = common_columns(row, true, predicted, score, group)
        meta = {"classes": list(problem.meta["classes"]), "splits": len(suffixes)}
        return RowOutcomes({**columns, "split": split.astype(np.int32)}, meta)

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the data set's rows and their classes, apart for every split."""
        row, true, split = (outcomes.columns[name] for name in ("row", "true", "split"))
        return row, true + (split - 1) * len(outcomes.meta["classes"])

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return accuracy and mean per-class accuracy (b,) of each draw, as means over the splits."""
        true, split = outcomes.columns["true"], outcomes.columns["split"]
        correct = outcomes.columns["predicted"] == true
        metrics: dict[str, list[np.ndarray]] = {"accuracy": [], "per_class_accuracy": []}
        for number in range(1, outcomes.meta["splits"] + 1):
            own = split == number
            metrics["accuracy"].append(resampled_means(counts[:, own], correct[own]))
            metrics["per_class_accuracy"].append(resampled_means(counts[:, own], correct[own], true[own]))
        return {name: np.mean(values, axis=0) for name, values in metrics.items()}

    def export(self, method: Any, problem: Problem, folder: Path) -> None:
        """Write the codes of the scored rows as ``scored_codes.npz``: ``codes`` (m, N) in the order of ``row`` (m,).

        With several splits they are those of the first, as are the matrices.
        """
        rows = problem.truth["row_pool"]
        order = np.argsort(rows)
        codes = np.asarray(method.transform(problem.inputs["X_pool"]))[order]
        np.savez_compressed(folder / "scored_codes.npz", codes=codes, row=rows[order])

    def chance(self, problem: Problem) -> float:
        """Return 1 / number of classes."""
        return 1.0 / len(problem.meta["classes"])

    def _metrics(self, scores: np.ndarray, y: np.ndarray) -> dict[str, float]:
        predicted = scores.argmax(axis=1)
        metrics = {
            "accuracy": sample_accuracy(y, predicted),
            "per_class_accuracy": per_class_accuracy(y, predicted),
        }
        if self.ranking:
            metrics["mAP"] = mean_average_precision(class_rankings(scores, y))
        return metrics

    def _rows(self, dataset: Dataset, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return split_by_sample(dataset, number, share=self.train_share, per_class=self.train_per_class, seed=seed)


def _arrays(
    dataset: Dataset, train: np.ndarray, pool: np.ndarray, classes: np.ndarray, seed: int
) -> tuple[Arrays, Arrays]:
    """Return the inputs and the truth of one split; rows of a data set in memory are copied."""
    pool = np.random.default_rng([seed, 3]).permutation(pool)
    inputs = {
        "X": taken(dataset.X, train),
        "y": np.searchsorted(classes, dataset.y[train]),
        "X_pool": taken(dataset.X, pool),
    }
    truth = {"y_pool": np.searchsorted(classes, dataset.y[pool]), "row_pool": pool}
    return inputs, truth | groups_of(dataset, pool, "group_pool")


def _problem(name: str, dataset: Dataset, labels: np.ndarray, parts: Mapping[str, tuple[Arrays, Arrays]]) -> Problem:
    inputs = {key + suffix: array for suffix, (arrays, _) in parts.items() for key, array in arrays.items()}
    truth = {key + suffix: array for suffix, (_, arrays) in parts.items() for key, array in arrays.items()}
    names = [dataset.class_names[i] for i in np.unique(labels)]
    if len(names) < 2:
        raise DataError(f"{dataset.name}: the training rows hold {len(names)} class; at least two are needed")
    return Problem(name, inputs, truth, {"dataset": dataset.name, "classes": names, "splits": len(parts)})


def _joined(truth: Mapping[str, np.ndarray], name: str, suffixes: list[str]) -> np.ndarray:
    """Return an array of the truth for the rows of all splits, split by split."""
    return np.concatenate([truth[name + suffix] for suffix in suffixes])


def _predicted(problem: Problem, outputs: Arrays, suffixes: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the predicted class, its score and the number of the split of every row, split by split."""
    scores = [outputs[f"scores{s}"] for s in suffixes]
    predicted, best = (np.concatenate([of(s, axis=1) for s in scores]) for of in (np.argmax, np.max))
    return predicted, best, np.repeat(np.arange(1, len(suffixes) + 1), [len(s) for s in scores])
