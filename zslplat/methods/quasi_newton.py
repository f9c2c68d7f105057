"""L-BFGS one iteration at a time, so that a fit by steps can stop between two of them.

Nocedal and Wright, "Numerical Optimization", 2nd edition, Algorithms 7.4 and 7.5: the direction -H g from the last
``memory`` differences of points s and of gradients g, and a step that fulfils the strong Wolfe conditions
(``scipy.optimize.line_search``). scipy's own L-BFGS-B runs to its end in one call; it minimises the same functions to
the same values.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import line_search

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Iterate:
    """A point, the value and the gradient there; ``converged``: the gradient is below the tolerance."""

    point: np.ndarray
    value: float
    gradient: np.ndarray
    converged: bool

    @property
    def slope(self) -> float:
        """The length of the gradient."""
        return float(np.linalg.norm(self.gradient))


def minimise(function: Function, start: np.ndarray, *, tolerance: float, memory: int = 10) -> Iterator[Iterate]:
    """Yield the start and the point after every iteration; the value never rises.

    Ends where the gradient is shorter than ``tolerance`` times that of the start, or where no step lowers the value,
    not even along the gradient: rounding hides what is left to gain.
    """
    evaluations = _Remembered(function)
    value, gradient = evaluations.at(start)
    small_enough = tolerance * float(np.linalg.norm(gradient))
    here = Iterate(start, value, gradient, float(np.linalg.norm(gradient)) <= small_enough)
    yield here
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)
    while not here.converged:
        point = _searched(evaluations, here, _direction(here.gradient, pairs))
        if point is None and pairs:
            pairs.clear()
            point = _searched(evaluations, here, _direction(here.gradient, pairs))
        if point is None:
            return
        value, gradient = evaluations.at(point)
        s, change = point - here.point, gradient - here.gradient
        product = float(s @ change)
        if product > 1e-10 * float(change @ change):
            pairs.append((s, change, 1 / product))
        here = Iterate(point, value, gradient, float(np.linalg.norm(gradient)) <= small_enough)
        yield here


def _direction(gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
    """Return -H g by the two loops; without pairs -g, of length 1 at most."""
    if not pairs:
        return -gradient / max(1.0, float(np.linalg.norm(gradient)))
    q, shares = gradient.copy(), []
    for s, change, weight in reversed(pairs):
        share = weight * float(s @ q)
        q -= share * change
        shares.append(share)
    _, change, weight = pairs[-1]
    q /= weight * float(change @ change)
    for (s, change, weight), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - weight * float(change @ q))
    return -q


def _searched(evaluations: _Remembered, here: Iterate, direction: np.ndarray) -> np.ndarray | None:
    """Return the point of a step along the direction that fulfils the strong Wolfe conditions, None without one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a search without success shows in its result
        step = line_search(evaluations.value, evaluations.gradient, here.point, direction, here.gradient, here.value)[0]
    if step is None:
        return None
    point = np.asarray(here.point + step * direction)
    return point if evaluations.value(point) < here.value else None


class _Remembered:
    """A function that gives value and gradient at once, for callers that need one after the other."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._point: np.ndarray | None = None
        self._found: tuple[float, np.ndarray] = (0.0, np.zeros(0))

    def at(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        if self._point is None or not np.array_equal(point, self._point):
            self._point, self._found = point.copy(), self._function(point)
        return self._found

    def value(self, point: np.ndarray) -> float:
        return self.at(point)[0]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        return self.at(point)[1]
