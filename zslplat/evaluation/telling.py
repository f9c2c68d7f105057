"""How far a trial is: told to the leader while it runs, by what its methods are asked for.

Nothing of a trial depends on it. A fold has begun when its method is built, and one that learns in steps has gone so
far as the steps that it was asked for. How far a single call of a method is nobody knows, so a method without steps
moves from fold to fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from zslplat.evaluation.stand_ins import Later, MethodProcess

PROGRESS = "progress"
# Often enough to be seen, and no burden to a trial of a thousand short steps.
_SECONDS = 0.25
_STEPS = ("start", "advance")


class TellingMethods(MethodProcess):
    """A method process that tells how far the job is, from 0 to 1."""

    def __init__(
        self, process: Any, connection: Any, shared_bytes: int, tell: Callable[[float], None], facts: dict[str, Any]
    ) -> None:
        super().__init__(process, connection, shared_bytes, facts)
        self._tell = tell
        self._most_by_name: dict[str, int] = {}
        self.follow(1)

    def follow(self, folds: int) -> None:
        """Count from here: a job of so many folds begins."""
        self._folds, self._begun, self._steps, self._most = max(1, folds), 0, 0, 0
        self._told = time.monotonic()

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        """Return the stand-in of a method, which begins a fold."""
        method = super().build(name, parameters, seed)
        self._begun += 1
        self._most = self._most_steps(name, method, parameters)
        self._say()
        return method

    def ask_for_later(self, wish: str, *arguments: Any) -> Later:
        """Send a request; a step of a training is counted."""
        if wish in _STEPS:
            self._steps += 1
            self._say()
        return super().ask_for_later(wish, *arguments)

    def _most_steps(self, name: str, method: Any, parameters: Mapping[str, Any]) -> int:
        """Return the number of steps that a training takes at most; 0 where it has none."""
        if name not in self._most_by_name:
            step = self.step_parameter(name)
            known = parameters.get(step) if step else 0
            self._most_by_name[name] = _count(getattr(method, step) if known is None else known)
        step = self._step_parameters[name]
        return _count(parameters.get(step, self._most_by_name[name])) if step else 0

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._told < _SECONDS:
            return
        self._told = now
        before = self._steps / self._most if self._most else self._begun - 1
        self._tell(min(max(before, 0) / self._folds, 1.0))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
