"""Checks of what a study ended with: predictions, metrics, test classes, and the difference from a control."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from zslplat.checks.base import UNNAMED, Check, WarningCheck
from zslplat.checks.facts import StudyFacts


class Unnamed(WarningCheck):
    """Shows the warnings of a data set, a task or a method, mostly of a plugin, that name no check."""

    code, title, scope = UNNAMED, "something that data, task or method warn of themselves", "study"


class FewPredictedClasses(WarningCheck):
    """Speaks where predictions concentrate on few classes.

    That is where all rows are given one class, or where the effective number of predicted classes (the exponential of
    the entropy of their shares) is less than half that of the true ones. Were half of the classes never predicted and
    the others evenly, it would be just half; per-class accuracy cannot exceed about that share then.
    """

    code, title, scope = "ZSP201", "one predicted class, or few", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line for each warning of one class, else one where few classes are predicted."""
        lines = list(super().find(facts))
        yield from lines
        true, predicted = effective_classes(facts.true), effective_classes(facts.predicted)
        if not lines and predicted > 0 and predicted < true / 2:
            most = max(facts.predicted, key=lambda name: facts.predicted[name])
            share = facts.predicted[most] / sum(facts.predicted.values())
            yield (
                f"test: predictions concentrate on few classes, effectively {predicted:.1f} where the rows are of "
                f"{true:.1f}; {share:.0%} of the rows are given {most!r}"
            )


class EqualScores(WarningCheck):
    """Speaks where scores tell nothing apart: all equal, or equal over the rows for a label, a query or a feature."""

    code, title, scope = "ZSP202", "constant scores", "study"
    urgency = 1


class NotBetter(Check):
    """Base of the checks that compare a study with the recorded control of its kind (``Kind.control``).

    ``kind``: the kind of methods that it looks at; ``same_preprocessing``: the control must have the study's own;
    ``control``: what messages call it.
    """

    kind: ClassVar[str]
    same_preprocessing: ClassVar[bool] = False
    control: ClassVar[str] = "the control"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the control is as good."""
        if facts.kind != self.kind or facts.test is None or not facts.test.values:
            return
        sign = 1.0 if facts.maximise else -1.0
        score = float(np.mean(facts.test.values))
        for recorded in [one for one in facts.controls if one.same_preprocessing or not self.same_preprocessing][:1]:
            behind = sign * score <= sign * recorded.test
            least = -math.inf if recorded.lead is None else min(sign * end for end in recorded.lead)
            if not behind and (recorded.lead is None or least > 0):
                continue
            ends = "" if recorded.lead is None else f"; difference {recorded.lead[0]:+.4f} .. {recorded.lead[1]:+.4f}"
            ends += " over these test rows" if ends else ""
            yield (
                f"test {facts.metric} {score:.4f} is not {'better than' if behind else 'surely better than'} that of "
                f"{self.control}, {recorded.method}, {recorded.test:.4f} (study {recorded.study}{ends})"
            )


class UndefinedMetrics(Check):
    """Speaks where a test metric is no number, or a test class has no rows to be judged by."""

    code, title, scope = "ZSP205", "metrics that are no numbers, or classes without rows", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line for the metrics, and one for the classes."""
        undefined = sorted(
            {name for one in facts.test_metrics for name, value in one.items() if not math.isfinite(value)}
        )
        if undefined:
            yield f"test: no number for {', '.join(undefined)}; means that it enters say nothing"
        empty = [name for name, rows in facts.true.items() if not rows]
        if empty:
            yield f"test: {len(empty)} of {len(facts.true)} classes have no rows, first {empty[0]!r}"


class FewerValidationClasses(WarningCheck):
    """Shows that validation tells fewer classes apart than the test, so its values are higher for that alone."""

    code, title, scope = "ZSP208", "validation tells fewer classes apart than the test", "study"
    urgency = 3


class FewDrawnFolds(WarningCheck):
    """Shows that the folds hold out too few classes in all for a steady mean (30, by simulation)."""

    code, title, scope = "ZSP209", "validation depends on the draw of its folds", "study"
    urgency = 3


class FewerFeaturesThanTaken(WarningCheck):
    """Shows that a selector chose fewer features than the task takes: the rest are in no meaningful order."""

    code, title, scope = "ZSP210", "fewer features chosen than taken", "study"


class EmptyCodes(WarningCheck):
    """Shows that all codes of a coding method are empty."""

    code, title, scope = "ZSP212", "all codes are empty", "study"
    urgency = 1


class NotConverged(WarningCheck):
    """Shows that an iteration ended at its limit and not at its tolerance."""

    code, title, scope = "ZSP213", "a solver did not converge", "study"


class MetricsLeftOut(WarningCheck):
    """Shows that scores made elsewhere came without those of the validation folds, which some metrics need."""

    code, title, scope = "ZSP214", "metrics left out for want of validation scores", "study"


class TestLabelsExported(WarningCheck):
    """Shows that the labels of the test rows were exported with the split that the scores are of."""

    code, title, scope = "ZSP215", "the labels of the test rows were at hand", "study"


def effective_classes(counts: Mapping[str, int]) -> float:
    """Return the exponential of the entropy of shares: C where C classes have even shares, 1 where one has all."""
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count]
    return math.exp(-sum(share * math.log(share) for share in shares)) if shares else 0.0


class BiasNotCarried(Check):
    """Speaks where calibrated stacking with the bias of validation gives less than half of the best H of any bias.

    The best is picked on the test rows themselves (``oracle_H``), so that every method loses a share of it: over all of
    ``zero-shot-full`` on five sets a tenth mostly and a third at most, where the scores of two fits are on one scale.
    """

    code, title, scope = "ZSP217", "the bias of validation does not fit the test", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield what the carried bias gives, and what the best would."""
        carried, best = _means_of_tests(facts, "calibrated_H", "oracle_H")
        if carried < best / 2:
            yield (
                f"calibrated_H is {carried:.4f} with the bias that validation chose, and {best:.4f} with the one that "
                "is best on the test rows: scores of two fits are on other scales, or validation is unlike the test"
            )


class RowsOutrankClasses(Check):
    """Speaks where mAP is below three quarters of what the same scores give less their mean over each row's candidates.

    Scores that lie higher or lower for all candidates of a row, as distances do, move it in every ranking, whatever its
    class is. Methods that return probabilities of a row have no such part, so that a comparison by mAP is one of that.
    """

    code, title, scope = "ZSP218", "rankings tell rows apart, not classes", "study"
    urgency = 3

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield both values."""
        plain, centred = _means_of_tests(facts, "mAP", "centred_mAP")
        if plain < 0.75 * centred:
            yield (
                f"mAP is {plain:.4f}, and {centred:.4f} where the mean over the candidates is taken off the scores of "
                "each row: compare with others by centred_mAP as well"
            )


class PlaceholderScores(WarningCheck):
    """Shows that scores made elsewhere have numbers so far off that the others do not differ beside them."""

    code, title, scope = "ZSP219", "scores lost beside placeholders", "study"


def _means_of_tests(facts: StudyFacts, first: str, second: str) -> tuple[float, float]:
    """Return the means of two metrics over the test repeats that have both; NaN if there is none."""
    pairs = [(one[first], one[second]) for one in facts.test_metrics if first in one and second in one]
    if not pairs:
        return float("nan"), float("nan")
    return sum(one for one, _ in pairs) / len(pairs), sum(other for _, other in pairs) / len(pairs)
