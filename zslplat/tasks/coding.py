"""Classification by coding: accuracy on held-out samples, validation inside the training half.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y | ``X``, ``y`` | (n, d) or (n, p, p), (n,) | training rows, classes 0..c-1 |
| | ``X_pool`` | (m, d) or (m, p, p) | rows to be scored, in a seeded random order |
| | ``y_pool``, ``row_pool`` | (m,) | truth: class and data set row of each row of ``X_pool`` |

Where several splits are scored, the arrays of split r > 1 have the suffix ``:r``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError, MethodError
from zslplat.figures import MatrixFigure
from zslplat.methods.base import require_kind
from zslplat.metrics.accuracy import class_accuracies, confusion_counts, per_class_accuracy, sample_accuracy
from zslplat.metrics.ranking import class_rankings, mean_average_precision
from zslplat.metrics.resampling import resampled_means
from zslplat.registry import known_as
from zslplat.space import BOOLEAN, Integer, Optional, Parameter, Real, Space, check_value
from zslplat.tables import Table
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem, Task
from zslplat.tasks.degenerate import look_at_scores
from zslplat.tasks.sample_splits import split_by_sample, stratified_folds


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
        "folds": Parameter("validation folds inside the training rows, each row held out once", Integer(2)),
        "train_share": Parameter(
            "share of every class that trains, where splits are drawn", Real(0.0, 0.99, open_low=True)
        ),
        "train_per_class": Parameter("rows of every class that train; none takes train_share", Optional(Integer(1))),
        "split": Parameter("which of the drawn splits", Integer(1)),
        "splits": Parameter("number of drawn splits that the test problem holds, from split on", Integer(1)),
        "ranking": Parameter("also report mAP: the rows ranked by their score for each class", BOOLEAN),
    }

    def __init__(
        self,
        *,
        folds: int = 3,
        train_share: float = 0.5,
        train_per_class: int | None = None,
        split: int = 1,
        splits: int = 1,
        ranking: bool = False,
    ) -> None:
        self.folds = folds
        self.train_share = train_share
        self.train_per_class = train_per_class
        self.split = split
        self.splits = splits
        self.ranking = ranking
        for name in self.parameters:
            check_value(f"task {self.name}", name, getattr(self, name), self.parameters)

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return one group of arrays for every split, each with its own training rows."""
        return tuple((f"X{suffix}", f"X_pool{suffix}") for suffix in self._suffixes(self.splits))

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
        for offset, suffix in enumerate(self._suffixes(self.splits)):
            train, test = self._rows(dataset, self.split + offset, seed)
            labels = dataset.y[train]
            parts[suffix] = _arrays(dataset, train, test, np.unique(labels), seed)
        return _problem("test", dataset, labels, parts)

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` and ``score/...`` for every split."""
        require_kind(type(method), self.kind, self.name)
        prepared: Arrays = {}
        for suffix in self._suffixes(problem.meta["splits"]):
            X, y, pool = (problem.inputs[name + suffix] for name in ("X", "y", "X_pool"))
            own = copy.deepcopy(method)
            for prefix, arrays in (
                ("fit", own.prepare_fit(X, y, space=space)),
                ("score", own.prepare_score(pool, X, space=space)),
            ):
                prepared |= {f"{prefix}{suffix}/{name}": array for name, array in arrays.items()}
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and score every split; outputs are ``scores`` (m, c) with the suffix of each split.

        Raises :class:`MethodError` for scores of wrong shape, NaN or infinity.
        """
        require_kind(type(method), self.kind, self.name)
        outputs: Arrays = {}
        # The last fit is that of the first split, so that its matrices are the ones that are logged.
        for suffix in reversed(self._suffixes(problem.meta["splits"])):
            X, y, pool = (problem.inputs[name + suffix] for name in ("X", "y", "X_pool"))
            # Rows that are scored in one split have their labels in another.
            own = copy.deepcopy(method) if suffix else method
            own.fit(X, y, statistics=_selected(f"fit{suffix}/", statistics))
            scores = np.asarray(own.decision_function(pool, statistics=_selected(f"score{suffix}/", statistics)))
            expected = (len(pool), len(problem.meta["classes"]))
            if scores.shape != expected or not np.isfinite(scores).all():
                raise MethodError(
                    f"{known_as(type(method))} returned scores of shape {scores.shape}, finite: "
                    f"{bool(np.isfinite(scores).all())}; expected finite scores of shape {expected}"
                )
            outputs[f"scores{suffix}"] = scores
        yield 1, outputs

    def score(self, problem: Problem, outputs: Arrays, carried: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return accuracy, mean per-class accuracy and, on request, mAP; their spread over several splits, too."""
        names = problem.meta["classes"]
        suffixes = self._suffixes(problem.meta["splits"])
        for s in suffixes:
            look_at_scores(outputs[f"scores{s}"], problem.truth[f"y_pool{s}"])
        by_split = [self._metrics(outputs[f"scores{s}"], problem.truth[f"y_pool{s}"]) for s in suffixes]
        metrics = {name: float(np.mean([m[name] for m in by_split])) for name in by_split[0]}
        if len(by_split) > 1:
            metrics |= {f"{name}_std": float(np.std([m[name] for m in by_split], ddof=1)) for name in by_split[0]}
        outcome = Outcome(metrics)
        if not full:
            return outcome
        y = np.concatenate([problem.truth[f"y_pool{s}"] for s in suffixes])
        predicted = np.concatenate([outputs[f"scores{s}"].argmax(axis=1) for s in suffixes])
        accuracies, counts = class_accuracies(y, predicted, len(names))
        outcome.tables["per_class"] = Table({"class": names, "rows": counts.tolist(), "accuracy": accuracies.tolist()})
        outcome.tables["predictions"] = _predictions(problem, outputs, suffixes)
        if len(by_split) > 1:
            numbers = [self.split + i for i in range(len(suffixes))]
            columns = {name: [m[name] for m in by_split] for name in by_split[0]}
            outcome.tables["splits"] = Table({"split": numbers, **columns})
        confusion = confusion_counts(y, predicted, len(names))
        true, guess = np.nonzero(confusion)
        outcome.tables["confusion"] = Table(
            {
                "true": [names[i] for i in true],
                "predicted": [names[j] for j in guess],
                "rows": confusion[true, guess].tolist(),
            }
        )
        shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
        title = f"{problem.meta['dataset']}, {problem.name}"
        outcome.figures["confusion"] = MatrixFigure(shares, names, names, "predicted class", "true class", title)
        return outcome

    def units(self, problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the data set's rows and their classes, apart for every split."""
        truth, suffixes = problem.truth, self._suffixes(problem.meta["splits"])
        rows = np.concatenate([truth[f"row_pool{s}"] for s in suffixes])
        strata = [truth[f"y_pool{s}"] + i * len(problem.meta["classes"]) for i, s in enumerate(suffixes)]
        return rows, np.concatenate(strata)

    def resampled(
        self, problem: Problem, outputs: Arrays, carried: Mapping[str, Any], counts: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return accuracy and mean per-class accuracy (b,) of each draw, as means over the splits."""
        metrics: dict[str, list[np.ndarray]] = {"accuracy": [], "per_class_accuracy": []}
        first = 0
        for suffix in self._suffixes(problem.meta["splits"]):
            y = problem.truth[f"y_pool{suffix}"]
            drawn = counts[:, first : first + len(y)]
            first += len(y)
            correct = outputs[f"scores{suffix}"].argmax(axis=1) == y
            metrics["accuracy"].append(resampled_means(drawn, correct))
            metrics["per_class_accuracy"].append(resampled_means(drawn, correct, y))
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

    @staticmethod
    def _suffixes(count: int) -> list[str]:
        return [""] + [f":{number}" for number in range(2, count + 1)]


def _arrays(
    dataset: Dataset, train: np.ndarray, pool: np.ndarray, classes: np.ndarray, seed: int
) -> tuple[Arrays, Arrays]:
    """Return the inputs and the truth of one split; nothing refers to the data set's own arrays."""
    pool = np.random.default_rng([seed, 3]).permutation(pool)
    inputs = {
        "X": np.array(dataset.X[train]),
        "y": np.searchsorted(classes, dataset.y[train]),
        "X_pool": np.array(dataset.X[pool]),
    }
    return inputs, {"y_pool": np.searchsorted(classes, dataset.y[pool]), "row_pool": pool}


def _problem(name: str, dataset: Dataset, labels: np.ndarray, parts: Mapping[str, tuple[Arrays, Arrays]]) -> Problem:
    inputs = {key + suffix: array for suffix, (arrays, _) in parts.items() for key, array in arrays.items()}
    truth = {key + suffix: array for suffix, (_, arrays) in parts.items() for key, array in arrays.items()}
    names = [dataset.class_names[i] for i in np.unique(labels)]
    if len(names) < 2:
        raise DataError(f"{dataset.name}: the training rows hold {len(names)} class; at least two are needed")
    return Problem(name, inputs, truth, {"dataset": dataset.name, "classes": names, "splits": len(parts)})


def _predictions(problem: Problem, outputs: Arrays, suffixes: list[str]) -> Table:
    """Return (row, true, predicted, score) in the order of the data set's rows, with the split where there are more."""
    names = problem.meta["classes"]
    columns: dict[str, list[Any]] = {"row": [], "true": [], "predicted": [], "score": []}
    split: list[int] = []
    for number, suffix in enumerate(suffixes, start=1):
        scores, rows = outputs[f"scores{suffix}"], problem.truth[f"row_pool{suffix}"]
        order = np.argsort(rows)
        columns["row"] += rows[order].tolist()
        columns["true"] += [names[i] for i in problem.truth[f"y_pool{suffix}"][order]]
        columns["predicted"] += [names[i] for i in scores.argmax(axis=1)[order]]
        columns["score"] += [float(v) for v in scores.max(axis=1)[order]]
        split += [number] * len(rows)
    return Table({**columns, "split": split} if len(suffixes) > 1 else columns)


def _selected(prefix: str, statistics: Mapping[str, np.ndarray]) -> Arrays | None:
    found = {name[len(prefix) :]: array for name, array in statistics.items() if name.startswith(prefix)}
    return found or None
