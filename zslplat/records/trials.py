"""A finished trial, and its parameters as Optuna holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zslplat.space import Integer, Range, Real, Space


@dataclass(frozen=True)
class FinishedTrial:
    """What later proposals may know of a trial; ``value`` is None unless it is complete or pruned."""

    number: int
    state: str
    parameters: Mapping[str, Any]
    value: float | None
    steps: Mapping[int, float] = field(default_factory=dict)


def optuna_parameters(values: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return parameter values as Optuna knows them: numbers, also where they are multiples of a unit of the data."""
    ranges = {name: space[name] for name in values}
    return {name: r.number(values[name]) if isinstance(r, Real) else values[name] for name, r in ranges.items()}


def optuna_distributions(space: Space, names: Sequence[str]) -> dict[str, Any]:
    """Return Optuna's distributions of the named ranges."""
    return {name: _distribution(space[name]) for name in names}


def _distribution(dimension: Range) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(dimension, Real):
        return FloatDistribution(dimension.low, dimension.high, log=dimension.log)
    if isinstance(dimension, Integer):
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return CategoricalDistribution(dimension.values)
