"""How a method of each kind is put to work: its inputs by name, its preparation, and what comes out.

All kinds share one set of checks through this: :meth:`Exercise.arrays` gives the inputs, :meth:`Exercise.prepare` the
statistics, :meth:`Exercise.apply` fits the given instance and returns its outputs by name. Methods are called as their
tasks call them, by the protocol of their kind (:mod:`zslplat.methods.protocols`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from zslplat.errors import UsageError
from zslplat.methods.base import Arrays, Method
from zslplat.methods.protocols import PROTOCOLS, Protocol
from zslplat.space import Space
from zslplat.tasks.array_names import prefixed, selected
from zslplat.testing.problems import SMALL, WIDE, ClassProblem, class_problem, classification_problem

QUERIES = 20


class Exercise:
    """The inputs of one kind of method, and its calls; ``features`` names the inputs that may come in blocks."""

    kind: ClassVar[str]
    features: ClassVar[tuple[str, ...]] = ("X", "X_pool")

    @property
    def protocol(self) -> Protocol:
        """How methods of the kind are called."""
        return PROTOCOLS[self.kind]

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return all inputs by name, small ones, or such as BLAS shares out to threads."""
        return self.named(class_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed))

    def named(self, problem: ClassProblem) -> Arrays:
        """Return the inputs that a problem has for this kind."""
        return {"X": problem.X, "y": problem.y, "S": problem.S}

    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of both sides, names prefixed by ``fit/`` and ``score/``."""
        fitted = self.protocol.prepare_fit(method, arrays, space)
        scored = self.protocol.prepare_score(method, arrays, space, fitted)
        return prefixed("fit/", fitted) | prefixed("score/", scored)

    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit the method and return what its ``fit`` returns."""
        return self.protocol.fit(method, arrays, selected("fit/", statistics))

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return what a fitted method makes of the inputs, by name."""
        return self.protocol.score(method, arrays, selected("score/", statistics))

    def apply(
        self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray] | None = None
    ) -> Arrays:
        """Fit the given instance and return its outputs."""
        self.fit(method, arrays, statistics or {})
        return self.outputs(method, arrays, statistics or {})


class ZeroShotExercise(Exercise):
    """Fit on seen classes, score the pool against all."""

    kind = "zero-shot"

    def named(self, problem: ClassProblem) -> Arrays:
        """Return X, y, S and X_pool, S_pool, seen."""
        return {name: value for name, value in vars(problem).items() if name != "y_pool"}


class SelectionExercise(Exercise):
    """Rank the features."""

    kind = "feature-selection"

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return the scores of the features: the ranking follows from them, and ties may fall either way."""
        return {"scores": super().outputs(method, arrays, statistics)["scores"]}


class ExemplarExercise(Exercise):
    """Fit a pool of negatives, encode rows, compare the first of them with all."""

    kind = "exemplar"
    features = ("X", "gallery")

    def named(self, problem: ClassProblem) -> Arrays:
        """Return the negatives X, the rows to encode and which of them are compared with all."""
        return {"X": problem.X, "gallery": problem.X_pool, "queries": np.arange(QUERIES)}


class CodingExercise(Exercise):
    """Fit on labelled rows, code and score further rows of the same classes."""

    kind = "coding"

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return X, y and X_pool."""
        problem = classification_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {"X": problem.X, "y": problem.y, "X_pool": problem.X_pool}

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return codes and scores of the pool."""
        codes = method.transform(arrays["X_pool"], statistics=selected("score/", statistics))
        return {"codes": codes, **super().outputs(method, arrays, statistics)}


_ALL = (ZeroShotExercise(), CodingExercise(), SelectionExercise(), ExemplarExercise())
EXERCISES: dict[str, Exercise] = {exercise.kind: exercise for exercise in _ALL}


def exercise_of(method: Method) -> Exercise:
    """Return the exercise of the method's kind; raises :class:`UsageError` for a kind without one."""
    if method.kind not in EXERCISES:
        known = ", ".join(EXERCISES)
        raise UsageError(f"{type(method).__name__}: kind {method.kind!r} has no checks; kinds with checks: {known}")
    return EXERCISES[method.kind]


def fitted(method: Any) -> Any:
    """Return a copy of the method, fitted on the small problem; it is fitted once for all checks of one instance."""
    return copied("copy", copy.deepcopy, first_fit(method).learned)


def copied(what: str, make: Callable[[Any], Any], learned: Any) -> Any:
    """Return a copy of a fitted method, made by ``make``; raises AssertionError where its state cannot be copied."""
    try:
        return make(learned)
    except Exception as error:
        raise AssertionError(
            f"{what} of the fitted method: {type(error).__name__}: {error}; keep arrays and plain values in self"
        ) from error


@dataclass(frozen=True)
class FirstFit:
    """A fitted instance, what its ``fit`` returned, and the parameters that it had before."""

    learned: Any
    returned: Any
    parameters: dict[str, Any]


@lru_cache(maxsize=2)
def first_fit(method: Any) -> FirstFit:
    """Return the fit of a new instance on the small problem; whoever uses it further takes a copy (:func:`fitted`)."""
    fresh, exercise = clone(method), exercise_of(method)
    before = fresh.get_params(deep=False)
    return FirstFit(fresh, exercise.fit(fresh, exercise.arrays(method), {}), before)


def direct_outputs(method: Any) -> Arrays:
    """Return what the method makes of the small problem without prepared statistics."""
    exercise = exercise_of(method)
    return exercise.outputs(fitted(method), exercise.arrays(method), {})


def assert_equal(found: Arrays, expected: Arrays, when: str) -> None:
    """Fail unless all outputs are the same to the last bit."""
    for name, values in expected.items():
        assert np.array_equal(found[name], values), f"{name} differ {when}"
