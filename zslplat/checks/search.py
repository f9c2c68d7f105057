"""Checks of a search: its ranges, its budget, whether it reached anything, and whether its folds agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import numpy as np

from zslplat.checks.base import Check
from zslplat.checks.facts import PrimaryScores, StudyFacts
from zslplat.metrics.intervals import within

EDGE = 0.02
CHANCE_MARGIN = 0.05
FEWEST_TRIALS = 10
FEWEST_FOR_EFFECT = 5


class EdgeOfRange(Check):
    """Speaks where the best value lies within 2 % of an end of its range (of its logarithm, where that is searched).

    An end that is the end of the legal values is none: there is nothing beyond it to search. Of values drawn evenly
    4 % lie so, so one dimension in 25 is named by chance where a hyperparameter has no effect at all; of few whole
    numbers the two ends are a larger share. Where all trials have one value (ZSP110) the best is none, and nothing is
    said.
    """

    code, title, scope = "ZSP101", "best value at the edge of the range searched", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line for each value at an end that is open."""
        if _without_effect(facts):
            return
        for one in facts.searched:
            low = one.position <= EDGE and one.low_is_open
            high = one.position >= 1 - EDGE and one.high_is_open
            if low or high:
                yield (
                    f"the best value of {one.name}, {one.value}, lies at the {'low' if low else 'high'} end of the "
                    f"range searched, {one.range}; give a wider one with {facts.range_option.format(name=one.name)}"
                )


class LastStep(Check):
    """Speaks where validation was best at the last step that was allowed: it may not have stopped to improve."""

    code, title, scope = "ZSP102", "best at the last step allowed", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the last step was the best."""
        if facts.steps is not None and facts.steps.kept >= facts.steps.most:
            yield (
                f"validation was best at the last of {facts.steps.most:g} {facts.steps.parameter}, so training may "
                f"have ended too early; give more with --set {facts.steps.parameter}=NUMBER"
            )


class ValidationAtChance(Check):
    """Speaks where validation is above its chance level by no more than noise (:func:`is_at_chance`)."""

    code, title, scope = "ZSP103", "at chance on validation", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where validation is at chance."""
        yield from _at_chance(facts.validation)


class TestAtChance(Check):
    """Speaks where the test is above its chance level by no more than noise (:func:`is_at_chance`).

    Noise is that of the repeats and that of the test rows, where their standard error is known: a single value of few
    rows has no spread of its own.
    """

    __test__ = False  # not a test case for pytest
    code, title, scope = "ZSP104", "at chance on the test split", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the test is at chance."""
        yield from _at_chance(facts.test, facts.test_error or 0.0)


class FoldsDisagree(Check):
    """Speaks where the spread between folds is larger than the gain over chance, at two folds or more.

    The spread is the standard deviation over the folds of the best experiment's gain. At three folds a gain of one
    spread is sqrt 3 = 1.7 standard errors above chance, which t with 2 degrees of freedom takes for p = .11: what is
    found by validation may as well be the draw of the folds. Where validation is at chance, ZSP103 says so instead.
    """

    code, title, scope = "ZSP105", "folds disagree", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the folds differ by more than the gain."""
        reached = facts.validation
        if not _complete(reached) or len(reached.values) < 2 or list(_at_chance(reached)):
            return
        gains = _gains(reached.values, reached.chances, reached.maximise)
        spread = float(np.std(gains, ddof=1))
        if spread > abs(float(gains.mean())):
            yield (
                f"folds disagree: {reached.metric} of the best experiment lies {gains.mean():.4f} above chance on "
                f"average, with a standard deviation of {spread:.4f} between {len(gains)} folds"
            )


class ValidationFarFromTest(Check):
    """Speaks where the test lies outside of what validation lets one expect of another draw of classes and rows.

    A test is one more fold: with k folds of standard deviation s, it lies within t s sqrt(1 + 1/k) of their mean, t
    being the 99.5 % point of Student's t with k - 1 degrees of freedom, in 99 of 100 cases; the test's own standard
    error over its rows is added where it is known, since its rows may be fewer than a fold's. Nothing is said where
    chance differs by more than a tenth, as with other numbers of classes (ZSP208): the values mean other things then.
    """

    code, title, scope = "ZSP106", "validation far from test", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where validation and test are far apart."""
        from scipy.stats import t as student

        validation, test = facts.validation, facts.test
        if not _complete(validation) or not _complete(test) or len(validation.values) < 2:
            return
        chance, test_chance = float(np.mean(validation.chances)), float(np.mean(test.chances))
        if abs(chance - test_chance) > 0.1 * abs(chance):
            return
        k, means = len(validation.values), [float(np.mean(one.values)) for one in (validation, test)]
        spread = float(np.std(validation.values, ddof=1))
        error = math.hypot(spread * math.sqrt(1 + 1 / k), facts.test_error or 0.0)
        reach = float(student.ppf(0.995, k - 1)) * error
        if error and abs(means[1] - means[0]) > reach:
            low, high = within(test.metric, means[0], means[0] - reach, means[0] + reach)
            yield (
                f"validation is far from test: {test.metric} {means[0]:.4f} on {k} folds and {means[1]:.4f} on the "
                f"test split, where the folds let one expect {low:.4f} .. {high:.4f}"
            )


class MostTrialsLost(Check):
    """Speaks where more than half of the trials failed, or fewer than a quarter were completed.

    The median pruner stops about half of the trials that come after its start by intention, so pruning is judged by
    what is left: of n completed trials the best is expected among the upper 1 / (n + 1) of the space, so a quarter of
    the budget finds what a quarter of the money would have.
    """

    code, title, scope = "ZSP107", "most trials failed or were pruned", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where most trials are lost."""
        count = len(facts.trials)
        failed, pruned = (sum(trial.state == state for trial in facts.trials) for state in ("failed", "pruned"))
        if count > 1 and (2 * failed > count or 4 * (count - failed - pruned) < count):
            yield (
                f"most trials were lost: {failed} failed and {pruned} pruned of {count}; the search knows only the "
                f"other {count - failed - pruned}"
            )


