"""What every method promises, whatever its kind."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.errors import DataError, MethodError
from zslplat.methods.base import Arrays, Diagnostics, Method
from zslplat.platforms import core_count
from zslplat.space import Parameter, Real, is_active
from zslplat.testing.kernels import deviation
from zslplat.testing.kits import first_fit, fitted, kit_of, stored
from zslplat.testing.running import (
    Check,
    Skipped,
    assert_raises,
    assert_refused,
    check_constructor,
    check_ranges,
    class_is_importable,
    points,
)

# Scores in single precision round in the seventh digit.
SAME = 1e-6
PLAIN = (int, float, str, bool, type(None))


def parameters_are_documented(method: Method) -> None:
    """Class and every constructor parameter say what they mean; each parameter has a plain default that is legal."""
    cls = type(method)
    assert (inspect.getdoc(cls) or "").strip(), f"{cls.__name__} has no docstring"
    assert method.summary.strip(), f"{cls.__name__} has no summary, which lists show beside its name"
    check_constructor(cls, method.parameters)
    unknown = [name for name in method.costly if name not in domains(method)]
    assert not unknown, f"{', '.join(unknown)} is called costly and is no parameter"
    for name, parameter in inspect.signature(cls).parameters.items():
        default = parameter.default
        assert isinstance(default, PLAIN), f"the default of {name} is {default!r}; expected a number, a string or None"


def tolerance_has_a_reason(method: Method) -> None:
    """A tolerance above 1e-9 comes with the reason why it is not tighter."""
    assert 0 <= method.tolerance < 1, f"tolerance={method.tolerance} is no relative deviation"
    if method.tolerance > 1e-9:
        assert method.tolerance_reason.strip(), f"tolerance={method.tolerance:g} without tolerance_reason"


def constructor_only_stores(method: Method) -> None:
    """The constructor keeps every value as given, under its own name, and does nothing else; clone works."""
    values = method.get_params(deep=False)
    made = type(method)(**values)
    for name, value in values.items():
        assert getattr(made, name) is value, f"{name}={value!r} is kept as {getattr(made, name)!r}"
    learned = [name for name in vars(made) if name.endswith("_")]
    assert not learned, f"{', '.join(learned)} is there before fit; learned state belongs into fit"
    assert repr(clone(method)) == repr(method), f"clone gives {clone(method)!r}"


def build_takes_what_get_params_gives(method: Method) -> None:
    """build(parameters) makes the same method again."""
    values = method.get_params(deep=False)
    again = type(method).build(values).get_params(deep=False)
    same = {name: str(value) for name, value in again.items()} == {name: str(value) for name, value in values.items()}
    assert same, f"build({values}) has the parameters {again}"


def build_refuses_what_is_not_legal(method: Method) -> None:
    """build raises UsageError for an unknown name and for a value outside the legal domain of a parameter."""
    values = method.get_params(deep=False)
    assert_refused(lambda **case: type(method).build({**values, **case}), domains(method), "no_such_parameter")


def search_ranges_are_legal(method: Method) -> None:
    """Ranges have two ends inside the legal values, hold the default, have steps where costly; every point builds."""
    check_ranges(method.space, domains(method))
    for name in method.costly:
        dimension = method.space.get(name)
        assert not isinstance(dimension, Real) or dimension.steps, (
            f"{name} is costly and searched over all of {dimension}, where no two trials share a value; give it steps"
        )
    plain = type(method).build({})
    for name, dimension in plain.space.items():
        if name in plain.defaults and is_active(dimension, plain.defaults):
            value = plain.defaults[name]
            assert dimension.contains(value), (
                f"the default {name}={value!r} lies outside of what is searched: {dimension}"
            )
    for values in settings(method):
        built = type(method).build(values)
        again = type(built).build(built.get_params(deep=False))
        assert repr(again) == repr(built), f"{values} builds {built!r}, whose own parameters build {again!r}"


def fit_returns_self_and_keeps_parameters(method: Method) -> None:
    """fit returns the instance, changes no parameter, and what it learned ends in an underscore."""
    fit = first_fit(method)
    fresh, before = fit.learned, fit.parameters
    assert fit.returned is fresh, f"fit returns {type(fit.returned).__name__}, expected the instance itself"
    changed = [name for name, value in fresh.get_params(deep=False).items() if value is not before[name]]
    assert not changed, f"fit changed the parameters {', '.join(changed)}"
    odd = [name for name in vars(fresh) if name not in before and not name.endswith("_") and not name.startswith("_")]
    assert not odd, f"learned state {', '.join(odd)} does not end in an underscore"


def outputs_are_finite(method: Method) -> None:
    """What the method returns is made of finite numbers."""
    kit = kit_of(method.kind)
    for name, values in kit.outputs(fitted(method), kit.arrays(method), {}).items():
        assert isinstance(values, np.ndarray), f"{name} is {type(values).__name__}, expected an array"
        assert np.issubdtype(values.dtype, np.number), f"{name} is of type {values.dtype}"
        assert np.isfinite(values).all(), f"{name} holds NaN or infinity"


def another_seed_gives_another_result(method: Method) -> None:
    """A method that calls itself random has a parameter seed, and it matters."""
    values = method.get_params(deep=False)
    assert "seed" in values, "random=True but there is no parameter seed"
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    results = [kit.apply(type(method).build({**values, "seed": seed}), arrays) for seed in (3, 4)]
    same = all(np.array_equal(results[0][name], results[1][name]) for name in results[0])
    assert not same, "two seeds give the same result; set random=False, or is_random for these parameters"


def prepared_path_equals_direct_path(method: Method) -> None:
    """Statistics prepared once for the space, stored and mapped, give each of its points what it computes itself."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    fixed = {n: v for n, v in method.get_params(deep=False).items() if n not in method.space}
    by_costly: dict[str, Arrays] = {}

    def prepared_for(values: Mapping[str, Any]) -> Arrays:
        costly, space = method.prepared_with(method.space, values)
        if repr(costly) not in by_costly:
            by_costly[repr(costly)] = kit.prepare(type(method).build({**fixed, **costly}), arrays, space)
        return by_costly[repr(costly)]

    if not prepared_for(method.get_params(deep=False)) and not kit.prepare(clone(method), arrays, {}):
        return  # a method that prepares nothing has one path
    for number, values in enumerate([method.get_params(deep=False), *settings(method)]):
        point = _short(values, method)
        try:
            direct = kit.apply(type(method).build(values), arrays)
        except MethodError:
            assert number, "the default parameters cannot be fitted"
            continue  # a trial there fails, with its cause; the study goes on
        except Exception as error:
            raise AssertionError(f"{point} raises {type(error).__name__}: {error}") from error
        with stored(prepared_for(values)) as (statistics, _):
            through = kit.apply(type(method).build(values), arrays, statistics)
        assert_close(method, through, direct, f"with prepared statistics, {point}", at_least=SAME)
        prepared_alone = kit.prepare(type(method).build(values), arrays, {})
        through = kit.apply(type(method).build(values), arrays, prepared_alone)
        assert_close(method, through, direct, f"with statistics prepared for {point} alone", at_least=SAME)


