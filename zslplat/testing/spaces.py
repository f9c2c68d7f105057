"""Points of a search space, and values outside a legal domain: what the checks try parameters with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from zslplat.errors import UsageError
from zslplat.space import Choice, Integer, Optional, Parameter, Range, Real, Scaled, Space, Text, is_active
from zslplat.spec import Spec, parse_value

RANDOM_POINTS = 3


def points(space: Space, defaults: Mapping[str, Any] | None = None, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return points of a space: its low corner, its high corner, its middle and random ones; conditions are kept.

    ``defaults`` are the values of parameters that are not searched but that conditions look at.
    """
    rng = np.random.default_rng(seed)
    shares: list[Any] = [0.0, 1.0, 0.5, *([None] * RANDOM_POINTS)]
    values: list[dict[str, Any]] = []
    for share in shares:
        point: dict[str, Any] = {}
        # Conditions may name parameters that stand later in the space: unconditional ones go first.
        for name, dimension in sorted(space.items(), key=lambda item: bool(item[1].when)):
            if is_active(dimension, {**(defaults or {}), **point}):
                point[name] = value_at(dimension, rng.random() if share is None else share)
        if point not in values:
            values.append(point)
    return values if space else []


def value_at(dimension: Range, share: float) -> Any:
    """Return the value at a share in [0, 1] of a range, on its own scale."""
    if isinstance(dimension, Choice):
        return dimension.values[min(int(share * len(dimension.values)), len(dimension.values) - 1)]
    low, high = float(dimension.low), float(dimension.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError(f"search range {dimension} has no end; give both ends, or do not search the parameter")
    if dimension.log:
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    value = min(max(value, low), high)
    return round(value) if isinstance(dimension, Integer) else dimension.value(dimension.on_step(value))


def illegal_values(legal: Any) -> list[Any]:
    """Return values of a right and of a wrong type that a legal domain does not contain."""
    core: Any = legal.inner if isinstance(legal, Optional | Scaled) else legal
    tries: list[Any]
    if isinstance(core, Choice):
        tries = ["no such value", -987654321]
    elif isinstance(core, Text):
        tries = [3]
    else:
        tries = ["text", True]
        tries += [core.low] if isinstance(core, Real) and core.open_low and math.isfinite(core.low) else []
        tries += [core.low - 1] if math.isfinite(core.low) else []
        tries += [core.high + 1] if math.isfinite(core.high) else []
        tries += [math.nan] if isinstance(core, Real) else [1.5]
        # Ends are floats, also those of integers.
        tries = [int(v) if isinstance(core, Integer) and v in (core.low - 1, core.high + 1) else v for v in tries]
    return [value for value in tries if not legal.contains(value)]


def check_declared(parameters: Mapping[str, Parameter]) -> None:
    """Fail unless every parameter has a meaning in words, and every choice is read as it is written."""
    missing = [name for name, parameter in parameters.items() if not parameter.description.strip()]
    assert not missing, f"no description for {', '.join(missing)}"
    unclear = misread(parameters)
    assert not unclear, f"choices that cannot be written as they are: {', '.join(unclear)}"


def misread(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the choices, as ``name=value``, that are read as something else where a user writes them as they are."""
    recovered = []
    for name, parameter in parameters.items():
        legal = parameter.legal.inner if isinstance(parameter.legal, Optional | Scaled) else parameter.legal
        for value in legal.values if isinstance(legal, Choice) else ():
            try:
                read = parse_value(value) if isinstance(value, str) else value
            except UsageError:
                continue  # without quotation marks it is refused with a message
            if read != value and not (isinstance(read, Spec) and str(read) == value):
                recovered.append(f"{name}={value} (read as {read!r})")
    return recovered


def check_ranges(space: Space, parameters: Mapping[str, Parameter]) -> None:
    """Fail unless every range has two ends inside the legal values, and conditions that name parameters."""
    for name, dimension in space.items():
        for share in (0.0, 0.5, 1.0):
            value = value_at(dimension, share)
            legal = parameters[name].legal if name in parameters else None
            assert legal is None or legal.contains(value), f"{name}: {value!r} is searched but not legal ({legal})"
        for other in dimension.when:
            assert other in parameters or other in space, f"{name}: its condition names {other!r}, which is unknown"
