"""Alternating minimisation of the max-margin objective: the weights to a stated gap, then some steps of the references.

With the references fixed, J is convex and its ridge makes it strongly so: J(w) - min J <= |dJ/dw|^2 / (2 ridge). That
bound says when the weights are done, and is reported. With the weights fixed J is neither convex nor smooth by the
references, but its corners lie where a row coincides with a reference: quasi-Newton steps go down, along what is its
gradient almost everywhere. Neither half is ever accepted where J would rise. Steps are taken in units of w in which the
ridge is 1, and of the length of V, so that the units of rows do not matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

from zslplat.methods.zero_shot.sse.objective import Objective

_WEIGHT_STEPS = 500

Differentiable = Callable[[np.ndarray], tuple[float, np.ndarray]]


def fit_weights(objective: Objective, w: np.ndarray, V: np.ndarray, gap: float) -> tuple[np.ndarray, float, float]:
    """Return weights (d,), J and a bound of J - min J over the weights, from ``w`` on until the bound is ``gap`` J.

    Less precise only where the precision of the rows leads no further down, or after 500 steps.
    """

    unit = 1 / np.sqrt(objective.ridge)

    def in_units(q: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = objective.by_weights(q * unit, V)
        return value, slope * unit

    def bound(slope: np.ndarray) -> float:
        return float(slope @ slope) / 2

    weights, value, slope = descend(in_units, w / unit, _WEIGHT_STEPS, lambda value, slope: bound(slope) <= gap * value)
    return weights * unit, value, bound(slope)


def fit_references(objective: Objective, w: np.ndarray, V: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Return references (c, d) after at most so many quasi-Newton steps from V, and J there."""

    unit = float(np.linalg.norm(V)) or 1.0

    def in_units(q: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = objective.by_references(q.reshape(V.shape) * unit, w)
        return value, slope.ravel() * unit

    references, value, _ = descend(in_units, V.ravel() / unit, steps, lambda value, slope: False)
    return references.reshape(V.shape) * unit, value


def descend(
    function: Differentiable, start: np.ndarray, steps: int, done: Callable[[float, np.ndarray], bool]
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the lowest point of L-BFGS from ``start``, the value and the slope there; ``done`` looks at both."""
    lowest = (start, *function(start))
    if done(*lowest[1:]):
        return lowest

    def followed(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest
        value, slope = function(q)
        if value < lowest[1]:
            lowest = (q.copy(), value, slope)
        return value, slope

    def stop(intermediate_result: optimize.OptimizeResult) -> None:
        if done(*lowest[1:]):
            raise StopIteration

    options = {"maxiter": steps, "maxfun": 2 * steps + 10, "ftol": 0.0, "gtol": 0.0}
    optimize.minimize(followed, start, jac=True, method="L-BFGS-B", callback=stop, options=options)
    return lowest