class FewTrials(Check):
    """Speaks where a search had fewer trials than its space needs, or than were asked for.

    Of n trials drawn at random none lies in the best tenth of the space with probability .9^n: .35 at 10, .12 at the
    default of 20. Ten is also where the sampler begins to learn from earlier trials. Beyond that a search of d
    hyperparameters wants 2 d + 1 trials, enough for a slope and a curvature of each. A space of fewer combinations that
    were all tried needs no more, and a single trial is no search.
    """

    code, title, scope = "ZSP108", "search had few trials", "study"
    urgency = 3

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where trials are few."""
        count = len(facts.trials)
        if not count:
            return
        if facts.requested_trials is not None and count < facts.requested_trials:
            yield f"the search ended after {count} of {facts.requested_trials} trials; the same command continues it"
            return
        needed = max(FEWEST_TRIALS, 2 * facts.dimensions + 1)
        if facts.dimensions and 1 < count < min(needed, facts.combinations or needed):
            yield (
                f"{count} trials for {facts.dimensions} searched hyperparameter{'s' if facts.dimensions > 1 else ''}: "
                f"with fewer than {needed} the best is found by luck; give --trials {needed} or more"
            )


class NothingGained(Check):
    """Speaks where, of 10 completed trials or more, the first is the best and none of the others comes near it.

    The first trial has the default values. A sampler that had learned anything would try their neighbourhood, so
    that some of the others are level: the next best is not near where it is behind by more than two standard errors of
    the difference over the folds. Default values that are merely good are no finding.
    """

    code, title, scope = "ZSP109", "nothing near the default values", "study"
    urgency = 3

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the search gained nothing."""
        sign = 1.0 if facts.maximise else -1.0
        complete = [trial for trial in facts.trials if trial.state == "complete" and trial.value is not None]
        if len(complete) < FEWEST_TRIALS or facts.winner != 0 or complete[0].number != 0:
            return
        first, others = complete[0], complete[1:]
        following = max(others, key=lambda trial: sign * (trial.value or 0.0))
        if len(first.folds) < 2 or len(first.folds) != len(following.folds):
            return
        lead = _gains(first.folds, following.folds, facts.maximise)
        if lead.mean() > 2 * float(np.std(lead, ddof=1)) / math.sqrt(len(lead)):
            yield (
                f"none of {len(complete)} completed trials comes near trial 0, the default values "
                f"({first.value:.4f}, the next {following.value:.4f}): the search gained nothing"
            )


class NoEffect(Check):
    """Speaks where at least 5 completed trials all have one value: what is searched has no effect on the metric.

    A value that comes from n rows is one of at least n + 1 levels; that five combinations with any effect meet on one
    of them exactly is unlikely beyond accident from n = 20 on.
    """

    code, title, scope = "ZSP110", "what is searched has no effect", "study"
    urgency = 1

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where all values are equal."""
        values = _values(facts)
        if _without_effect(facts):
            yield (
                f"all {len(values)} completed trials have the same {facts.metric}, {values[0]:.4f}: what is searched "
                "has no effect"
            )


def is_at_chance(
    values: Sequence[float], chances: Sequence[float], *, maximise: bool = True, tried: int = 1, row_error: float = 0.0
) -> bool:
    """Tell whether values (one per fold) are above their chance levels by no more than noise.

    Noise is the largest of two numbers: 5 % of the mean chance level, and z standard errors of the mean gain over the
    folds, at most the chance level itself, so that folds which differ a lot do not hide twice the chance. z is 2, or
    what the best of ``tried`` trials without any effect is expected to reach, sqrt(2 log tried), where that is more.
    ``row_error``: the standard error over the scored rows, which repeats on the same rows share.
    """
    gains = _gains(values, chances, maximise)
    chance = abs(float(np.mean(chances)))
    spread = float(np.std(gains, ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    error = math.hypot(spread, row_error)
    z = max(2.0, math.sqrt(2 * math.log(max(tried, 1))))
    return float(gains.mean()) <= max(CHANCE_MARGIN * chance, min(z * error, chance))


def _at_chance(reached: PrimaryScores | None, row_error: float = 0.0) -> Iterable[str]:
    if not _complete(reached):
        return
    maximise, tried = reached.maximise, reached.tried
    if is_at_chance(reached.values, reached.chances, maximise=maximise, tried=tried, row_error=row_error):
        yield (
            f"{reached.what} is at chance: {reached.metric} {np.mean(reached.values):.4f}, guessing "
            f"{np.mean(reached.chances):.4f}"
        )


def _gains(values: Sequence[float], chances: Sequence[float], maximise: bool) -> np.ndarray:
    return np.asarray((np.asarray(values) - np.asarray(chances)) * (1.0 if maximise else -1.0))


def _complete(reached: PrimaryScores | None) -> TypeGuard[PrimaryScores]:
    """Tell whether values and their chance levels are known, fold by fold."""
    if reached is None or not reached.values or len(reached.values) != len(reached.chances):
        return False
    return not any(math.isnan(chance) for chance in reached.chances)


def _without_effect(facts: StudyFacts) -> bool:
    """Tell whether at least 5 completed trials all have one value."""
    values = _values(facts)
    return len(values) >= FEWEST_FOR_EFFECT and len(set(values)) == 1


def _values(facts: StudyFacts) -> list[float]:
    """Return the values of the completed trials."""
    return [trial.value for trial in facts.trials if trial.state == "complete" and trial.value is not None]
