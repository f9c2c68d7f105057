"""Generalised zero-shot recognition: rows of seen and unseen classes against all classes.

S, U and T = S + U are the seen, unseen and all classes; X->Y means rows of X told apart among the classes of Y. Three
requests are scored: ``U->U``, ``S->S`` and ``T`` (all rows, in one batch, against all classes), from which U->T and
S->T come. Metrics (accuracies are means over the classes that have rows):

``AUSUC``                                       area under the seen-unseen accuracy curve, exact
``U_to_U``, ``S_to_S``, ``U_to_T``, ``S_to_T``  accuracies of the scores as they are
``H``                                           harmonic mean of U_to_T and S_to_T
``calibrated_u``, ``calibrated_s``, ``calibrated_H``, ``bias``
                                                the same with the bias that validation chose, where there is one
``oracle_H``                                    largest H over all biases, picked on the scored rows themselves: an
                                                upper mark, not a result

Tuning maximises AUSUC: it needs no bias and so does not mix the choice of hyperparameters with that of the bias. The
chosen bias is the mean of the folds' biases with the best H. The calibrated metrics of validation are those with that
mean, which the refit gets as well. ``--metric H`` selects by H of the scores as they are, ``--metric calibrated_H`` by
that with the bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError
from zslplat.families.zero_shot.task import (
    ZeroShotTask,
    build_problem,
    pool_outcomes,
    requested,
    require_classes,
    seen_mask,
    with_requests,
)
from zslplat.figures import Curve, Table
from zslplat.metrics.accuracy import class_accuracies, harmonic_mean, look_at_scores, per_class_accuracy
from zslplat.metrics.ausuc import (
    SeenUnseenCurve,
    calibrated_predictions,
    gains_without_classes,
    next_rivals,
    rivals,
    seen_unseen_curve,
    winners,
)
from zslplat.metrics.intervals import ClassValues, competing, jackknifed, resampled_ausuc, resampled_means
from zslplat.space import Choice, Integer, Real, parameter
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem
from zslplat.tasks.row_outcomes import RowOutcomes, confusion, predictions_table
from zslplat.tasks.splits import class_folds, count_of_unseen, fold_rows, hold_out_rows, split_rows

PAPER_TEST_SHARE = 0.2
# Accuracies on rows of unseen classes alone, and of seen ones.
_ONE_KIND = (("U_to_U", "U_to_T", "calibrated_u"), ("S_to_S", "S_to_T", "calibrated_s"))


class GeneralizedZeroShot(ZeroShotTask):
    r"""AUSUC, the four accuracies, H, and calibrated stacking with the bias carried from validation.

    Validation holds out ``held_out`` of the rows of the fold's training classes as seen samples, whole groups where
    the data set has groups; ``test_seen`` is never touched. ``protocol="paper"`` is for data without ``test_seen``:
    a fifth of the rows of every training class becomes the seen test rows, drawn with ``split_seed`` and not with the
    seed of a study, so that all studies share them and none trains on them (Xu et al., "Matrix Tri-Factorization with
    Manifold Regularizations for Zero-shot Learning", section 4.2.3).

    Equations
    ---------
    Rows of seen and unseen classes are told apart among all of them. A bias b on seen classes trades one accuracy for
    the other; the area under that curve is what is tuned, the harmonic mean what is reported beside it:

    $$y_b(x) = \arg\max_{c \in S \cup U} F(x, c) - b\, [c \in S], \qquad \mathrm{AUSUC} = \int \mathrm{acc}_U \;
    d\, \mathrm{acc}_S, \qquad H = \frac{2\, \mathrm{acc}_U\, \mathrm{acc}_S}{\mathrm{acc}_U + \mathrm{acc}_S}$$

    Symbols
    -------
    | symbol | here   | shape  | meaning                                            |
    |--------|--------|--------|----------------------------------------------------|
    | S, U   | seen   | (c,)   | seen and unseen classes; ``seen`` marks the former |
    | F(x, c) |       | (n, c) | the method's scores                                |
    | b      | bias   | scalar | taken off the scores of seen classes               |
    | acc_S, acc_U | S_to_T, U_to_T | | mean per-class accuracies of seen and unseen rows |

    Related
    -------
    ``zsl`` has unseen classes alone. Methods ``cmt-gaussian`` and ``cmt-loop`` gate rows that look new.
    """

    name = "gzsl"
    summary = "generalised zero-shot recognition: AUSUC, U->U, S->S, U->T, S->T, H, calibrated stacking"
    citation = "Chao et al.: Generalized Zero-Shot Learning for Object Recognition in the Wild. ECCV 2016"
    primary = Metric("AUSUC")
    held_out = parameter("share of each training class held out as seen", Real(0.0, 0.9, open_low=True), default=0.2)
    protocol = parameter(
        "where seen test rows come from: the data set's own split 'test_seen', or a fifth of 'train' (paper)",
        Choice(("given", "paper")),
        default="given",
    )
    split_seed = parameter("seed of the seen test rows that protocol=paper draws", Integer(0), default=0)

    def metric_names(self) -> tuple[str, ...]:
        """Return the metrics above; the calibrated ones need the bias that validation chooses."""
        calibrated = ("calibrated_u", "calibrated_s", "calibrated_H", "bias")
        return ("AUSUC", "U_to_U", "S_to_S", "U_to_T", "S_to_T", "H", *calibrated, "oracle_H")

    def criteria(self) -> tuple[str, ...]:
        """Return what validation may select by: no bias, and no H at a bias that is picked on the scored rows."""
        return tuple(name for name in self.metric_names() if name not in ("bias", "oracle_H"))

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold, with held-out rows of its training classes as seen samples.

        Of the test, drawn folds know how many unseen classes it has, and nothing else.
        """
        split_rows(dataset, "test_unseen", f"task {self.name}")
        rows, _ = self._seen_rows(dataset)
        problems = []
        tested = count_of_unseen(dataset)
        folds = class_folds(dataset, rows, self.folds, self.validation_classes, seed, tested=tested)
        for number, fold in enumerate(folds, start=1):
            fold_train, unseen = fold_rows(dataset, rows, fold)
            train, seen = hold_out_rows(dataset, fold_train, self.held_out, seed)
            train, unseen, seen = self.with_shots(dataset, train, unseen, seen, fold=number)
            unseen = self.scored_unseen(dataset, unseen, fold=number)
            problems.append(
                self._problem(f"fold-{number}", dataset, train, seen, unseen, seed=seed, meta={"fold": fold.name})
            )
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows, against the seen and unseen test rows together."""
        train, seen = self._seen_rows(dataset)
        unseen = split_rows(dataset, "test_unseen", f"task {self.name}")
        require_classes(dataset, "split 'train'", np.unique(dataset.y[train]))
        require_classes(dataset, "split 'test_unseen'", np.unique(dataset.y[unseen]))
        strange = np.setdiff1d(dataset.y[seen], dataset.y[train])
        if len(strange):
            first = dataset.class_names[strange[0]]
            raise DataError(
                f"{dataset.name}: {len(strange)} classes of 'test_seen' have no row in 'train', first {first!r}; "
                "move their rows to 'train' or drop them"
            )
        train, unseen, seen = self.with_shots(dataset, train, unseen, seen)
        unseen = self.scored_unseen(dataset, unseen)
        return self._problem("test", dataset, train, seen, unseen, seed=seed, meta={})

    def _seen_rows(self, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to train on and the seen test rows; validation uses the former only."""
        train = split_rows(dataset, "train", f"task {self.name}")
        if self.protocol == "given":
            if "test_seen" not in dataset.splits:
                raise DataError(
                    f"{dataset.name} has no split 'test_seen', which task gzsl needs; give one, or use "
                    "gzsl(protocol=paper), which takes a fifth of 'train'"
                )
            return train, split_rows(dataset, "test_seen", f"task {self.name}")
        if "test_seen" in dataset.splits:
            raise DataError(f"{dataset.name} has a split 'test_seen' of its own; use gzsl(protocol=given)")
        return hold_out_rows(dataset, train, PAPER_TEST_SHARE, self.split_seed)

    def _problem(
        self,
        name: str,
        dataset: Dataset,
        train: np.ndarray,
        seen: np.ndarray,
        unseen: np.ndarray,
        *,
        seed: int,
        meta: Mapping[str, Any],
    ) -> Problem:
        unseen_classes = np.unique(dataset.y[unseen])
        seen_classes = np.setdiff1d(dataset.y[train], unseen_classes)
        problem = build_problem(
            name,
            dataset,
            self.signatures,
            train_rows=train,
            pool_rows=np.concatenate([seen, unseen]),
            seen_classes=seen_classes.tolist(),
            pool_classes=[*seen_classes.tolist(), *unseen_classes.tolist()],
            seed=seed,
            without=self.without,
            meta=meta,
        )
        classes = problem.inputs["seen"]
        rows = classes[problem.truth["y_pool"]]
        requests = {
            "U->U": (np.flatnonzero(~rows), np.flatnonzero(~classes)),
            "S->S": (np.flatnonzero(rows), np.flatnonzero(classes)),
            "T": (np.arange(len(rows)), np.arange(len(classes))),
        }
        return with_requests(problem, requests)

    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Return the metrics above and choose the bias with the best H; ``validation_choices["bias"]`` calibrates."""
        scores, y, seen = outputs["T"], problem.truth["y_pool"], problem.inputs["seen"]
        curve = seen_unseen_curve(scores, y, seen)
        for request in ("U->U", "S->S"):
            look_at_scores(outputs[request], _own_labels(problem, request), request)
        look_at_scores(scores, y, "T")
        within = {request: np.argmax(outputs[request], axis=1) for request in ("U->U", "S->S")}
        u, s = curve.at(0.0)
        metrics = {
            "AUSUC": curve.area,
            "U_to_U": _own_accuracy(problem, "U->U", within["U->U"]),
            "S_to_S": _own_accuracy(problem, "S->S", within["S->S"]),
            "U_to_T": u,
            "S_to_T": s,
            "H": harmonic_mean(u, s),
        }
        bias = float(validation_choices["bias"]) if "bias" in validation_choices else None

        def calibrated(choices: Mapping[str, Any]) -> dict[str, float]:
            u, s = curve.at(float(choices["bias"]))
            return {"calibrated_u": u, "calibrated_s": s, "calibrated_H": harmonic_mean(u, s), "bias": choices["bias"]}

        metrics |= {} if bias is None else calibrated({"bias": bias})
        metrics["oracle_H"] = curve.best_harmonic_mean
        chosen = {"bias": curve.best_bias}
        outcome = Outcome(metrics, validation_choices=chosen, with_choices=calibrated if bias is None else None)
        if full:
            self._describe(outcome, problem, scores, within, curve, bias)
        return outcome

    def _describe(
        self,
        outcome: Outcome,
        problem: Problem,
        scores: np.ndarray,
        within: Mapping[str, np.ndarray],
        curve: SeenUnseenCurve,
        bias: float | None,
    ) -> None:
        y, seen, names = problem.truth["y_pool"], problem.inputs["seen"], problem.meta["classes"]
        title = f"{problem.meta['dataset']}, {problem.name}"
        predicted, value = _calibrated(scores, seen, bias)
        outcome.tables["per_class"] = _per_class_table(problem, scores, within, bias)
        outcome.tables["predictions"] = predictions_table(names, problem.truth["row_pool"], y, predicted, value)
        outcome.tables["seen_unseen_curve"] = Table(
            {
                "bias": [float("-inf"), *curve.biases.tolist()],
                "unseen": curve.unseen.tolist(),
                "seen": curve.seen.tolist(),
            }
        )
        calibration = "no bias" if bias is None else f"bias {bias:.3g}"
        table, figure = confusion(y, predicted, names, f"{title}: all rows and classes, {calibration}")
        outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
        points = {"no bias": curve.at(0.0), "best H (upper mark)": curve.at(curve.best_bias)}
        if bias is not None:
            points["bias from validation"] = curve.at(bias)
        outcome.figures["seen_unseen_curve"] = Curve(
            {f"all biases, area {curve.area:.3f}": (curve.unseen.tolist(), curve.seen.tolist())},
            "accuracy on unseen classes (U->T)",
            "accuracy on seen classes (S->T)",
            title,
            points=points,
        )

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes:
        """Return the common columns and eight more: at most 60 bytes a row, as every bias is to be tried on them.

        ``best_seen`` and ``best_unseen`` (int32) are the best class of either kind among all classes, ``critical``
        (float64) is the bias from which on the unseen one wins, ``own`` (int32) the class that the row was given among
        those of its own kind alone; the others are those of :func:`~zslplat.metrics.ausuc.next_rivals`. ``predicted``
        and ``score`` are those with the chosen bias, ``meta["bias"]``.
        """
        scores, seen = outputs["T"], seen_mask(problem)
        bias = float(validation_choices["bias"]) if "bias" in validation_choices else None
        predicted, value = _calibrated(scores, seen, bias)
        best_seen, best_unseen, critical = rivals(scores, seen)
        within = np.empty(len(scores), dtype=np.int32)
        for request in ("U->U", "S->S"):
            rows, classes = requested(problem, request)
            within[rows] = classes[np.argmax(outputs[request], axis=1)]
        more = {
            "best_seen": best_seen.astype(np.int32),
            "best_unseen": best_unseen.astype(np.int32),
            "critical": critical,
            "own": within,
            **next_rivals(scores, seen),
        }
        return pool_outcomes(problem, predicted, value, more, seen=seen.tolist(), bias=bias)

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return AUSUC, the accuracies and H (b,) of each draw, with the chosen bias where there is one."""
        columns, seen = outcomes.columns, np.array(outcomes.meta["seen"])
        y, best = columns["true"], (columns["best_seen"], columns["best_unseen"], columns["critical"])
        assert outcomes.domain is not None
        parts = {"U": ~outcomes.domain, "S": outcomes.domain}
        metrics = {"AUSUC": resampled_ausuc(counts, *best, y, seen)}
        for kind, part in parts.items():
            correct = columns["own"][part] == y[part]
            metrics[f"{kind}_to_{kind}"] = resampled_means(counts[:, part], correct, y[part])
        biases = {"U_to_T S_to_T H": 0.0}
        if outcomes.meta["bias"] is not None:
            biases["calibrated_u calibrated_s calibrated_H"] = outcomes.meta["bias"]
        for names, bias in biases.items():
            correct = winners(*best, bias) == y
            u, s = (resampled_means(counts[:, part], correct[part], y[part]) for part in parts.values())
            h = 2 * u * s / np.where(u + s > 0, u + s, 1.0)
            metrics.update(zip(names.split(), (u, s, h), strict=True))
        return metrics

    def class_values(self, outcomes: RowOutcomes) -> ClassValues:
        """Return accuracies of the classes, and pseudo-values of H, calibrated H and AUSUC, of which both kinds are.

        New classes are new unseen ones *and* new seen ones: a claim about H is one about other splits of such
        classes. Both kinds are samples of their own, as their numbers are given; accuracies on rows of one kind have
        values of that kind only. Who holds the seen classes to be fixed gets an interval that is a little too wide.
        Of one unseen class, or one seen class, nothing can be said of what both are part of: all is NaN.
        """
        seen = np.array(outcomes.meta["seen"], dtype=bool)
        values = jackknifed(
            lambda counts: self.resampled(outcomes, counts), outcomes.columns["true"], seen.astype(np.int64)
        )
        kind_of_metric = {name: kind for kind, names in enumerate(_ONE_KIND) for name in names}
        both = np.bincount(values.kinds, minlength=2).min() > 1
        by_metric = {
            name: np.where(values.kinds == kind_of_metric[name] if name in kind_of_metric else both, v, np.nan)
            for name, v in values.values.items()
        }
        gains = {
            name: gain * np.outer(*[values.kinds == kind_of_metric[name]] * 2) if name in kind_of_metric else gain
            for name, gain in gains_without_classes(outcomes.columns, seen, outcomes.meta["bias"]).items()
        }
        return competing(ClassValues(by_metric, values.kinds), gains)

    def chance(self, problem: Problem) -> float:
        """Return what random scores reach: their curve is a line from (0, 1/|S|) to (1/|U|, 0).

        The area below it is 1 / (2 |S| |U|), and the calibrated metrics are those of its point with the best H.
        """
        seen = problem.inputs["seen"]
        s, u = np.count_nonzero(seen), np.count_nonzero(~seen)
        roots = np.sqrt(s) + np.sqrt(u)
        levels = {
            "AUSUC": 0.5 / (s * u),
            "U_to_U": 1 / u,
            "S_to_S": 1 / s,
            "calibrated_u": 1 / (np.sqrt(u) * roots),
            "calibrated_s": 1 / (np.sqrt(s) * roots),
            "calibrated_H": 2 / roots**2,
        }
        return float(levels.get(self.primary.name, 1 / (s + u)))


def _calibrated(scores: np.ndarray, seen: np.ndarray, bias: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the class (m,) of every row with a bias, none for 0, and its calibrated score (m,)."""
    used = bias if bias is not None else 0.0
    predicted = calibrated_predictions(scores, seen, used)
    return predicted, np.take_along_axis(scores, predicted[:, None], axis=1)[:, 0] - np.where(seen[predicted], used, 0)


def _own_labels(problem: Problem, request: str) -> np.ndarray:
    """Return the true classes of a request's rows, counted within the request's classes."""
    y = problem.truth["y_pool"][problem.truth[f"rows:{request}"]]
    return np.asarray(np.searchsorted(problem.inputs[f"classes:{request}"], y))


def _own_accuracy(problem: Problem, request: str, predicted: np.ndarray) -> float:
    return per_class_accuracy(_own_labels(problem, request), predicted)


def _per_class_table(
    problem: Problem, scores: np.ndarray, predictions: Mapping[str, np.ndarray], bias: float | None
) -> Table:
    y, seen, names = problem.truth["y_pool"], problem.inputs["seen"], problem.meta["classes"]
    within = np.full(len(names), np.nan)
    for request, predicted in predictions.items():
        classes = problem.inputs[f"classes:{request}"]
        within[classes] = class_accuracies(_own_labels(problem, request), predicted, len(classes))[0]
    joint, counts = class_accuracies(y, calibrated_predictions(scores, seen, 0.0), len(names))
    columns: dict[str, Any] = {
        "class": names,
        "kind": ["seen" if flag else "unseen" for flag in seen],
        "rows": counts.tolist(),
        "accuracy_within_kind": within.tolist(),
        "accuracy_among_all": joint.tolist(),
    }
    if bias is not None:
        calibrated, _ = class_accuracies(y, calibrated_predictions(scores, seen, bias), len(names))
        columns["accuracy_calibrated"] = calibrated.tolist()
    return Table(columns)