def number_of_threads_does_not_matter(method: Method) -> None:
    """One BLAS thread or two give the same result, within the declared tolerance."""
    from threadpoolctl import threadpool_limits

    if core_count() < 2:
        raise Skipped("two threads on one core wait for each other; run this check where there are two")
    kit = kit_of(method.kind)
    arrays = kit.arrays(method, wide=True)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(kit.apply(clone(method), arrays))
    assert_close(method, results[1], results[0], "with two threads instead of one")


def matrices_survive_storage(method: Method) -> None:
    """matrices() are finite numeric arrays under names fit for files, and are read back from .npy as they were."""
    scored, kit = fitted(method), kit_of(method.kind)
    kit.outputs(scored, kit.arrays(method), {})
    matrices = scored.matrices()
    for name, values in matrices.items():
        assert isinstance(name, str), f"{name!r} is no name"
        assert Path(name).name == name, f"{name!r} is no name for a file"
        assert isinstance(values, np.ndarray), f"{name} is {type(values).__name__}, expected an array"
        assert values.dtype.kind in "biuf", f"{name} is of type {values.dtype}, expected numbers"
        assert np.isfinite(values).all(), f"{name} holds NaN or infinity"
    with stored(matrices) as (read, _):
        for name, values in matrices.items():
            assert read[name].dtype == values.dtype, f"{name} comes back as {read[name].dtype}"
            assert np.array_equal(read[name], values), f"{name} comes back changed"


def diagnostics_are_finite_numbers(method: Method) -> None:
    """What a fit reports of itself are finite numbers and series of them, its measures among them."""
    scored, kit = fitted(method), kit_of(method.kind)
    kit.outputs(scored, kit.arrays(method), {})
    diagnostics = scored.diagnostics
    assert isinstance(diagnostics, Diagnostics), f"diagnostics_ is {type(diagnostics).__name__}, expected Diagnostics"
    reported: dict[str, list[float]] = {name: [value] for name, value in diagnostics.numbers.items()}
    missing = set(type(method).measures) - set(reported)
    assert not missing, f"measures names {', '.join(sorted(missing))}, which diagnostics_.numbers does not report"
    for name, values in {**reported, **diagnostics.series}.items():
        for value in values:
            number = isinstance(value, int | float | np.number) and math.isfinite(value)
            assert number, f"diagnostics report {name}={value!r}; expected a finite number"


