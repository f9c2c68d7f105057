"""Checks of a search: its ranges, its budget, whether it reached anything, and whether its folds agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from zslplat.checks.base import Check, Reached, StudyFacts

EDGE = 0.02
CHANCE_MARGIN = 0.05
FEWEST_TRIALS = 10


class EdgeOfRange(Check):
    """Speaks where the best value lies within 2 % of an end of its range (of its logarithm, where that is searched).

    An end that is the end of the legal values is none: there is nothing beyond it to search. Of values drawn evenly
    4 % lie so, so one dimension in 25 is named by chance where a hyperparameter has no effect at all.
    """

    code, title, scope = "ZSP101", "best value at the edge of the range searched", "study"

    def found(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line for each value at an end that is open."""
        for one in facts.searched:
            low = one.position <= EDGE and one.low_is_open
            high = one.position >= 1 - EDGE and one.high_is_open
            if low or high:
                yield (
                    f"the best value of {one.name}, {one.value}, lies at the {'low' if low else 'high'} end of the "
                    f"range searched, {one.range}; give a wider one with --space {one.name}=low..high"
                )


class LastStep(Check):
    """Speaks where validation was best at the last step that was allowed: it may not have stopped to improve."""

    code, title, scope = "ZSP102", "best at the last step allowed", "study"

    def found(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the last step was the best."""
        if facts.steps is not None and facts.steps.kept >= facts.steps.most:
            yield (
                f"validation was best at the last of {facts.steps.most:g} {facts.steps.parameter}, so training may "
                f"have ended too early; give more with --set {facts.steps.parameter}=NUMBER"
            )


class ValidationAtChance(Check):
    """Speaks where validation is above its chance level by no more than noise (:func:`is_at_chance`)."""

    code, title, scope = "ZSP103", "at chance on validation", "study"

    def found(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where validation is at chance."""
        yield from _at_chance(facts.validation)


class TestAtChance(Check):
    """Speaks where the test is above its chance level by no more than noise (:func:`is_at_chance`)."""

    __test__ = False  # it is no test case, whatever its name begins with
    code, title, scope = "ZSP104", "at chance on the test split", "study"

    def found(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where the test is at chance."""
        yield from _at_chance(facts.test)


def is_at_chance(values: Sequence[float], chances: Sequence[float], *, maximise: bool = True, tried: int = 1) -> bool:
    """Tell whether values (one per fold) are above their chance levels by no more than noise.

    Noise is the largest of two numbers: 5 % of the mean chance level, and z standard errors of the mean gain over the
    folds, at most the chance level itself, so that folds which differ a lot do not hide twice the chance. z is 2, or
    what the best of ``tried`` settings without content is expected to reach, sqrt(2 log tried), where that is more.
    """
    gains = _gains(values, chances, maximise)
    chance = abs(float(np.mean(chances)))
    error = float(np.std(gains, ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    z = max(2.0, math.sqrt(2 * math.log(max(tried, 1))))
    return float(gains.mean()) <= max(CHANCE_MARGIN * chance, min(z * error, chance))


def _at_chance(reached: Reached | None) -> Iterable[str]:
    if reached is None or not reached.values or len(reached.values) != len(reached.chances):
        return
    if is_at_chance(reached.values, reached.chances, maximise=reached.maximise, tried=reached.tried):
        yield (
            f"{reached.what} is at chance: {reached.metric} {np.mean(reached.values):.4f}, guessing "
            f"{np.mean(reached.chances):.4f}"
        )


def _gains(values: Sequence[float], chances: Sequence[float], maximise: bool) -> np.ndarray:
    return np.asarray((np.asarray(values) - np.asarray(chances)) * (1.0 if maximise else -1.0))
