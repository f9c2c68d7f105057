"""The kit of a kind of methods: inputs by name, calls, the checks of the kind, and methods that tasks are tried with.

All kinds share one set of checks through this: :meth:`MethodKit.arrays` gives the inputs, :meth:`MethodKit.prepare` the
statistics, :meth:`MethodKit.apply` fits an instance and returns its outputs by name. Methods are called as their tasks
call them, by the protocol of their kind (:mod:`zslplat.methods.base`).
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.cache.arrays import read_arrays, write_arrays
from zslplat.kinds import load_part, protocol_of
from zslplat.methods.base import Arrays, Protocol
from zslplat.space import Space
from zslplat.tasks.base import prefixed, selected
from zslplat.testing.problems import SMALL, WIDE, ClassProblem, problem_for
from zslplat.testing.running import Check, Skipped


class Player:
    """How a method of the kit behaves: ``works``, ``guesses`` (from its seed), gives ``nan``, or a ``wrong-shape``."""

    def __init__(self, play: str = "works", seed: int = 0) -> None:
        self.play = play
        self.seed = seed
        self._rng = np.random.default_rng(seed)

    def shown(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores that this behaviour gives in place of the right ones."""
        if self.play == "guesses":
            return self._rng.normal(size=scores.shape)
        if self.play == "nan":
            return np.full(scores.shape, np.nan)
        return scores[:-1] if self.play == "wrong-shape" else scores


class MethodKit:
    """The kit of one kind of methods, which subclasses complete; ``kind`` is the name of the kind.

    ``features`` names the inputs that may come in blocks. ``player`` is a class of methods for the checks of tasks, a
    :class:`Player` and a method of the kind, ``attack`` one that looks for the labels that are scored
    (:mod:`zslplat.testing.truth_seekers`); without them, checks that need them are skipped.

    Of the tasks of the kind: ``new_classes``, methods are judged on classes that they were not fitted on;
    ``signatures``, classes need signatures; ``spread``, by what share values differ between equal runs, as where
    clusters start at rows that are drawn by their place.
    """

    kind: ClassVar[str]
    features: ClassVar[tuple[str, ...]] = ("X", "X_pool")
    player: ClassVar[type | None] = None
    attack: ClassVar[type[Any] | None] = None
    new_classes: ClassVar[bool] = False
    signatures: ClassVar[bool] = False
    spread: ClassVar[float] = 0.0

    @property
    def protocol(self) -> Protocol:
        """How methods of the kind are called."""
        protocol: Protocol = protocol_of(self.kind)
        return protocol

    def checks(self, method: Any) -> tuple[Check, ...]:
        """Return the checks of methods of this kind, beside those of all methods."""
        return ()

    def task_checks(self, task: Any) -> tuple[Check, ...]:
        """Return the checks of tasks for this kind, beside those of all tasks."""
        return ()

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return all inputs by name, small ones, or such as BLAS shares out to threads."""
        return self.named(problem_for(method, WIDE if wide else SMALL, seed=seed))

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


def kit_of(kind: str) -> MethodKit:
    """Return the kit of a kind; raises :class:`UsageError` for a kind that has none."""
    kit: MethodKit = load_part(kind, "kit")()
    return kit


def kit_for_task(task: Any) -> MethodKit:
    """Return the kit of the methods that a task takes, one without checks and methods for a kind that has none."""
    try:
        return kit_of(task.kind)
    except (UnknownNameError, UsageError):
        return MethodKit()


def player(task: Any, play: str, seed: int = 0) -> Any:
    """Return a method for the task; raises :class:`Skipped` for a kind of methods of which the kit has none."""
    player_class: Any = kit_for_task(task).player
    if player_class is None:
        raise Skipped(f"the kit has no method of kind {task.kind!r} to run this task with")
    return player_class(play, seed)


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
    """Return the fit of a new instance on the small problem; take a copy to use it further (:func:`fitted`)."""
    fresh, kit = clone(method), kit_of(method.kind)
    before = fresh.get_params(deep=False)
    return FirstFit(fresh, kit.fit(fresh, kit.arrays(method), {}), before)


def direct_outputs(method: Any) -> Arrays:
    """Return what the method makes of the small problem without prepared statistics."""
    kit = kit_of(method.kind)
    return kit.outputs(fitted(method), kit.arrays(method), {})


def assert_equal(actual: Arrays, expected: Arrays, when: str) -> None:
    """Fail unless all outputs are the same to the last bit."""
    for name, values in expected.items():
        assert np.array_equal(actual[name], values), f"{name} differ {when}"


@contextmanager
def stored(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[Arrays, Path]]:
    """Yield the arrays as read-only memory maps of files in a folder that lives as long as the context."""
    with tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder:
        entry = Path(folder) / "entry"
        write_arrays(entry, arrays, {})
        yield read_arrays(entry)[0], entry