def objective_never_rises(method: Method) -> None:
    """The objective that a monotone method reports never rises from one iteration to the next, beyond rounding."""
    kit = kit_of(method.kind)
    for values in [method.get_params(deep=False), *settings(method)]:
        built = type(method).build(values)
        kit.apply(built, kit.arrays(method))
        objectives = {
            n: v for n, v in built.diagnostics.series.items() if n == "objective" or n.startswith("objective_")
        }
        assert objectives, "tagged monotone, but diagnostics_.series has no objective"
        for name, series in objectives.items():
            rise = np.diff(series)
            allowed = 1e-9 * np.maximum(np.abs(series[1:]), np.abs(series[:-1])) if len(series) > 1 else rise
            bad = np.flatnonzero(rise > allowed)
            assert not len(bad), (
                f"{name} rises from {series[bad[0]]:.10g} to {series[bad[0] + 1]:.10g} at iteration {bad[0] + 1}, "
                f"{_short(values, method)}"
            )


def learned_matrices_are_stationary(method: Any) -> None:
    """No small change of a learned matrix lowers objective() of the data of the fit, for methods tagged stationary."""
    arrays, learned = kit_of(method.kind).arrays(method), fitted(method)
    data = [arrays[name] for name in ("X", "y", "S") if name in arrays]
    names = [name for name in learned.matrices() if hasattr(learned, f"{name}_")]
    assert names, "tagged stationary, but no matrix of matrices() is an attribute with an underscore"
    rng = np.random.default_rng(0)
    for name in names:
        matrix = np.array(getattr(learned, f"{name}_"), dtype=np.float64)
        length = float(np.linalg.norm(matrix))
        for _ in range(5):
            direction = rng.normal(size=matrix.shape)
            direction *= 1e-3 * length / np.linalg.norm(direction)
            at = []
            for share in (-1, 0, 1):
                setattr(learned, f"{name}_", matrix + share * direction)
                at.append(float(learned.objective(*data)))
            # A parabola through three points: how far its lowest one is, in steps.
            slope, bend = (at[2] - at[0]) / 2, at[2] - 2 * at[1] + at[0]
            # Learned in single precision, a matrix is 1e-7 of its size off; the step is 1e-3 of it.
            assert bend > 0, f"{name}: the objective bends by {bend:.1e} and has no lowest point here"
            assert abs(slope) <= 1e-2 * bend, (
                f"{name}: the objective is lower {abs(slope / bend) * 1e-3:.1e} of its size away along a direction"
            )
        setattr(learned, f"{name}_", matrix)


def domains(method: Any) -> Mapping[str, Parameter]:
    """Return meaning and legal values of all parameters, those of a nested kernel included where they are known."""
    return {**method.parameters, **getattr(method, "domains", {})}


def settings(method: Method) -> list[dict[str, Any]]:
    """Return flat parameters of points of the search space, the other parameters as they are."""
    values = method.get_params(deep=False)
    return [{**values, **point} for point in points(method.space, values)]


def assert_data_refused(cases: Mapping[str, Callable[[], object]]) -> None:
    """Raise AssertionError for a call, by what is wrong with its data, that does not raise :class:`DataError`."""
    for what, call in cases.items():
        assert_raises(DataError, call, what)


def assert_close(method: Method, actual: Arrays, expected: Arrays, when: str, *, at_least: float = 0.0) -> None:
    """Fail unless outputs agree within the method's tolerance, relative to the largest output."""
    allowed = max(method.tolerance, at_least)
    for name, values in expected.items():
        assert np.shape(actual[name]) == np.shape(values), (
            f"{name} {when}: shape {np.shape(actual[name])}, not {np.shape(values)}"
        )
        off = deviation(actual[name], values)
        assert off <= allowed, f"{name} {when} deviate by {off:.1e} of the largest, allowed {allowed:.0e}"


def _short(values: Mapping[str, Any], method: Method) -> str:
    shown = [n for n in values if n in method.space] or ["default parameters"]
    return ", ".join(
        f"{n}={values[n]:.4g}" if isinstance(values.get(n), float) else f"{n}={values.get(n)}" for n in shown
    )


COMMON_CHECKS: tuple[Check, ...] = (
    parameters_are_documented,
    tolerance_has_a_reason,
    constructor_only_stores,
    build_takes_what_get_params_gives,
    build_refuses_what_is_not_legal,
    search_ranges_are_legal,
    class_is_importable,
    fit_returns_self_and_keeps_parameters,
    outputs_are_finite,
    prepared_path_equals_direct_path,
    number_of_threads_does_not_matter,
    matrices_survive_storage,
    diagnostics_are_finite_numbers,
)
