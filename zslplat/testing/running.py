"""What a check is, how one is run, and how it ends; which checks there are stands in :mod:`zslplat.testing.checks`.

Points of a search space, and values outside a legal domain: what the checks try parameters with.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.errors import UnknownNameError, UsageError
from zslplat.space import Choice, Integer, Optional, Parameter, Range, Real, Scaled, Space, Text, is_active

Check = Callable[[Any], None]
Expected = Mapping[str, str]

PASSED, FAILED, SKIPPED, EXPECTED, UNEXPECTED = "passed", "failed", "skipped", "failed as expected", "passed after all"


class ConformanceError(AssertionError):
    """A component breaks a promise of its kind; the message lists every check that failed, with the cause."""


class Skipped(Exception):
    """A check cannot be run here, for the reason given: a data set whose files are elsewhere, say."""


@dataclass(frozen=True)
class CheckResult:
    """How one check ended: ``state`` is one of passed, failed, skipped, failed as expected, passed after all.

    ``message`` is the cause, one line; ``promise`` what the check is about.
    """

    check: str
    state: str
    message: str = ""
    promise: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the component must be changed, or its list of expected failures."""
        return self.state in (FAILED, UNEXPECTED)


def as_instance(component: Any) -> Any:
    """Return an instance: the component itself, or one built with the defaults of the class."""
    return component() if isinstance(component, type) else component


def run_check(check: Check, instance: Any, reason: str | None = None) -> CheckResult:
    """Run one check and return how it ended; ``reason`` says why it is expected to fail.

    Whatever a component raises is a result, ``SystemExit`` included, so that one broken component hides no other.
    Raises :class:`UsageError` under ``python -O``, which leaves the assertions out.
    """
    if not __debug__:
        raise UsageError("the checks are assertions, which python -O leaves out; run without -O and PYTHONOPTIMIZE")
    promise = (check.__doc__ or "").strip()
    try:
        check(instance)
    except Skipped as skipped:
        return CheckResult(check.__name__, SKIPPED, str(skipped), promise)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if reason is not None:
            return CheckResult(check.__name__, EXPECTED, reason, promise)
        return CheckResult(check.__name__, FAILED, one_line(error), promise)
    if reason is not None:
        return CheckResult(check.__name__, UNEXPECTED, f"remove it from the expected failures ({reason})", promise)
    return CheckResult(check.__name__, PASSED, "", promise)


def under_pytest(check: Check) -> Check:
    """Return the check with what it skips told to pytest."""

    @functools.wraps(check)
    def run(component: Any) -> None:
        import pytest

        try:
            check(component)
        except Skipped as skipped:
            pytest.skip(str(skipped))

    return run


def expected_of(instance: Any, expected: Expected | None, named: set[str]) -> Expected:
    """Return the expected failures of a component, its own and the given ones.

    Raises UnknownNameError where one names no check of ``named``, :class:`UsageError` where one has no reason.
    """
    every = {**getattr(instance, "expected_failures", {}), **(expected or {})}
    for name, reason in every.items():
        if name not in named:
            raise UnknownNameError("check among the expected failures", name, named)
        if not reason.strip():
            raise UsageError(f"expected failure {name!r} has no reason; say why the component cannot pass it")
    return every


def one_line(error: BaseException) -> str:
    """Return an error in one line, with its type unless it is a failed assertion."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, AssertionError) else f"{type(error).__name__}: {text}"


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
    elif not isinstance(core, Real | Integer):
        tries = ["no such value", 3, True]
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
    """Fail unless every parameter has a meaning in words."""
    missing = [name for name, parameter in parameters.items() if not parameter.description.strip()]
    assert not missing, f"no description for {', '.join(missing)}"


def check_constructor(cls: type, parameters: Mapping[str, Parameter]) -> None:
    """Fail unless the constructor takes the declared parameters, each with a meaning and with a legal default."""
    check_declared(parameters)
    taken = inspect.signature(cls).parameters
    assert set(taken) == set(parameters), f"constructor takes {sorted(taken)}, declared {sorted(parameters)}"
    for name, parameter in taken.items():
        assert parameter.default is not inspect.Parameter.empty, f"{name} has no default"
        legal = parameters[name].legal
        assert legal.contains(parameter.default), f"the default {name}={parameter.default!r} is not legal ({legal})"


def check_ranges(space: Space, parameters: Mapping[str, Parameter]) -> None:
    """Fail unless every range has two ends inside the legal values, and conditions that name parameters."""
    for name, dimension in space.items():
        for share in (0.0, 0.5, 1.0):
            value = value_at(dimension, share)
            legal = parameters[name].legal if name in parameters else None
            assert legal is None or legal.contains(value), f"{name}: {value!r} is searched but not legal ({legal})"
        for other in dimension.when:
            assert other in parameters or other in space, f"{name}: its condition names {other!r}, which is unknown"


def class_is_importable(component: Any) -> None:
    """Another process can import the class by module and name."""
    cls = type(component)
    place = f"{cls.__module__}:{cls.__qualname__}"
    assert cls.__module__ != "__main__", f"{place} is defined in a script; move it into a module that can be imported"
    try:
        module_or_class: Any = importlib.import_module(cls.__module__)
        for name in cls.__qualname__.split("."):
            module_or_class = getattr(module_or_class, name)
    except (ImportError, AttributeError) as error:
        raise AssertionError(f"{place} cannot be imported ({error}); define it at the top of a module") from error
    assert module_or_class is cls, f"{place} is another class than this one"


def assert_refused(make: Callable[..., object], domains: Mapping[str, Parameter], unknown: str = "") -> None:
    """Fail unless ``make`` raises UsageError for every value that is not legal, and for the name ``unknown``."""
    cases: list[dict[str, Any]] = [{unknown: 1}] if unknown else []
    cases += [{name: bad} for name, parameter in domains.items() for bad in illegal_values(parameter.legal)]
    for case in cases:
        assert_raises(UsageError, functools.partial(make, **case), str(case))


def assert_raises(expected: type[Exception], call: Callable[[], object], what: str) -> None:
    """Fail unless a call raises an error of this type; ``what`` it is that must not be accepted."""
    try:
        call()
    except expected:
        return
    except Exception as error:
        raise AssertionError(f"{what} gives {type(error).__name__} ({error}); expected {expected.__name__}") from error
    raise AssertionError(f"{what} is accepted; expected {expected.__name__}")
