"""How a method of each kind is put to work: its inputs by name, its preparation, and what comes out.

All kinds share one set of checks through this: :meth:`Exercise.arrays` gives the inputs, :meth:`Exercise.prepare` the
statistics, :meth:`Exercise.apply` fits the given instance and returns its outputs by name.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.errors import UsageError
from zslplat.methods.base import Arrays, Method
from zslplat.space import Space
from zslplat.tasks.array_names import prefixed, selected
from zslplat.testing.problems import SMALL, WIDE, class_problem, classification_problem


class Exercise(ABC):
    """The inputs and calls of one kind of method. ``fitted_on`` names the inputs whose rows are training rows."""

    fitted_on: tuple[str, ...] = ("X", "y")

    @abstractmethod
    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return all inputs by name, small ones, or such as BLAS shares out to threads."""

    @abstractmethod
    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of both sides, names prefixed by ``fit/`` and ``score/``."""

    @abstractmethod
    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit the method and return what its ``fit`` returns."""

    @abstractmethod
    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return what a fitted method makes of the inputs, by name."""

    def apply(
        self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray] | None = None
    ) -> Arrays:
        """Fit the given instance and return its outputs."""
        self.fit(method, arrays, statistics or {})
        return self.outputs(method, arrays, statistics or {})


class ZeroShotExercise(Exercise):
    """Fit on seen classes, score the pool against all."""

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return X, y, S and X_pool, S_pool, seen."""
        problem = class_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {name: value for name, value in vars(problem).items() if name != "y_pool"}

    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of fit and of the pool."""
        fit = method.prepare_fit(arrays["X"], arrays["y"], arrays["S"], space=space)
        score = method.prepare_score(arrays["X_pool"], arrays["S_pool"], space=space, statistics=fit)
        return prefixed("fit/", fit) | prefixed("score/", score)

    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit on X, y, S."""
        return method.fit(arrays["X"], arrays["y"], arrays["S"], statistics=selected("fit/", statistics))

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return the scores of the pool."""
        X, S = arrays["X_pool"], arrays["S_pool"]
        given = selected("score/", statistics)
        return {"scores": method.decision_function(X, S, seen=arrays["seen"], statistics=given)}


class SelectionExercise(Exercise):
    """Rank the features."""

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return X, y, S."""
        problem = class_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {"X": problem.X, "y": problem.y, "S": problem.S}

    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of fit."""
        return prefixed("fit/", method.prepare_fit(arrays["X"], arrays["y"], arrays["S"], space=space))

    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit on X, y, S."""
        return method.fit(arrays["X"], arrays["y"], arrays["S"], statistics=selected("fit/", statistics))

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return the scores of the features."""
        return {"scores": method.scores_}


class ExemplarExercise(Exercise):
    """Fit a pool of negatives, encode rows, compare them with each other."""

    fitted_on = ("negatives",)

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return negatives and the rows X to encode."""
        problem = class_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {"negatives": problem.X, "X": problem.X_pool}

    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of the negatives and of the rows."""
        fit = method.prepare_fit(arrays["negatives"], space=space)
        return prefixed("fit/", fit) | prefixed(
            "score/", method.prepare_score(arrays["X"], space=space, statistics=fit)
        )

    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit on the negatives."""
        return method.fit(arrays["negatives"], statistics=selected("fit/", statistics))

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return the similarities of all rows with the first twenty."""
        encoding = method.encode(arrays["X"], statistics=selected("score/", statistics))
        return {"similarity": method.similarity(encoding, encoding.take(slice(0, 20)))}


class CodingExercise(Exercise):
    """Fit on labelled rows, code and score further rows of the same classes."""

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return X, y and X_pool."""
        problem = classification_problem(method.wanted_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {"X": problem.X, "y": problem.y, "X_pool": problem.X_pool}

    def prepare(self, method: Any, arrays: Mapping[str, np.ndarray], space: Space) -> Arrays:
        """Return the statistics of the training rows and of the pool."""
        fit = method.prepare_fit(arrays["X"], arrays["y"], space=space)
        score = method.prepare_score(arrays["X_pool"], arrays["X"], space=space, statistics=fit)
        return prefixed("fit/", fit) | prefixed("score/", score)

    def fit(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Any:
        """Fit on X, y."""
        return method.fit(arrays["X"], arrays["y"], statistics=selected("fit/", statistics))

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return codes and scores of the pool."""
        given = selected("score/", statistics)
        return {
            "codes": method.transform(arrays["X_pool"], statistics=given),
            "scores": method.decision_function(arrays["X_pool"], statistics=given),
        }


EXERCISES: dict[str, Exercise] = {
    "zero-shot": ZeroShotExercise(),
    "coding": CodingExercise(),
    "feature-selection": SelectionExercise(),
    "exemplar": ExemplarExercise(),
}


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
